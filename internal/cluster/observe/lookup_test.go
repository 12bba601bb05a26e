package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestAStatefulSetIsFoundByNameWhetherItHasAGroupOrNot(t *testing.T) {
	library := newLibrary()
	o := newObserver(t, library.client(t))
	show(o, newSet("grouped"))
	show(o, newSet("alone", func(s *appsv1.StatefulSet) {
		s.Labels = map[string]string{contract.NoDownscaleLabel: "true"}
	}))
	show(o, newSet("prepared", func(s *appsv1.StatefulSet) {
		s.Labels = map[string]string{contract.PrepareDownscaleLabel: "true"}
	}))
	for name, want := range map[string]Set{
		"grouped":  {UID: "uid-of-grouped", Version: 7, Held: true, Key: plan.Key{Namespace: "team", Name: "store"}},
		"alone":    {UID: "uid-of-alone", Version: 7, NoDownscale: true},
		"prepared": {UID: "uid-of-prepared", Version: 7, Held: true, Key: plan.Key{Namespace: "team", Name: "prepared", Kind: plan.KindStatefulSet}},
	} {
		got, known := o.Set("team", name)
		if diff := cmp.Diff(want, got); diff != "" || !known {
			t.Errorf("%s: known %t (-want +got):\n%s", name, known, diff)
		}
	}
	if got, known := o.Set("other", "alone"); known || got != (Set{}) {
		t.Errorf("in another namespace: got %v", got)
	}
	if requested := library.requests(); len(requested) > 0 {
		t.Errorf("requests %v, want none", requested)
	}
}

// theSets shows the StatefulSets that requests about pods find.
func theSets(o *Observer) {
	show(o, newSet("grouped"))
	show(o, newSet("alone", ungrouped))
	show(o, newSet("prepared", func(s *appsv1.StatefulSet) {
		s.Labels = map[string]string{contract.PrepareDownscaleLabel: "true"}
	}))
	show(o, newSet("renewed", func(s *appsv1.StatefulSet) { s.UID = "second" }))
}

// thePods are pods, and the expected result for each.
var thePods = map[string]struct {
	pod  *corev1.Pod
	want Pod
}{
	"grouped-0":  {newPod("grouped", 0), Pod{UID: "uid-of-grouped-0", Version: 9, Up: true, Held: true, Key: plan.Key{Namespace: "team", Name: "store"}}},
	"grouped-1":  {newPod("grouped", 1, notReady()), Pod{UID: "uid-of-grouped-1", Version: 9, Held: true, Key: plan.Key{Namespace: "team", Name: "store"}}},
	"grouped-2":  {newPod("grouped", 2, terminating), Pod{UID: "uid-of-grouped-2", Version: 9, Terminating: true, Held: true, Key: plan.Key{Namespace: "team", Name: "store"}}},
	"grouped-3":  {newPod("grouped", 3, ownedBy()), Pod{UID: "uid-of-grouped-3", Version: 9, Up: true}},
	"alone-0":    {newPod("alone", 0), Pod{UID: "uid-of-alone-0", Version: 9, Up: true, Unclaimed: true}},
	"prepared-0": {newPod("prepared", 0), Pod{UID: "uid-of-prepared-0", Version: 9, Up: true, Unclaimed: true}},
	"unseen-0":   {newPod("unseen", 0), Pod{UID: "uid-of-unseen-0", Version: 9, Up: true, Unplaced: true}},
	"renewed-0":  {newPod("renewed", 0), Pod{UID: "uid-of-renewed-0", Version: 9, Up: true, Unplaced: true}},
}

func TestAPodIsFoundByNameWithTheGroupOfItsStatefulSet(t *testing.T) {
	library := newLibrary()
	o := newObserver(t, library.client(t))
	theSets(o)
	for name, tc := range thePods {
		show(o, tc.pod)
		got, known := o.Pod("team", name)
		if diff := cmp.Diff(tc.want, got); diff != "" || !known {
			t.Errorf("%s: known %t (-want +got):\n%s", name, known, diff)
		}
	}
	for _, nowhere := range [][2]string{{"other", "grouped-0"}, {"team", "grouped-9"}, {"team", ""}, {"", ""}} {
		if got, known := o.Pod(nowhere[0], nowhere[1]); known || got != (Pod{}) {
			t.Errorf("%s: got %v", nowhere, got)
		}
	}
	if requested := library.requests(); len(requested) > 0 {
		t.Errorf("requests %v, want none", requested)
	}
}

func TestALivePodIsReadByOneRequestIndependentOfTheCache(t *testing.T) {
	for name, tc := range thePods {
		library := newLibrary(tc.pod)
		o := newObserver(t, library.client(t))
		theSets(o)
		got, exists, err := o.LivePod(t.Context(), "team", name)
		if diff := cmp.Diff(tc.want, got); diff != "" || !exists || err != nil {
			t.Errorf("%s: exists %t, %v (-want +got):\n%s", name, exists, err, diff)
		}
		if diff := cmp.Diff([]string{"get team/pods " + name}, library.requests()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

func TestALivePodThatIsDeletedOrForbiddenIsNotReturned(t *testing.T) {
	library := newLibrary()
	o := newObserver(t, library.client(t))
	show(o, newPod("grouped", 0))
	if got, exists, err := o.LivePod(t.Context(), "team", "grouped-0"); got != (Pod{}) || exists || err != nil {
		t.Errorf("deleted: got %v, %t, %v", got, exists, err)
	}
	library.refuses = "get team/pods"
	got, exists, err := o.LivePod(t.Context(), "team", "grouped-0")
	if got != (Pod{}) || exists || !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "read pod team/grouped-0: ") {
		t.Errorf("forbidden: got %v, %t, %v", got, exists, err)
	}
}

func TestAPodThatKeepsAGroupWaitingIsReadByOneRequest(t *testing.T) {
	terminating := newPod("grouped", 0)
	terminating.UID, terminating.Finalizers, terminating.DeletionTimestamp = "uid-0", []string{"example.com/backup"}, new(metav1.Now())
	library := newLibrary(terminating)
	o := newObserver(t, library.client(t))
	facts, err := o.Diagnose(t.Context(), "team", plan.Pod{Name: "grouped-0", UID: "uid-0"})
	if err != nil || len(facts) != 1 || facts[0].About != diagnosis.Finalizer {
		t.Errorf("got %+v, %v", facts, err)
	}
	if diff := cmp.Diff([]string{"get team/pods grouped-0"}, library.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, other := range []plan.Pod{{Name: "grouped-0", UID: "former"}, {Name: "grouped-1", UID: "uid-1"}} {
		if facts, err := o.Diagnose(t.Context(), "team", other); facts != nil || err != nil {
			t.Errorf("of %s %s: got %+v, %v", other.Name, other.UID, facts, err)
		}
	}
	library.refuses = "get team/pods"
	if facts, err := o.Diagnose(t.Context(), "team", plan.Pod{Name: "grouped-0", UID: "uid-0"}); facts != nil || !apierrors.IsForbidden(err) {
		t.Errorf("forbidden: got %+v, %v", facts, err)
	}
}
