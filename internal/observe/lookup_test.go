package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestAStatefulSetIsFoundByNameWhetherItHasAGroupOrNot(t *testing.T) {
	library := newLibrary()
	o := newObserver(t, library.client(t))
	show(o, newSet("grouped"))
	show(o, newSet("alone", func(s *appsv1.StatefulSet) {
		s.Labels = map[string]string{contract.NoDownscaleLabel: "true"}
	}))
	for name, want := range map[string]Set{
		"grouped": {UID: "uid-of-grouped", Version: 7},
		"alone":   {UID: "uid-of-alone", Version: 7, NoDownscale: true},
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
