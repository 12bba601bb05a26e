package observe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// anotherKind is a change to a pod: its controller is not a StatefulSet of apps/v1.
func anotherKind(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.example.org/v1", Kind: "StatefulSet", Name: "zone-a", UID: "u", Controller: new(true)}}
}

// formerSet is a change to a pod: its controller is a former StatefulSet of the same name.
func formerSet(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-of-the-former" }

func TestCachesAndLiveReadsCountTheSamePodsOfAFormerZone(t *testing.T) {
	for sentence, tc := range map[string]struct {
		objects []runtime.Object
		want    []string
	}{
		"deleted: pods of a former StatefulSet count":        {[]runtime.Object{newPod("zone-a", 0, made, formerSet), newPod("zone-a", 1, made)}, []string{"zone-a-0", "zone-a-1"}},
		"deleted: pods of another kind of controller do not": {[]runtime.Object{newPod("zone-a", 0, made, anotherKind)}, nil},
		"deleted: pods of another creator do not":            {[]runtime.Object{newPod("zone-a", 0), newPod("zone-a", 1, made)}, []string{"zone-a-1"}},
		"outside: pods of a former StatefulSet do not":       {[]runtime.Object{newSet("zone-a", ungrouped), newPod("zone-a", 0, made, formerSet), newPod("zone-a", 1, made)}, []string{"zone-a-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			cached, live := both(t, store, append(tc.objects, remembering())...)
			for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
				var pods []string
				for _, p := range s.FormerZones[0].Pods {
					pods = append(pods, p.Name)
				}
				if !slices.Equal(pods, tc.want) {
					t.Errorf("%s show the pods %q, want %q", from, pods, tc.want)
				}
			}
		})
	}
}

func TestAGroupIsEnqueuedForAnOrphanThatAnotherControllerAdopts(t *testing.T) {
	o := newObserver(t, newLibrary().client(t))
	showHold(o, remembering())
	var notified []plan.Key
	was, is := must(trimPod(orphan(0))), must(trimPod(newPod("zone-a", 0, made, anotherKind)))
	o.podEvents(func(key plan.Key) { notified = append(notified, key) }).OnUpdate(was, is)
	if !slices.Equal(notified, []plan.Key{store}) {
		t.Errorf("enqueued %v, want the group", notified)
	}
}
