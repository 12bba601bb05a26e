package act_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func refusal(code int32, why metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: why, Message: message}
}

// about returns a refusal that names the object that it is about.
func about(name string, s *metav1.Status) *metav1.Status {
	s.Details = &metav1.StatusDetails{Name: name, Kind: "pods"}
	return s
}

var ofPod = plan.Disruption{Zone: "db", Pod: "db-a", UID: "uid-a", Version: 8, Up: true, Because: reason.UpdatedInPlace}

// A change that is refused permanently is made in another way. One that fails for the moment is tried again.
func TestWhichRefusalsMakeAChangeImpossibleInPlace(t *testing.T) {
	resize := statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, From: "db-1", Revision: "db-2"}
	update := statefulcluster.UpdateInPlace{Of: ofPod, From: "db-1", Revision: "db-2"}
	for sentence, tc := range map[string]struct {
		refusal   *metav1.Status
		ofResizes bool // impossible permanently
		ofUpdates bool
	}{
		"the value is invalid":              {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no such unit"), true, true},
		"a policy forbids it":               {refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "denied by policy"), true, true},
		"a quota forbids it":                {refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: cpu, requested 1"), false, false},
		"the API server has no such method": {refusal(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "not supported"), true, false},
		"the API server has no such path":   {about("", refusal(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")), true, false},
		"the pod does not exist any more":   {about("db-a", refusal(http.StatusNotFound, metav1.StatusReasonNotFound, "pods db-a not found")), false, false},
		"the pod has changed":               {refusal(http.StatusConflict, metav1.StatusReasonConflict, "changed"), false, false},
		"the API server is broken":          {refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "broken"), false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			impossible := func(step plan.Action) bool {
				r, passedOn := newRoom(t), &checks{}
				r.refusal, r.Checks = tc.refusal, passedOn
				if _, err := r.Run(t.Context(), testPool(), []plan.Action{step}, hold.Decision{DisruptBefore: time.Now().Add(time.Minute)}); err == nil {
					t.Error("no error")
				}
				return len(passedOn.compared) > 0
			}
			if got := impossible(resize); got != tc.ofResizes {
				t.Errorf("a resize is impossible: %t, want %t", got, tc.ofResizes)
			}
			if got := impossible(update); got != tc.ofUpdates {
				t.Errorf("an update is impossible: %t, want %t", got, tc.ofUpdates)
			}
		})
	}
}

// What the API server does not let grow stops no plan. Other failures do.
func TestWhichRefusalsOfMoreStorageArePassedOn(t *testing.T) {
	grow := statefulcluster.GrowClaim{Claim: statefulcluster.Claim{Name: "db-data-a", UID: "u", Version: 8}, To: statefulcluster.Storage{Text: "2Gi", Bytes: 2 << 30}}
	for sentence, tc := range map[string]struct {
		refusal *metav1.Status
		want    []string
	}{
		"the class of the claim forbids it": {refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no expansion"), []string{"db-data-a to 2Gi: no expansion"}},
		"the claim cannot have that much":   {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "not bound"), []string{"db-data-a to 2Gi: not bound"}},
		"the claim has changed":             {refusal(http.StatusConflict, metav1.StatusReasonConflict, "changed"), nil},
		"the API server is broken":          {refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "broken"), nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, passedOn := newRoom(t), &checks{}
			r.refusal, r.Checks = tc.refusal, passedOn
			_, err := r.Run(t.Context(), testPool(), []plan.Action{grow}, hold.Decision{})
			if diff := cmp.Diff(tc.want, passedOn.refused); diff != "" || (err == nil) != (len(tc.want) > 0) {
				t.Errorf("error %v, passed on (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The grace period of an update in place begins with the time of its gate, which is not before the gate is closed. All times
// have whole seconds.
func TestUpdatesInPlaceAreDatedByTheTimeOfTheirRequest(t *testing.T) {
	for sentence, tc := range map[string]struct {
		action plan.Action
		early  bool // the time may be some of a second before the request
	}{
		"the mark at the beginning": {statefulcluster.BeginUpdate{Of: ofPod, Revision: "db-2"}, true},
		"the mark at the end":       {statefulcluster.UpdateInPlace{Of: ofPod, From: "db-1", Revision: "db-2"}, true},
		"the gate":                  {statefulcluster.SetGate{Pod: "db-a", UID: "uid-a", Version: 8}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, began := newRoom(t), time.Now()
			if _, err := r.Run(t.Context(), testPool(), []plan.Action{tc.action}, hold.Decision{DisruptBefore: began.Add(time.Minute)}); err != nil {
				t.Fatal(err)
			}
			var sent corev1.Pod
			if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil {
				t.Fatal(err)
			}
			update, _ := contract.ReadInPlaceUpdate(sent.Annotations)
			since := update.Since
			for _, c := range sent.Status.Conditions {
				since = c.LastTransitionTime.Time
			}
			earliest, latest := began.Truncate(time.Second), time.Now()
			if !tc.early {
				earliest, latest = began, latest.Add(time.Second)
			}
			if since.Before(earliest) || since.After(latest) || !since.Equal(since.Truncate(time.Second)) {
				t.Errorf("it is dated %s, the request was sent after %s", since, began)
			}
		})
	}
}
