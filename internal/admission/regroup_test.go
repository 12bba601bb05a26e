package admission_test

import (
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

func in(group string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Labels = map[string]string{"rollout-group": group} }
}

// The group that a StatefulSet joins could not object, and the one that it leaves could
// not keep others from going down with it.
func TestNoUpdateShrinksAZoneAndChangesItsGroup(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before, after *appsv1.StatefulSet
		code          int
		why           reason.Code
	}{
		"it joins one":            {set(3), set(2, in("store")), http.StatusForbidden, reason.GroupChanged},
		"it joins one of no name": {set(3), set(2, in("")), http.StatusForbidden, reason.GroupChanged},
		"it joins another one":    {set(3, in("store")), set(2, in("cache")), http.StatusForbidden, reason.GroupChanged},
		"it leaves the only one":  {set(3, in("store")), set(2), http.StatusForbidden, reason.GroupChanged},
		"it stays":                {set(3, in("store")), set(2, in("store")), http.StatusOK, reason.DownscaleAdmitted},
		"it joins one and grows":  {set(3), set(4, in("store")), http.StatusOK, reason.NotShrinking},
	} {
		t.Run(sentence, func(t *testing.T) {
			isAnswered(t, update(t, tc.before, tc.after), tc.code, tc.why)
		})
	}
}
