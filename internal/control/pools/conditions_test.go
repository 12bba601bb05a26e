package pools

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Each condition as its type if it is true, and the reason of all of them.
func TestConditions(t *testing.T) {
	paused := observed(false, 2, "a", "b")
	paused.Object.Hash, paused.Object.Paused = "2", true
	paused.Revisions = append(paused.Revisions, pool.Revision{Name: "2", Hash: "2", Number: 2})
	refused := observed(false, 2, "a", "b")
	refused.Object.Hash = "2"
	refused.Refused = plan.Refusal{Code: reason.TemplateInvalid, Detail: "no such field", Until: refused.Now.Add(time.Minute)}
	partition := observed(false, 2, "a", "b")
	partition.Object.Hash, partition.Object.Strategy.Partition = "2", pool.Share{Pods: 2}
	partition.Revisions = append(partition.Revisions, pool.Revision{Name: "2", Hash: "2", Number: 2})
	partition.Changes = map[string]pool.Change{"1": {}}
	expired := observed(false, 2, "a", "b")
	expired.Object.Paused, expired.Object.PausedUntil.Time = true, expired.Now
	late := observed(false, 2, "a", "b")
	late.Object.Deadline, late.Pods[0].Phase = time.Minute, plan.Starting
	late.Pods[0].Created = plan.UnixTimeOf(late.Now.Add(-time.Hour))
	for sentence, tc := range map[string]struct {
		seen pool.Snapshot
		want []string
	}{
		"a pod is late":                         {late, []string{"Stalled", "Available", "SpecValid", "ProgressDeadlineExceeded"}},
		"all pods are available":                {observed(false, 2, "a", "b"), []string{"Ready", "Available", "SpecValid", "Progressing", "AllAvailable"}},
		"a pod is missing":                      {observed(false, 2, "a"), []string{"Reconciling", "Available", "SpecValid", "Progressing", "IdentityBorn"}},
		"all pods are missing":                  {observed(false, 2), []string{"Reconciling", "SpecValid", "Progressing", "IdentityBorn"}},
		"no pods are asked for":                 {observed(false, 0), []string{"Ready", "Available", "SpecValid", "Progressing", "AllAvailable"}},
		"updates are paused":                    {paused, []string{"Available", "SpecValid", "Progressing", "UpdatesPaused"}},
		"a pause is over":                       {expired, []string{"Ready", "Available", "SpecValid", "Progressing", "AllAvailable"}},
		"the template is refused":               {refused, []string{"Stalled", "Available", "Progressing", "TemplateInvalid"}},
		"the partition keeps earlier templates": {partition, []string{"Ready", "Available", "SpecValid", "Progressing", "AllAvailable"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			steps := pool.Plan(tc.seen)
			var got []string
			all := conditions(&tc.seen, pool.Describe(tc.seen, steps), steps)
			for _, c := range all {
				if c.Status == "True" {
					got = append(got, c.Type)
				}
			}
			if diff := cmp.Diff(tc.want, append(got, all[0].Reason)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSpecValidHasRemarks(t *testing.T) {
	seen := observed(false, 2, "a", "b")
	seen.Object.Paused, seen.Object.PausedUntil.Time, seen.Object.WithoutEffect = true, seen.Now, "label x"
	got := specValid(&seen, pool.Describe(seen, nil))
	if got.Status != "True" || got.Reason != "PauseExpired" || !strings.Contains(got.Message, "time is over") || !strings.Contains(got.Message, "label x") {
		t.Errorf("got %+v", got)
	}
	seen.Object.Hash, seen.Refused = "2", plan.Refusal{Code: reason.TemplateInvalid}
	if got := specValid(&seen, pool.Describe(seen, nil)); got.Status != "False" || got.Reason != "TemplateInvalid" {
		t.Errorf("got %+v", got)
	}
}

func TestAConditionKeepsTheTimeOfItsLastChange(t *testing.T) {
	seen := observed(false, 2, "a", "b")
	since := seen.Now.Add(-time.Hour)
	seen.Object.Conditions = []pool.Condition{{Type: "Ready", Status: "True", Since: since}, {Type: "Stalled", Status: "True", Since: since}}
	times := map[string]time.Time{}
	for _, c := range conditions(&seen, pool.Describe(seen, nil), nil) {
		times[c.Type] = c.LastTransitionTime.Time
	}
	if !times["Ready"].Equal(since) || times["Stalled"].Equal(since) {
		t.Errorf("Ready has changed at %s, Stalled at %s", times["Ready"], times["Stalled"])
	}
}
