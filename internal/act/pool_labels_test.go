package act_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	tryPod    = "POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Ignore"
	tryClaim  = "POST persistentvolumeclaims?dryRun=All&fieldManager=lockstep&fieldValidation=Strict"
	newPod    = "POST pods"
	newClaim  = "POST persistentvolumeclaims"
	labelsPod = "PATCH pods/db-000000000000000a"

	correctIt = "; correct the webhook or policy that does"
)

// changes makes the API server change a label of what requests create or change, or take off the scheduling gate of that name.
func (r *room) changes(label string, requests ...string) {
	r.answers = func(what string) any {
		if !slices.Contains(requests, what) {
			return nil
		}
		_, object, _ := strings.Cut(what, " ")
		answer, _ := agreement("/"+object, []byte(r.bodies[len(r.bodies)-1])).(map[string]any)
		meta, _ := answer["metadata"].(map[string]any)
		if labels, are := meta["labels"].(map[string]any); are {
			labels[label] = "changed"
		}
		if label == contract.ClaimsGate {
			answer["spec"] = map[string]any{}
		}
		return answer
	}
}

// Such a pod is in no cache, so another one would be created all the time, or it seems that its claims were deleted.
func TestNoPodIsCreatedThatLosesItsLabels(t *testing.T) {
	former := births(3)
	former.Revision = "db-former"
	handOver := statefulcluster.HandOver{Pool: "db", ID: "000000000000000a", From: "former", Templates: poolTemplates()}
	const (
		why     = "create pod team/db-000000000000000a: something changes the label lockstep.dev/statefulcluster of new pods" + correctIt
		ungated = "create pod team/db-000000000000000a: something takes the scheduling gate lockstep.dev/claims off new pods" + correctIt
	)
	without := births(1)
	without.Templates.Claims = nil
	for sentence, tc := range map[string]struct {
		action  plan.Action
		label   string
		changes []string
		refuses int32 // the dry run
		want    []string
		fails   string
	}{
		"new pods lose the name of the object": {
			action: births(3), label: contract.PoolLabel, changes: []string{tryPod, newPod}, want: []string{tryPod}, fails: why,
		},
		"new pods lose their identities": {
			action: births(3), label: contract.InstanceIDLabel, changes: []string{tryPod, newPod}, want: []string{tryPod},
			fails: "create pod team/db-000000000000000a: something changes the label lockstep.dev/instance-id of new pods" + correctIt,
		},
		"new pods lose their revision": {
			action: births(3), label: contract.RevisionLabel, changes: []string{tryPod, newPod}, want: []string{tryPod},
			fails: "create pod team/db-000000000000000a: something changes the label controller-revision-hash of new pods" + correctIt,
		},
		"new pods lose their scheduling gate": {
			action: births(3), label: contract.ClaimsGate, changes: []string{tryPod, newPod}, want: []string{tryPod}, fails: ungated,
		},
		"an identity is handed over to a pod without a scheduling gate": {
			action: handOver, label: contract.ClaimsGate, changes: []string{tryPod, newPod}, want: []string{tryPod}, fails: ungated,
		},
		"pods without claims have no scheduling gate": {
			action: without, label: contract.ClaimsGate, changes: []string{tryPod, newPod}, want: []string{tryPod, newPod},
		},
		"the selector does not match new pods": {
			action: births(3), label: "app", changes: []string{tryPod, newPod}, want: []string{tryPod},
			fails: "create pod team/db-000000000000000a: something changes the labels of new pods, so that spec.selector does not match them" + correctIt,
		},
		"pods of an earlier revision are missing": {
			action: former, label: contract.PoolLabel, changes: []string{tryPod, newPod}, want: []string{tryPod}, fails: why,
		},
		"an identity is handed over": {
			action: handOver, label: contract.PoolLabel, changes: []string{tryPod, newPod}, want: []string{tryPod}, fails: why,
		},
		"no label is lost": {action: births(2), want: []string{tryPod, newPod, newPod}},
		"the API server refuses dry runs": {
			action: births(1), refuses: http.StatusBadRequest, want: []string{tryPod, newPod},
		},
		"labels are lost after the dry run": {
			action: births(1), label: contract.PoolLabel, changes: []string{newPod}, want: []string{tryPod, newPod, labelsPod},
		},
		"labels are lost after the dry run, and again": {
			action: births(3), label: contract.PoolLabel, changes: []string{newPod, labelsPod}, want: []string{tryPod, newPod, labelsPod},
			fails: "label pod team/db-000000000000000a: something changes its label lockstep.dev/statefulcluster" + correctIt,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, s := newRoom(t), testPool()
			r.changes(tc.label, tc.changes...)
			r.refuses = func(what string) int32 { return map[string]int32{tryPod: tc.refuses}[what] }
			s.Object.Selector, s.Object.Labels = "app=db", map[string]string{"app": "db"}
			_, err := r.Run(t.Context(), s, []plan.Action{tc.action}, hold.Decision{})
			if diff := cmp.Diff(tc.want, r.said()); diff != "" || text(err) != tc.fails {
				t.Errorf("error %v, want %q; requests (-want +got):\n%s", err, tc.fails, diff)
			}
			if err != nil && reason.ClassOf(err) != reason.Again {
				t.Errorf("the error is of class %s, so it is not tried again with back-off", reason.ClassOf(err))
			}
			if err != nil && reason.CodeOf(err) != reason.CreationPrevented {
				t.Errorf("the error has the code %q, so no person is asked", reason.CodeOf(err))
			}
		})
	}
}

// Otherwise each attempt would leave one more pod that no cache shows.
func TestNoPodIsCreatedBesideOneThatHasNotGotItsLabels(t *testing.T) {
	const again = "pod team/db-000000000000000a has its labels again"
	for sentence, tc := range map[string]struct {
		action  plan.Action // the next one
		changes []string
		refuses int32 // the next patch
		want    []string
		fails   string
	}{
		"it loses its labels again": {
			action: births(1), changes: []string{newPod, labelsPod}, want: []string{labelsPod},
			fails: "label pod team/db-000000000000000a: something changes its label lockstep.dev/statefulcluster" + correctIt,
		},
		"it cannot be labelled": {
			action: births(1), refuses: http.StatusInternalServerError, want: []string{labelsPod}, fails: "label pod team/db-000000000000000a: ",
		},
		"it gets its labels": {action: births(1), want: []string{labelsPod}, fails: again},
		"it gets its labels, and an identity is handed over": {
			action: statefulcluster.HandOver{Pool: "db", ID: "b", From: "former", Templates: poolTemplates()}, want: []string{labelsPod}, fails: again,
		},
		"it was deleted": {action: births(1), refuses: http.StatusNotFound, want: []string{labelsPod, tryPod, newPod}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.changes(contract.PoolLabel, newPod, labelsPod)
			if _, err := r.Run(t.Context(), testPool(), []plan.Action{births(3)}, hold.Decision{}); reason.CodeOf(err) != reason.CreationPrevented {
				t.Fatalf("got %v", err)
			}
			r.said()
			r.changes(contract.PoolLabel, tc.changes...)
			r.refuses = func(what string) int32 { return map[string]int32{labelsPod: tc.refuses}[what] }
			for i := range 2 { // what has ended is forgotten, and the rest is not
				_, err := r.Run(t.Context(), testPool(), []plan.Action{tc.action}, hold.Decision{})
				want, fails := tc.want, tc.fails
				if forgotten := tc.changes == nil && tc.refuses != http.StatusInternalServerError; forgotten && i > 0 {
					want, fails = []string{tryPod, newPod}, ""
				}
				if diff := cmp.Diff(want, r.said()); diff != "" || !strings.HasPrefix(text(err), fails) || (err == nil) != (fails == "") {
					t.Errorf("attempt %d: error %v, want %q; requests (-want +got):\n%s", i, err, fails, diff)
				}
				if moved := reason.ClassOf(err) == reason.Moved; err != nil && moved != (fails == again) {
					t.Errorf("attempt %d: error %v is of class %s", i, err, reason.ClassOf(err))
				}
			}
		})
	}
}

// Otherwise the same patch would be sent all the time.
func TestALabelOfTheRevisionThatDoesNotStayIsAnError(t *testing.T) {
	of := plan.Disruption{Zone: "db", Pod: "db-a", UID: "uid-a", Version: 8, Up: true, Because: reason.UpdatedInPlace}
	for what, a := range map[string]plan.Action{
		"relabel": statefulcluster.RelabelPod{Pool: "db", Pod: "db-a", UID: "uid-a", Version: 8, Revision: "db-2"},
		"update":  statefulcluster.UpdateInPlace{Of: of, Revision: "db-2"},
	} {
		r := newRoom(t)
		r.changes(contract.RevisionLabel, "PATCH pods/db-a")
		_, err := r.Run(t.Context(), testPool(), []plan.Action{a}, hold.Decision{DisruptBefore: time.Now().Add(time.Minute)})
		want := what + " pod team/db-a: something changes its label controller-revision-hash" + correctIt
		if text(err) != want || reason.CodeOf(err) != reason.CreationPrevented || reason.ClassOf(err) != reason.Again {
			t.Errorf("error %v of class %s, want %q", err, reason.ClassOf(err), want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// No cache shows such a claim, so its pod would wait, or the same request would be sent, all the time.
func TestAClaimThatLosesItsLabelsGetsThemAgainOrIsAnError(t *testing.T) {
	const (
		readClaim, labels, gate = "GET persistentvolumeclaims/db-data-a", "PATCH persistentvolumeclaims/db-data-a", "PATCH pods/db-a"

		again    = "label claim team/db-data-a: something changes its label lockstep.dev/statefulcluster" + correctIt
		unknown  = "create claim team/db-data-a: something changes the label lockstep.dev/pool-uid of new claims for data" + correctIt
		labelled = `{"metadata":{"uid":"uid","resourceVersion":"500","labels":{"lockstep.dev/claim":"data","lockstep.dev/instance-id":"a","lockstep.dev/pool-uid":"u","lockstep.dev/statefulcluster":"db"}}}`
	)
	completes := completion("data")
	adopts := statefulcluster.LabelClaims{Pool: "db", ID: "a", Claims: []statefulcluster.UnlabelledClaim{{Name: "db-data-a", Template: "data", UID: "uid", Version: 500}}}
	for sentence, tc := range map[string]struct {
		action  plan.Action
		label   string
		changes []string
		exists  string // the label that a claim of that name has lost; empty: there is none
		want    []string
		body    string // of the patch
		fails   string
	}{
		"a new claim": {action: completes, label: contract.PoolLabel, changes: []string{newClaim}, want: []string{newClaim, labels, gate}, body: labelled},
		"a new claim, and again": {
			action: completes, label: contract.PoolLabel, changes: []string{newClaim, labels}, want: []string{newClaim, labels}, fails: again,
		},
		"a claim that exists": {action: completes, exists: contract.PoolLabel, want: []string{newClaim, readClaim, labels, gate}, body: labelled},
		"a claim that exists, and again": {
			action: completes, label: contract.PoolLabel, changes: []string{labels}, exists: contract.PoolLabel, want: []string{newClaim, readClaim, labels}, fails: again,
		},
		"a claim that exists and that may be one of another owner": {
			action: completes, label: contract.PoolUIDLabel, changes: []string{tryClaim}, exists: contract.PoolUIDLabel, want: []string{newClaim, readClaim, tryClaim}, fails: unknown,
		},
		"a claim without labels, again": {action: adopts, label: contract.PoolLabel, changes: []string{labels}, want: []string{labels}, fails: again},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, passedOn := newRoom(t), &checks{}
			r.Checks = passedOn
			r.changes(tc.label, tc.changes...)
			changed := r.answers
			r.answers = func(what string) any {
				if what != readClaim {
					return changed(what)
				}
				own := map[string]string{contract.PoolLabel: "db", contract.PoolUIDLabel: "u", contract.InstanceIDLabel: "a", contract.ClaimLabel: "data"}
				own[tc.exists] = "changed"
				return map[string]any{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": map[string]any{"name": "db-data-a", "uid": "uid", "resourceVersion": "500", "labels": own}}
			}
			r.refuses = func(what string) int32 {
				if tc.exists != "" && what == newClaim {
					return http.StatusPreconditionFailed
				}
				return 0
			}
			_, err := r.Run(t.Context(), testPool(), []plan.Action{tc.action}, hold.Decision{})
			said := r.said()
			if diff := cmp.Diff(tc.want, said); diff != "" || text(err) != tc.fails || reason.ClassOf(err) != reason.Again || len(passedOn.compared) > 0 || err != nil && reason.CodeOf(err) != reason.CreationPrevented {
				t.Errorf("error %v, want %q; passed on %q; requests (-want +got):\n%s", err, tc.fails, passedOn.compared, diff)
			}
			if i := slices.Index(said, labels); tc.body != "" && (i < 0 || r.bodies[i] != tc.body) {
				t.Errorf("sent %q, want %s", r.bodies, tc.body)
			}
		})
	}
}

func TestATemplateWhoseClaimsLoseTheirLabelsIsRefused(t *testing.T) {
	for _, label := range []string{contract.PoolLabel, contract.PoolUIDLabel, contract.InstanceIDLabel, contract.ClaimLabel} {
		r, s, passedOn := newRoom(t), testPool(), &checks{}
		r.Checks = passedOn
		r.changes(label, tryClaim)
		if _, err := r.Run(t.Context(), s, []plan.Action{statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2}}, hold.Decision{}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"abc: something changes the label " + label + " of new claims for data" + correctIt}; !slices.Equal(passedOn.refused, want) {
			t.Errorf("refused %q, want %q", passedOn.refused, want)
		}
		if said := r.said(); slices.Contains(said, "POST controllerrevisions") {
			t.Errorf("the requests are %q", said)
		}
	}
}
