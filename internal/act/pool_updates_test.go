package act_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// checks record what an Executor passes on.
type checks struct{ refused, compared []string }

func (c *checks) Refused(_ plan.Key, hash, because string) {
	c.refused = append(c.refused, hash+": "+because)
}

func (c *checks) ClaimTaken(_ plan.Key, id statefulcluster.ID) {
	c.compared = append(c.compared, "claim of "+string(id)+" taken")
}

func (c *checks) GrowthRefused(_ plan.Key, claim string, to statefulcluster.Storage, because string) {
	c.refused = append(c.refused, claim+" to "+to.Text+": "+because)
}

func (c *checks) LookUpService(_ context.Context, _ *statefulcluster.Snapshot, name string) error {
	c.compared = append(c.compared, "Service "+name)
	return nil
}

func (c *checks) LookAtVolumes(_ context.Context, _ *statefulcluster.Snapshot, pods []string) error {
	c.compared = append(c.compared, "volumes of "+strings.Join(pods, ", "))
	return nil
}

func (c *checks) FoundOrphans(_ plan.Key, found statefulcluster.Orphans) {
	c.compared = append(c.compared, "no orphans at "+found.At.Format("2006"))
}

func (c *checks) Compared(_ plan.Key, newest, revision string, _ statefulcluster.Change) {
	c.compared = append(c.compared, revision+" with "+newest)
}

// claimAt answers reads of a claim with one of a UID and a version.
func claimAt(uid types.UID, version string) func(string) any {
	return func(what string) any {
		if !strings.HasPrefix(what, "GET persistentvolumeclaims") {
			return nil
		}
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
}

// claimOf answers reads of a claim with one that asks for that much storage.
func claimOf(storage string) func(string) any {
	return func(what string) any {
		if !strings.HasPrefix(what, "GET persistentvolumeclaims") {
			return nil
		}
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storage)},
		}}}
	}
}

func TestUpdatesOfAStatefulCluster(t *testing.T) {
	of := plan.Disruption{Zone: "db", Pod: "db-a", UID: "uid-a", Version: 8, Up: true, Because: reason.UpdatedInPlace}
	revision := statefulcluster.Revision{Name: "db-1", UID: "r", Version: 9, Number: 1, Templates: poolTemplates()}
	for sentence, tc := range map[string]struct {
		action   plan.Action
		claims   []statefulcluster.ClaimTemplate // of the object
		refuses  func(string) int32
		answers  func(string) any
		want     []string
		body     string // part of the last request
		refused  []string
		compared []string
		fails    bool
	}{
		"a pod is updated by one patch that requires its version": {
			action: statefulcluster.UpdateInPlace{
				Of: of, Revision: "db-2", Restarts: map[string]string{"c": "one"},
				Change: statefulcluster.Change{Images: map[string]string{"c": "i:2"}, Labels: map[string]*string{"old": nil}},
			},
			want: []string{"PATCH pods/db-a"},
			body: `{"metadata":{"uid":"uid-a","resourceVersion":"8","labels":{"controller-revision-hash":"db-2","old":null},` +
				`"annotations":{"lockstep.dev/inplace-update":"{\"revision\":\"db-2\",\"version\":\"8\",\"since\":\"now\",\"restarts\":{\"c\":\"one\"}}"}},` +
				`"spec":{"containers":[{"name":"c","image":"i:2"}]}}`,
		},
		"containers get images in their order": {
			action: statefulcluster.UpdateInPlace{Of: of, Revision: "db-2", Change: statefulcluster.Change{Images: map[string]string{"agent": "a:2", "web": "w:2", "c": "i:2"}}},
			want:   []string{"PATCH pods/db-a"}, body: `"containers":[{"name":"web","image":"w:2"},{"name":"c","image":"i:2"},{"name":"agent","image":"a:2"}]`,
		},
		"containers get resources in their order": {
			action: statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, From: "db-1", Revision: "db-2", Resources: map[string]statefulcluster.Resources{"c": {CPURequest: "3"}, "agent": {CPURequest: "4"}, "web": {CPURequest: "2"}}},
			want:   []string{"PATCH pods/db-a/resize"}, body: `"containers":[{"name":"web","resources":{"requests":{"cpu":"2"}}},{"name":"c","resources":{"requests":{"cpu":"3"}}},{"name":"agent","resources":{"requests":{"cpu":"4"}}}]`,
		},
		"an update in place that a policy forbids is impossible": {
			action:  statefulcluster.UpdateInPlace{Of: of, From: "db-1", Revision: "db-2"},
			refuses: answering(http.StatusForbidden), want: []string{"PATCH pods/db-a"}, compared: []string{"db-1 with db-2"}, fails: true,
		},
		"an update in place that fails for another reason is tried again": {
			action:  statefulcluster.UpdateInPlace{Of: of, From: "db-1", Revision: "db-2"},
			refuses: answering(http.StatusInternalServerError), want: []string{"PATCH pods/db-a"}, fails: true,
		},
		"an update that takes several stages begins with a mark": {
			action: statefulcluster.BeginUpdate{Of: of, Revision: "db-2", Before: map[string]statefulcluster.Resources{"c": {CPURequest: "1"}}},
			want:   []string{"PATCH pods/db-a"},
			body: `{"metadata":{"uid":"uid-a","resourceVersion":"8",` +
				`"annotations":{"lockstep.dev/inplace-update":"{\"revision\":\"db-2\",\"version\":\"8\",\"since\":\"now\",\"begun\":true,\"before\":{\"c\":{\"cpuRequest\":\"1\"}}}"}}}`,
		},
		"the gate of this very pod is closed": {
			action: statefulcluster.SetGate{Pod: "db-a", UID: "uid-a", Version: 8},
			want:   []string{"PATCH pods/db-a/status"},
			body:   `{"metadata":{"uid":"uid-a","resourceVersion":"8"},"status":{"conditions":[{"type":"lockstep.dev/InPlaceUpdateReady","status":"False",`,
		},
		"the gate of this very pod is opened": {
			action: statefulcluster.SetGate{Pod: "db-a", UID: "uid-a", Version: 8, Open: true},
			want:   []string{"PATCH pods/db-a/status"}, body: `"status":"True"`,
		},
		"an update that cannot go on ends without a mark": {
			action: statefulcluster.EndUpdate{Pod: "db-a", UID: "uid-a", Version: 8},
			want:   []string{"PATCH pods/db-a"},
			body:   `{"metadata":{"uid":"uid-a","resourceVersion":"8","annotations":{"lockstep.dev/inplace-update":null}}}`,
		},
		"exactly this pod is resized": {
			action: statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, Resources: map[string]statefulcluster.Resources{"c": {CPURequest: "2", MemoryLimit: "1Gi"}}},
			want:   []string{"PATCH pods/db-a/resize"},
			body:   `{"metadata":{"uid":"uid-a","resourceVersion":"8"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"},"limits":{"memory":"1Gi"}}}]}}`,
		},
		"a resize that the API server refuses is impossible": {
			action:  statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, From: "db-1", Revision: "db-2"},
			refuses: answering(http.StatusUnprocessableEntity), want: []string{"PATCH pods/db-a/resize"}, compared: []string{"db-1 with db-2"}, fails: true,
		},
		"a resize that the API server does not know is impossible": {
			action:  statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, From: "db-1", Revision: "db-2"},
			refuses: answering(http.StatusNotFound), want: []string{"PATCH pods/db-a/resize"}, compared: []string{"db-1 with db-2"}, fails: true,
		},
		"a resize that fails for another reason is tried again": {
			action:  statefulcluster.ResizePod{Pod: "db-a", UID: "uid-a", Version: 8, From: "db-1", Revision: "db-2"},
			refuses: answering(http.StatusConflict), want: []string{"PATCH pods/db-a/resize"}, fails: true,
		},
		"a pod without differences only gets a label": {
			action: statefulcluster.RelabelPod{Pool: "db", Pod: "db-a", UID: "uid-a", Version: 8, Revision: "db-2"},
			want:   []string{"PATCH pods/db-a"},
			body:   `{"metadata":{"uid":"uid-a","resourceVersion":"8","labels":{"controller-revision-hash":"db-2"}}}`,
		},
		"the next pod of an identity names the one before": {
			action: statefulcluster.HandOver{Pool: "db", ID: "a", From: "uid-a", Revision: "db-2", Templates: poolTemplates()},
			want:   []string{tryPod, newPod}, body: `"lockstep.dev/handover-from":"uid-a"`,
		},
		"the claims of an identity are read before its next pod is created": {
			action:  statefulcluster.HandOver{Pool: "db", ID: "a", From: "uid-a", Revision: "db-2", Templates: poolTemplates(), Had: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			answers: claimAt("u", "8"), want: []string{tryPod, "GET persistentvolumeclaims/db-data-a", newPod}, body: `"lockstep.dev/handover-from":"uid-a"`,
		},
		"no next pod is created if a claim has changed": {
			action:  statefulcluster.HandOver{Pool: "db", ID: "a", From: "uid-a", Revision: "db-2", Templates: poolTemplates(), Had: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			answers: claimAt("u", "9"), want: []string{tryPod, "GET persistentvolumeclaims/db-data-a"}, fails: true,
		},
		"no next pod is created if a claim was created again": {
			action:  statefulcluster.HandOver{Pool: "db", ID: "a", From: "uid-a", Revision: "db-2", Templates: poolTemplates(), Had: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			answers: claimAt("another", "8"), want: []string{tryPod, "GET persistentvolumeclaims/db-data-a"}, fails: true,
		},
		"no next pod is created if a claim is gone": {
			action:  statefulcluster.HandOver{Pool: "db", ID: "a", From: "uid-a", Revision: "db-2", Templates: poolTemplates(), Had: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			refuses: answering(http.StatusNotFound), want: []string{tryPod, "GET persistentvolumeclaims/db-data-a"}, fails: true,
		},
		"claims are marked before a hand-over, with the names of all of them": {
			action: statefulcluster.PrepareHandover{Pool: "db", ID: "a", From: "uid-a", Siblings: []string{"data", "logs"}, Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"},
			body:   `{"metadata":{"uid":"u","resourceVersion":"8","annotations":{"lockstep.dev/claim-templates":"data,logs","lockstep.dev/handover-from":"uid-a"}}}`,
		},
		"the request of a person to keep an identity is written on its claims": {
			action: statefulcluster.PrepareHandover{Pool: "db", ID: "a", From: "uid-a", Retain: true, Siblings: []string{"data"}, Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"}, body: `"lockstep.dev/retain-identity":"true"`,
		},
		"a request that a person withdraws is taken off the claims": {
			action: statefulcluster.PrepareHandover{Pool: "db", ID: "a", From: "uid-a", Siblings: []string{"data"}, Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8, Retain: true}}},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"}, body: `"lockstep.dev/retain-identity":null`,
		},
		"marks are removed at the version that was evaluated": {
			action: statefulcluster.UnretireIdentity{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"},
			body:   `{"metadata":{"uid":"u","resourceVersion":"8","annotations":{"lockstep.dev/retired-at":null,"lockstep.dev/retired-reason":null}}}`,
		},
		"claims are deleted as they were evaluated, once the pod is known to be gone": {
			action:  statefulcluster.DeleteClaims{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			refuses: func(what string) int32 { return map[string]int32{"GET pods/db-a": http.StatusNotFound}[what] },
			want:    []string{"GET pods/db-a", "DELETE persistentvolumeclaims/db-data-a"}, body: `"preconditions":{"uid":"u","resourceVersion":"8"}`,
		},
		"claims of a pod that exists are not deleted": {
			action: statefulcluster.DeleteClaims{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			want:   []string{"GET pods/db-a"}, fails: true,
		},
		"claims are not deleted if the pod cannot be read": {
			action:  statefulcluster.DeleteClaims{Pool: "db", ID: "a", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			refuses: answering(http.StatusInternalServerError),
			want:    []string{"GET pods/db-a"}, fails: true,
		},
		"claims get the object as their owner": {
			action: statefulcluster.OwnClaims{Pool: "db", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}, Owned: true},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"}, body: `"controller":true}],"resourceVersion":"8","uid":"u"}}`,
		},
		"a claim that asks for less gets more": {
			action: statefulcluster.GrowClaim{Claim: statefulcluster.Claim{Name: "db-data-a", UID: "u", Version: 8}, To: statefulcluster.Storage{Text: "2Gi", Bytes: 2 << 30}},
			want:   []string{"GET persistentvolumeclaims/db-data-a", "PATCH persistentvolumeclaims/db-data-a"},
			body:   `{"metadata":{"uid":"u","resourceVersion":"8","annotations":{"lockstep.dev/storage":"2Gi"}},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`,
		},
		"a claim that has more already is only noted": {
			action:  statefulcluster.GrowClaim{Claim: statefulcluster.Claim{Name: "db-data-a", UID: "u", Version: 8}, To: statefulcluster.Storage{Text: "2Gi", Bytes: 2 << 30}},
			answers: claimOf("3Gi"), want: []string{"GET persistentvolumeclaims/db-data-a", "PATCH persistentvolumeclaims/db-data-a"},
			body: `{"metadata":{"uid":"u","resourceVersion":"8","annotations":{"lockstep.dev/storage":"2Gi"}}}`,
		},
		"a claim that the API server does not let grow is passed on": {
			action: statefulcluster.GrowClaim{Claim: statefulcluster.Claim{Name: "db-data-a", UID: "u", Version: 8}, To: statefulcluster.Storage{Text: "2Gi", Bytes: 2 << 30}},
			refuses: func(what string) int32 {
				return map[string]int32{"PATCH persistentvolumeclaims/db-data-a": http.StatusForbidden}[what]
			},
			want: []string{"GET persistentvolumeclaims/db-data-a", "PATCH persistentvolumeclaims/db-data-a"}, refused: []string{"db-data-a to 2Gi: Forbidden"},
		},
		"claims lose the object as their owner, and keep others": {
			action: statefulcluster.OwnClaims{Pool: "db", Claims: []statefulcluster.Claim{{Name: "db-data-a", UID: "u", Version: 8}}},
			want:   []string{"PATCH persistentvolumeclaims/db-data-a"}, body: `"ownerReferences":[{"$patch":"delete","uid":"u"}],"resourceVersion":"8","uid":"u"}}`,
		},
		"the gate is removed from this very pod": {
			action: statefulcluster.CompletePod{Pool: "db", ID: "a", Pod: "db-a", UID: "uid-a"},
			want:   []string{"PATCH pods/db-a"}, body: `{"metadata":{"uid":"uid-a"},"spec":{"schedulingGates":[{"name":"lockstep.dev/claims","$patch":"delete"}]}}`,
		},
		"a revision whose name is taken, and that cannot be read, is not recorded under another name": {
			action: statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2},
			refuses: func(what string) int32 {
				return map[string]int32{"POST controllerrevisions": http.StatusPreconditionFailed, "GET controllerrevisions/db-abc": http.StatusInternalServerError}[what]
			},
			want: []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST controllerrevisions", "GET controllerrevisions/db-abc"}, fails: true,
		},
		"a revision that exists and lost its label gets it again": {
			action: statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2},
			refuses: func(what string) int32 {
				return map[string]int32{"POST controllerrevisions": http.StatusPreconditionFailed}[what]
			},
			answers: func(what string) any {
				if what != "GET controllerrevisions/db-abc" {
					return nil
				}
				return map[string]any{"kind": "ControllerRevision", "apiVersion": "apps/v1", "metadata": map[string]any{
					"name": "db-abc", "uid": "r", "resourceVersion": "9", "ownerReferences": []any{map[string]any{"uid": "u", "controller": true}},
				}}
			},
			want: []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST controllerrevisions", "GET controllerrevisions/db-abc", "PATCH controllerrevisions/db-abc"},
			body: `{"metadata":{"labels":{"lockstep.dev/statefulcluster":"db"},"resourceVersion":"9","uid":"r"}}`,
		},
		"a template becomes a revision once a dry run has accepted it": {
			action: statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2},
			want:   []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST controllerrevisions"}, body: `"revision":2`,
		},
		"a claim template that is refused makes none": {
			action: statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2}, claims: claimTemplates("data"),
			refuses: func(what string) int32 {
				return map[string]int32{"POST persistentvolumeclaims?dryRun=All&fieldManager=lockstep&fieldValidation=Strict": http.StatusUnprocessableEntity}[what]
			},
			want: []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST persistentvolumeclaims?dryRun=All&fieldManager=lockstep&fieldValidation=Strict"}, refused: []string{"abc: Invalid"},
		},
		"a template whose claims a quota refuses becomes one": {
			action: statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2}, claims: claimTemplates("data"),
			refuses: func(what string) int32 {
				return map[string]int32{"POST persistentvolumeclaims?dryRun=All&fieldManager=lockstep&fieldValidation=Strict": http.StatusForbidden}[what]
			},
			want: []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST persistentvolumeclaims?dryRun=All&fieldManager=lockstep&fieldValidation=Strict", "POST controllerrevisions"},
		},
		"a template that is refused becomes none": {
			action:  statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2},
			refuses: answering(http.StatusUnprocessableEntity),
			want:    []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict"}, refused: []string{"abc: Invalid"},
			body: `"annotations":{"lockstep.dev/handover-from":"u"}`,
		},
		"a dry run that a quota refuses fails": {
			action:  statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2},
			refuses: answering(http.StatusForbidden),
			want:    []string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Strict"}, fails: true,
		},
		"a revision is renumbered at the version that was evaluated": {
			action: statefulcluster.RenumberRevision{Pool: "db", Revision: revision, Number: 5},
			want:   []string{"PATCH controllerrevisions/db-1"}, body: `{"metadata":{"uid":"r","resourceVersion":"9"},"revision":5}`,
		},
		"a revision is deleted as it was evaluated": {
			action: statefulcluster.DeleteRevision{Pool: "db", Revision: revision},
			want:   []string{"DELETE controllerrevisions/db-1"}, body: `"preconditions":{"uid":"r","resourceVersion":"9"}`,
		},
		"a pod is released as it was evaluated": {
			action: statefulcluster.ReleasePod{Pool: "db", Pod: "db-0", UID: "uid-0", Version: 8},
			want:   []string{"PATCH pods/db-0"}, body: `{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"u"}],"resourceVersion":"8","uid":"uid-0"}}`,
		},
		"a pod is adopted as it was evaluated": {
			action: statefulcluster.AdoptPod{Pool: "db", ID: "0", Pod: "db-0", UID: "uid-0", Version: 8},
			want:   []string{"PATCH pods/db-0"},
			body: `{"metadata":{"labels":{"lockstep.dev/instance-id":"0","lockstep.dev/statefulcluster":"db"},"ownerReferences":[{"apiVersion":"lockstep.dev/v1alpha1",` +
				`"kind":"StatefulCluster","name":"db","uid":"u","controller":true}],"resourceVersion":"8","uid":"uid-0"}}`,
		},
		"orphans are looked for again if one has changed": {
			action:  statefulcluster.AdoptPod{Pool: "db", ID: "0", Pod: "db-0", UID: "uid-0", Version: 8},
			refuses: answering(http.StatusConflict), want: []string{"PATCH pods/db-0"}, compared: []string{"no orphans at 0001"}, fails: true,
		},
		"a claim is labelled as it was evaluated": {
			action: statefulcluster.LabelClaims{Pool: "db", ID: "0", Pod: "db-0", Siblings: []string{"data", "logs"}, Claims: []statefulcluster.UnlabelledClaim{{Name: "data-db-0", Template: "data", UID: "c", Version: 9}}},
			want:   []string{"PATCH persistentvolumeclaims/data-db-0"},
			body: `{"metadata":{"uid":"c","resourceVersion":"9","labels":{"lockstep.dev/claim":"data","lockstep.dev/instance-id":"0",` +
				`"lockstep.dev/pool-uid":"u","lockstep.dev/statefulcluster":"db"},"annotations":{"lockstep.dev/claim-templates":"data,logs"}}}`,
		},
		"the next pod of an adopted identity mounts its claim": {
			action: statefulcluster.HandOver{Pool: "db", ID: "0", From: "uid-0", Revision: "db-2", Templates: poolTemplates(), Claims: map[string]string{"data": "data-db-0"}},
			want:   []string{tryPod, newPod}, body: `"claimName":"data-db-0"`,
		},
		"revisions are compared by dry runs": {
			action:   statefulcluster.CompareRevisions{Pool: "db", Newest: statefulcluster.Revision{Name: "db-2"}, With: []statefulcluster.Revision{revision}},
			want:     slices.Repeat([]string{"POST pods?dryRun=All&fieldManager=lockstep&fieldValidation=Ignore"}, 3),
			compared: []string{"db-1 with db-2"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses, r.answers = tc.refuses, tc.answers
			passedOn := &checks{}
			r.Checks = passedOn
			seen := testPool()
			seen.Object.Claims = tc.claims
			_, err := r.Run(t.Context(), seen, []plan.Action{tc.action}, hold.Decision{DisruptBefore: time.Now().Add(time.Minute)})
			said := r.said()
			if len(said) > 1 && said[1] == tryPod { // it is sent together with the reads of claims
				said[0], said[1] = said[1], said[0]
			}
			if diff := cmp.Diff(tc.want, said); diff != "" || (err != nil) != tc.fails {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if last := since.ReplaceAllString(r.bodies[len(r.bodies)-1], "now"); !strings.Contains(last, tc.body) {
				t.Errorf("sent %s, want %s", last, tc.body)
			}
			if diff := cmp.Diff(checks{tc.refused, tc.compared}, *passedOn, cmp.AllowUnexported(checks{})); diff != "" {
				t.Errorf("passed on (-want +got):\n%s", diff)
			}
		})
	}
}

// since is the time in a body.
var since = regexp.MustCompile(`[-0-9]{10}T[:0-9]{8}(\.[0-9]+)?Z`)

func answering(code int32) func(string) int32 {
	return func(string) int32 { return code }
}

// A webhook adds another annotation to each pod, also in a dry run.
func TestRevisionsOfWhichAPartIsDrawnAreNotChangedInPlace(t *testing.T) {
	r := newRoom(t)
	drawn := 0
	r.answers = func(what string) any {
		drawn++
		return map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"annotations": map[string]any{"drawn": strconv.Itoa(drawn)}}, "spec": map[string]any{}}
	}
	passedOn := &comparisons{}
	r.Checks = passedOn
	compare := statefulcluster.CompareRevisions{Pool: "db", Newest: statefulcluster.Revision{Name: "db-2"}, With: []statefulcluster.Revision{{Name: "db-1", Templates: poolTemplates()}}}
	if _, err := r.Run(t.Context(), testPool(), []plan.Action{compare}, hold.Decision{}); err != nil {
		t.Fatal(err)
	}
	if len(*passedOn) != 1 || (*passedOn)[0].InPlace || (*passedOn)[0].Equal {
		t.Errorf("changed in place, or equal: %+v", *passedOn)
	}
}

type comparisons []statefulcluster.Change

func (*comparisons) LookUpService(context.Context, *statefulcluster.Snapshot, string) error {
	return nil
}

func (*comparisons) LookAtVolumes(context.Context, *statefulcluster.Snapshot, []string) error {
	return nil
}

func (*comparisons) GrowthRefused(plan.Key, string, statefulcluster.Storage, string) {}

func (*comparisons) ClaimTaken(plan.Key, statefulcluster.ID) {}

func (*comparisons) FoundOrphans(plan.Key, statefulcluster.Orphans) {}

func (*comparisons) Refused(plan.Key, string, string) {}

func (c *comparisons) Compared(_ plan.Key, _, _ string, change statefulcluster.Change) {
	*c = append(*c, change)
}

func TestVolumesAndServicesAreLookedAtByWhatReadsTheCluster(t *testing.T) {
	r, passedOn := newRoom(t), &checks{}
	r.Checks = passedOn
	looks := []plan.Action{statefulcluster.LookAtVolumes{Pods: []string{"db-a", "db-b"}}, statefulcluster.LookUpService{Service: "db"}}
	if _, err := r.Run(t.Context(), testPool(), looks, hold.Decision{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"volumes of db-a, db-b", "Service db"}, passedOn.compared); diff != "" || len(r.said()) > 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
}
