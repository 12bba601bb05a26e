package plan_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestDetailIsFoundInTheSentence(t *testing.T) {
	for sentence, r := range map[string]plan.Refusal{
		"a pod with a detail":    {Code: reason.AdoptionWaits, Pod: "db-0", Detail: "it belongs to StatefulSet/db (of another team)"},
		"a pod without a detail": {Code: reason.PodStarting, Pod: "db-0"},
		"a detail alone":         {Code: reason.TemplateInvalid, Detail: "unknown field"},
		"a code alone":           {Code: reason.TemplateInvalid},
		"a sentence with ()":     {Code: reason.PodFailing, Pod: "db-0", Detail: "CrashLoopBackOff"},
		"the same without a pod": {Code: reason.PodFailing, Detail: "CrashLoopBackOff"},
		"the same alone":         {Code: reason.PodFailing},
	} {
		if got := (plan.Refusal{Code: r.Code, Pod: r.Pod}).DetailIn(r.Sentence()); got != r.Detail {
			t.Errorf("%s: got %q of %q", sentence, got, r.Sentence())
		}
	}
	of := plan.Refusal{Code: reason.PodStarting, Pod: "db-0"}
	for _, other := range []string{"", "a sentence of another version (pod db-0, more)", reason.PodStarting.Sentence() + " (pod db-1, more)"} {
		if got := of.DetailIn(other); got != "" {
			t.Errorf("%q has the detail %q", other, got)
		}
	}
}
