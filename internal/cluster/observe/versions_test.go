package observe

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// shelves answers lists of pods with a different version for each selector.
type shelves struct {
	*library
	versions map[string]string
}

func (s shelves) RoundTrip(q *http.Request) (*http.Response, error) {
	if _, resource, name := parse(q.URL.Path); resource == "pods" && name == "" {
		if version, known := s.versions[q.URL.Query().Get("labelSelector")]; known {
			list := map[string]any{"metadata": map[string]string{"resourceVersion": version}, "items": []any{}}
			return apitest.Answer(http.StatusOK, list), nil
		}
	}
	return s.library.RoundTrip(q)
}

// inRole lets a StatefulSet select its pods by another label than the others.
func inRole(s *appsv1.StatefulSet) {
	s.Spec.Selector.MatchLabels = map[string]string{"role": s.Name}
}

// The pods of zones with different selectors are listed one by one. If the live list of a zone is
// older than an intent, the intent is from before a restore (ADR 23), even if the lists of other
// zones are newer.
func TestAPodIsDeletedAccordingToTheListOfItsOwnZone(t *testing.T) {
	for sentence, tc := range map[string]struct {
		versions map[string]string
		want     plan.IntentStatus
	}{
		"the list of its zone is older than the intent, the first one": {map[string]string{"role=zone-a": "8", "set=zone-b": "12"}, plan.Obsolete},
		"the list of its zone is older than the intent, the last one":  {map[string]string{"role=zone-a": "12", "set=zone-b": "8"}, plan.Obsolete},
		"all lists are newer than the intent":                          {map[string]string{"role=zone-a": "12", "set=zone-b": "11"}, plan.Done},
	} {
		t.Run(sentence, func(t *testing.T) {
			gone := recordedIntent("zone-a", "zone-a-7") // beyond the replicas, with an intent at version 9
			server := shelves{newLibrary(newSet("zone-a", inRole), newSet("zone-b")), tc.versions}
			s, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true, Intents: []plan.Intent{gone}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.IntentStatus(gone); got != tc.want {
				t.Errorf("got %s at %d, want %s", got, s.PodsAt, tc.want)
			}
		})
	}
}

// A view that is older than the list of one zone must not show a state that this list has
// replaced, even if the view is newer than the lists of other zones.
func TestALiveReadSaysHowNewTheListOfEachZoneIs(t *testing.T) {
	server := shelves{newLibrary(newSet("zone-a", inRole), newSet("zone-b")), map[string]string{"role=zone-a": "12", "set=zone-b": "8"}}
	s, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []plan.Version{12, 8} {
		if z := s.Zones[i]; z.PodsAt != want {
			t.Errorf("the pods of %s are of version %d, want %d", z.Name, z.PodsAt, want)
		}
	}
}

// busy answers after a second. During a list of StatefulSets, another client creates a pod.
type busy struct {
	*library
	made *corev1.Pod
	once *sync.Once
}

func (b busy) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/statefulsets") {
		time.Sleep(time.Second)
		b.once.Do(func() { b.add(b.made) })
	}
	return b.library.RoundTrip(q)
}

// A downscale has ended once no pod beyond spec.replicas exists. A list of pods that is older
// than the StatefulSet does not show that.
func TestALiveReadUnderADownscaleShowsEveryPodThatItsZoneHadWhenItWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone := newSet("zone-a")
		server := busy{newLibrary(zone, newPod("zone-a", 0)), newPod("zone-a", 2), new(sync.Once)}
		o := newObserver(t, apitest.Client(t, server))
		show(o, zone) // so that the selector is known and pods are listed at the same time
		recordedIntent := group.Downscale{Zone: "zone-a", UID: string(zone.UID), Version: 6, From: 3, To: 2, Stage: group.Admitted}
		s, err := o.LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true, Holder: "downscale/zone-a"}, Part: group.Part{Downscale: recordedIntent}})
		if err != nil {
			t.Fatal(err)
		}
		if _, shown := s.Pod("zone-a-2"); !shown {
			t.Errorf("the pod beyond spec.replicas is not shown: %+v", s.Zones)
		}
	})
}

// hurried updates the caches while a snapshot is taken from them.
type hurried struct {
	*ledger
	meanwhile func()
}

func (h hurried) Scale(namespace string, r group.Reference) (group.Scale, bool) {
	h.meanwhile()
	return h.ledger.Scale(namespace, r)
}

// If a snapshot claimed a newer version than it shows, a pod that the cache does not show yet
// would count as deleted.
func TestASnapshotFromCachesIsNoNewerThanItsObjects(t *testing.T) {
	o := newObserver(t, unreachable)
	show(o, newSet("zone-a", mirrors("web")))
	show(o, newSet("zone-b", mirrors("web")))
	o.scales = hurried{&ledger{}, func() {
		for _, zone := range []string{"zone-a", "zone-b"} {
			show(o, newSet(zone, mirrors("web"), func(s *appsv1.StatefulSet) { s.ResourceVersion = "20" }))
			show(o, newPod(zone, 0, func(p *corev1.Pod) { p.ResourceVersion = "21" }))
		}
	}}
	s := o.Cached(store)
	pods := 0
	for _, z := range s.Zones {
		pods += len(z.Pods)
		if z.Version < 20 && s.ZonesAt >= 20 {
			t.Errorf("%s is shown at version %d in a snapshot at version %d", z.Name, z.Version, s.ZonesAt)
		}
	}
	if pods < 2 && s.PodsAt >= 21 {
		t.Errorf("%d of 2 pods are shown in a snapshot at version %d", pods, s.PodsAt)
	}
	if later := o.Cached(store); later.ZonesAt != 20 || later.PodsAt != 21 {
		t.Errorf("the caches are at versions %d and %d", later.ZonesAt, later.PodsAt)
	}
}
