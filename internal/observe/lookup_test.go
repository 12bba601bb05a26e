package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

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
		"grouped":  {UID: "uid-of-grouped", Version: 7, Held: true, Key: plan.Key{Namespace: "team", Group: "store"}},
		"alone":    {UID: "uid-of-alone", Version: 7, NoDownscale: true},
		"prepared": {UID: "uid-of-prepared", Version: 7, Held: true, Key: plan.Key{Namespace: "team", Group: "prepared", Alone: true}},
	} {
		got, known := o.Set("team", name)
		if diff := cmp.Diff(want, got); diff != "" || !known {
			t.Errorf("%s: known %t (-want +got):\n%s", name, known, diff)
		}
	}
	if got, known := o.Set("other", "alone"); known || got != (Set{}) {
		t.Errorf("in another namespace: got %v", got)
	}
	if asked := library.requests(); len(asked) > 0 {
		t.Errorf("requests %v, want none", asked)
	}
}
