package admission_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func in(group string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Labels = map[string]string{"rollout-group": group} }
}

func annotatedInto(group string) func(*appsv1.StatefulSet) {
	return annotated("lockstep.dev/rollout-group", group)
}

func ignored(s *appsv1.StatefulSet) { annotated("lockstep.dev/ignore", "true")(s) }

func annotated(key, value string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = value
	}
}

func TestIneffectiveAnnotationHasAWarning(t *testing.T) {
	for sentence, tc := range map[string]struct {
		after any
		want  []string
	}{
		"it names a group":             {set(2, in("store"), annotatedInto("store")), nil},
		"it names an invalid group":    {set(2, in("store"), annotatedInto("a b")), []string{`lockstep: invalid annotation lockstep.dev/rollout-group "a b": must be the name of a group; the label rollout-group counts instead`}},
		"it is neither true nor false": {set(2, in("store"), annotated("lockstep.dev/ignore", "yes")), []string{`lockstep: annotation lockstep.dev/ignore is "yes": only true has an effect`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			response := answerTo(t, post(t, preparing(atRest()), preparePath, update(t, set(3, in("store")), tc.after))).Response
			if diff := cmp.Diff(tc.want, response.Warnings); diff != "" || !response.Allowed {
				t.Errorf("allowed %t; -want +got:\n%s", response.Allowed, diff)
			}
		})
	}
	response := answerTo(t, post(t, preparing(atRest()), preparePath, update(t, scale(3), scale(2)))).Response
	if len(response.Warnings) > 0 {
		t.Errorf("a Scale, which shows no annotations: %q", response.Warnings)
	}
}

// The group that a StatefulSet joins could not object. Its former group could not keep its
// other pods up.
func TestDownscaleThatChangesTheGroupOfItsZoneIsRefused(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before, after *appsv1.StatefulSet
		code          int
		why           reason.Code
	}{
		"it joins one":                                {set(3), set(2, in("store")), http.StatusForbidden, reason.GroupChanged},
		"it joins a group without a name":             {set(3), set(2, in("")), http.StatusForbidden, reason.GroupChanged},
		"it joins another one":                        {set(3, in("store")), set(2, in("cache")), http.StatusForbidden, reason.GroupChanged},
		"it is removed from its only group":           {set(3, in("store")), set(2), http.StatusForbidden, reason.GroupChanged},
		"its group does not change":                   {set(3, in("store")), set(2, in("store")), http.StatusOK, reason.DownscaleAdmitted},
		"an annotation names one":                     {set(3), set(2, annotatedInto("store")), http.StatusForbidden, reason.GroupChanged},
		"an annotation names another one":             {set(3, in("store")), set(2, in("store"), annotatedInto("cache")), http.StatusForbidden, reason.GroupChanged},
		"an annotation no longer names one":           {set(3, in("cache"), annotatedInto("store")), set(2, in("cache")), http.StatusForbidden, reason.GroupChanged},
		"it is ignored":                               {set(3, in("store")), set(2, in("store"), ignored), http.StatusForbidden, reason.GroupChanged},
		"it is no longer ignored":                     {set(3, in("store"), ignored), set(2, in("store")), http.StatusForbidden, reason.GroupChanged},
		"an annotation replaces the label":            {set(3, in("store")), set(2, annotatedInto("store")), http.StatusOK, reason.DownscaleAdmitted},
		"an annotation names an invalid group":        {set(3, in("store")), set(2, in("store"), annotatedInto("a b")), http.StatusOK, reason.DownscaleAdmitted},
		"it is ignored and the annotation is removed": {set(3, in("store"), annotatedInto("cache"), ignored), set(3, in("store"), ignored), http.StatusOK, reason.NotADownscale},
		"it joins a group and is scaled up":           {set(3), set(4, in("store")), http.StatusOK, reason.NotADownscale},
	} {
		t.Run(sentence, func(t *testing.T) {
			isAnswered(t, update(t, tc.before, tc.after), tc.code, tc.why)
		})
	}
}
