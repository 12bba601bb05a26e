package act_test

import (
	"errors"
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

// The report counts the claims that are deleted, and the loop treats the errors of the others as if none were.
func TestADeletionOfSomeClaimsSaysOfHowMany(t *testing.T) {
	claims := []statefulcluster.Claim{{Name: "db-data-a", UID: "d", Version: 8}, {Name: "db-logs-a", UID: "l", Version: 8}, {Name: "db-cache-a", UID: "c", Version: 8}}
	for sentence, tc := range map[string]struct {
		refused map[string]int32 // by request
		done    int
		class   reason.Class
	}{
		"one has changed":                       {map[string]int32{"DELETE persistentvolumeclaims/db-logs-a": http.StatusConflict}, 2, reason.Moved},
		"one has changed, another is forbidden": {map[string]int32{"DELETE persistentvolumeclaims/db-data-a": http.StatusForbidden, "DELETE persistentvolumeclaims/db-logs-a": http.StatusConflict}, 1, reason.Again},
		"all have changed": {map[string]int32{
			"DELETE persistentvolumeclaims/db-data-a": http.StatusConflict, "DELETE persistentvolumeclaims/db-logs-a": http.StatusConflict, "DELETE persistentvolumeclaims/db-cache-a": http.StatusConflict,
		}, 0, reason.Moved},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = func(what string) int32 {
				if what == "GET pods/db-a" {
					return http.StatusNotFound
				}
				return tc.refused[what]
			}
			done, err := r.Run(t.Context(), testPool(), []plan.Action{statefulcluster.DeleteClaims{Pool: "db", ID: "a", Claims: claims}}, hold.Decision{})
			if err == nil || reason.ClassOf(err) != tc.class || len(done) != 1 {
				t.Fatalf("error %v is of class %s, want %s; receipts %v", err, reason.ClassOf(err), tc.class, done)
			}
			part, is := errors.AsType[*plan.PartialError](done[0].Err)
			if is != (tc.done > 0) || is && part.Done != tc.done {
				t.Errorf("%v is a part: %t, %+v; want %d claims", done[0].Err, is, part, tc.done)
			}
		})
	}
}
