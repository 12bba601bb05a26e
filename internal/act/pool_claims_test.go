package act_test

import (
	"net/http"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Only a person can remove a pod that lost its labels. A pod that cannot be read is read again.
func TestClaimsOfAPodThatExistsWaitForAPerson(t *testing.T) {
	for sentence, tc := range map[string]struct {
		code int32 // of the read of the pod; 0: it exists
		want reason.Class
	}{
		"the pod exists":         {0, reason.Human},
		"the pod cannot be read": {http.StatusInternalServerError, reason.Again},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = answering(tc.code)
			a := statefulcluster.DeleteClaims{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}}
			if _, err := r.Run(t.Context(), testPool(), []plan.Action{a}, hold.Decision{}); err == nil || reason.ClassOf(err) != tc.want {
				t.Errorf("error %v is of class %s, want %s", err, reason.ClassOf(err), tc.want)
			}
		})
	}
}
