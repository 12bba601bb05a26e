package act_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// testPool is a StatefulCluster with two claims for each identity.
func testPool() *statefulcluster.Snapshot {
	return &statefulcluster.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: fixture.Now(),
		Object: statefulcluster.Object{UID: "u", Templates: poolTemplates()},
		Draw:   func() statefulcluster.ID { return "drawn" },
		Pods:   []statefulcluster.Pod{{Pod: plan.Pod{Name: "db-a"}, Containers: []statefulcluster.Container{{Name: "web"}, {Name: "c"}, {Name: "agent"}}}},
	}
}

func poolTemplates() statefulcluster.Templates {
	return statefulcluster.Templates{Pod: []byte(`{"spec": {}}`), Claims: claimTemplates("data", "logs")}
}

func claimTemplates(names ...string) []statefulcluster.ClaimTemplate {
	var templates []statefulcluster.ClaimTemplate
	for _, name := range names {
		templates = append(templates, statefulcluster.ClaimTemplate{Name: name, Template: []byte(`{}`)})
	}
	return templates
}

// births returns an action that creates that many pods.
func births(count int) statefulcluster.CreatePods {
	a := statefulcluster.CreatePods{Pool: "db", Templates: poolTemplates()}
	for i := range count {
		a.IDs = append(a.IDs, statefulcluster.ID(strings.Repeat("0", 15)+string(rune('a'+i))))
	}
	return a
}

func completion(templates ...string) statefulcluster.CompletePod {
	return statefulcluster.CompletePod{Pool: "db", ID: "a", Pod: "db-a", UID: "uid-a", Templates: claimTemplates(templates...)}
}

func TestActionsOfAStatefulCluster(t *testing.T) {
	claim := func(name string) statefulcluster.Claim {
		return statefulcluster.Claim{Name: name, UID: "uid-" + name, Version: 8, ID: "a"}
	}
	for sentence, tc := range map[string]struct {
		action  plan.Action
		refuses func(string) int32
		want    []string
		fails   bool
	}{
		"pods are created without the hold": {action: births(2), want: []string{tryPod, newPod, newPod}},
		"the first refusal ends the births, in runs of one, two and four": {
			action: births(10), refuses: after(3, http.StatusForbidden), want: []string{tryPod, newPod, newPod, newPod}, fails: true,
		},
		"claims come before the gate is removed": {
			action: completion("data", "logs"), want: []string{"POST persistentvolumeclaims", "POST persistentvolumeclaims", "PATCH pods/db-a"},
		},
		"a pod without missing claims only loses its gate": {action: completion(), want: []string{"PATCH pods/db-a"}},
		"a pod keeps its gate until its claims are marked": {
			action: statefulcluster.CompletePod{Pool: "db", ID: "a", Pod: "db-a", UID: "uid-a", Templates: claimTemplates("data"), KeepGate: true}, want: []string{"POST persistentvolumeclaims"},
		},
		"a claim that is refused keeps the gate": {
			action: completion("data"), refuses: refusing("POST persistentvolumeclaims"), want: []string{"POST persistentvolumeclaims"}, fails: true,
		},
		"claims are marked": {
			action: statefulcluster.RetireIdentity{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{claim("db-data-a")}, Because: reason.ScaledDown},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = tc.refuses
			done, err := r.Run(t.Context(), testPool(), []plan.Action{tc.action}, hold.Decision{})
			if diff := cmp.Diff(tc.want, r.said()); diff != "" || (err != nil) != tc.fails || len(done) != 1 {
				t.Errorf("error %v, receipts %v (-want +got):\n%s", err, done, diff)
			}
		})
	}
}

func TestPodsThatWereCreatedBeforeARefusalAreCounted(t *testing.T) {
	for accepted, want := range map[int32]int{1: 0, 2: 1, 3: 2, 5: 4} { // the first request is the dry run
		r := newRoom(t)
		r.refuses = after(accepted, http.StatusForbidden)
		_, err := r.Run(t.Context(), testPool(), []plan.Action{births(10)}, hold.Decision{})
		part, is := errors.AsType[*plan.PartialError](err)
		if err == nil || is != (want > 0) || is && part.Done != want {
			t.Errorf("after %d requests the error is %v, want one after %d pods", accepted, err, want)
		}
	}
}

// If another process was faster, or a claim has changed, the plan is made again at once, and nothing has failed.
func TestAHandOverThatAnotherProcessHasMadeIsNoFailure(t *testing.T) {
	const pod, claim = "POST pods", "GET persistentvolumeclaims/db-data-a"
	own := map[string]string{contract.PoolLabel: "db", contract.InstanceIDLabel: "a"}
	for sentence, tc := range map[string]struct {
		request string
		code    int32
		owner   string            // of the pod that exists
		labels  map[string]string // of that pod
		read    int32             // the answer to its read
		want    reason.Class
		person  bool // has to delete a pod
	}{
		"the next pod exists":                  {request: pod, code: http.StatusPreconditionFailed, owner: "u", labels: own, want: reason.Moved},
		"the next pod has ended meanwhile":     {request: pod, code: http.StatusPreconditionFailed, read: http.StatusNotFound, want: reason.Moved},
		"a pod of the name is unreadable":      {request: pod, code: http.StatusPreconditionFailed, read: http.StatusInternalServerError, want: reason.Again},
		"a pod of the name belongs to nothing": {request: pod, code: http.StatusPreconditionFailed, labels: own, want: reason.Again, person: true},
		"a pod of the name is of another":      {request: pod, code: http.StatusPreconditionFailed, owner: "other", labels: own, want: reason.Again, person: true},
		"a pod of the name lacks its labels":   {request: pod, code: http.StatusPreconditionFailed, owner: "u", want: reason.Again, person: true},
		"a claim is gone":                      {request: claim, code: http.StatusNotFound, want: reason.Moved},
		"a claim has changed":                  {request: claim, want: reason.Moved},
		"a quota refuses it":                   {request: pod, code: http.StatusForbidden, want: reason.Again},
		"a claim is unreadable":                {request: claim, code: http.StatusInternalServerError, want: reason.Again},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = func(what string) int32 {
				return map[string]int32{tc.request: tc.code, "GET pods/db-a": tc.read}[what]
			}
			r.answers = func(what string) any {
				if what != "GET pods/db-a" {
					return nil
				}
				meta := map[string]any{"name": "db-a", "labels": tc.labels}
				if tc.owner != "" {
					meta["ownerReferences"] = []any{map[string]any{"uid": tc.owner, "controller": true}}
				}
				return map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": meta}
			}
			a := statefulcluster.HandOver{Pool: "db", ID: "a", From: "former", Templates: poolTemplates()}
			if tc.request == claim {
				a.Had = []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}
			}
			_, err := r.Run(t.Context(), testPool(), []plan.Action{a}, hold.Decision{})
			if err == nil || reason.ClassOf(err) != tc.want {
				t.Errorf("error %v is of class %s, want %s", err, reason.ClassOf(err), tc.want)
			}
			if asks := strings.Contains(text(err), "delete it"); asks != tc.person {
				t.Errorf("the error asks to delete a pod: %t, want %t: %v", asks, tc.person, err)
			}
			if prevented := reason.CodeOf(err) == reason.CreationPrevented; prevented != tc.person {
				t.Errorf("error %v has the code %q, and a person has to delete a pod: %t", err, reason.CodeOf(err), tc.person)
			}
		})
	}
}

// after returns answers that refuse every request but the first ones.
func after(accepted, code int32) func(string) int32 {
	var requests atomic.Int32
	return func(string) int32 {
		if requests.Add(1) > accepted {
			return code
		}
		return 0
	}
}

// A claim that another process created late for a former pod of the identity has no data of this one.
func TestAPodIsNotCompletedWithAClaimOfAFormerPod(t *testing.T) {
	for from, completes := range map[string]bool{"": true, "former": false, "uid-a": true} {
		r := newRoom(t)
		r.Checks = &checks{}
		r.refuses = func(what string) int32 {
			return map[string]int32{"POST persistentvolumeclaims": http.StatusPreconditionFailed}[what]
		}
		r.answers = func(what string) any {
			if what != "GET persistentvolumeclaims/db-data-a" {
				return nil
			}
			return map[string]any{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": map[string]any{
				"name": "db-data-a", "annotations": map[string]any{contract.HandoverAnnotation: from},
				"labels": map[string]any{contract.PoolUIDLabel: "u", contract.InstanceIDLabel: "a", contract.ClaimLabel: "data"},
			}}
		}
		_, err := r.Run(t.Context(), testPool(), []plan.Action{completion("data")}, hold.Decision{})
		if gate := slices.Contains(r.said(), "PATCH pods/db-a"); gate != completes || (err == nil) != completes {
			t.Errorf("a claim that is marked for %q: error %v, the gate is removed: %t", from, err, gate)
		}
	}
}

// A claim of another owner under the name of a claim must never be mounted.
func TestAPodIsNotCompletedWithAClaimOfAnotherOwner(t *testing.T) {
	r := newRoom(t)
	passedOn := &checks{}
	r.Checks = passedOn
	r.refuses = func(what string) int32 {
		if what == "POST persistentvolumeclaims" {
			return http.StatusPreconditionFailed
		}
		return 0
	}
	if _, err := r.Run(t.Context(), testPool(), []plan.Action{completion("data")}, hold.Decision{}); err == nil {
		t.Error("no error")
	}
	if said := r.said(); slices.ContainsFunc(said, func(what string) bool { return strings.HasPrefix(what, "PATCH pods") }) {
		t.Errorf("the gate was removed: %q", said)
	}
	if !slices.Equal(passedOn.compared, []string{"claim of a taken"}) {
		t.Errorf("passed on %q", passedOn.compared)
	}
}
