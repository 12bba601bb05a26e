package admission_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// sharing observes a group of two zones whose hold is in the holdStore.
type sharing struct {
	onlyGroup
	lease *holdStore
}

func (s sharing) Set(_, name string) (observe.Set, bool) {
	zone, exists := s.snapshot.Zone(name)
	return observe.Set{UID: zone.UID, Version: zone.Version, Held: exists, Key: s.snapshot.Key}, exists
}

func (s sharing) LiveSet(_ context.Context, namespace, name string) (observe.Set, error) {
	set, _ := s.Set(namespace, name)
	return set, nil
}

func (s sharing) Cached(key plan.Key) group.Snapshot {
	cached := s.onlyGroup.Cached(key)
	cached.Hold = group.HoldOf(s.lease.Cached(key))
	return cached
}

func (s sharing) Live(_ context.Context, key plan.Key) (group.Snapshot, error) {
	live := s.Cached(key)
	live.Live = true
	return live, nil
}

// replica is the webhook of one process with its own group locks.
func (s sharing) replica() http.Handler {
	return admission.New(admission.Options{Log: silent(), PrepareDownscale: &admission.PrepareDownscale{
		Observer: s, Holds: kept(s.lease), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}})
}

// of changes a review to another zone.
func of(zone group.Zone) (object func(*appsv1.StatefulSet), review func(*admissionv1.AdmissionReview)) {
	return func(s *appsv1.StatefulSet) { s.Name, s.UID = zone.Name, types.UID(zone.UID) }, func(r *admissionv1.AdmissionReview) { r.Request.Name = zone.Name }
}

func TestConcurrentDownscalesAreAdmittedInOneZone(t *testing.T) {
	for sentence, replicas := range map[string]int{"sent to one replica": 1, "sent to two replicas": 2} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				group := atRest()
				group.Zones[1].UID, group.Zones[1].Version = "uid-b", 7
				group.Hold.Exists, group.Hold.Version = true, 1
				lease := &holdStore{record: group.Hold, slow: func() { time.Sleep(time.Second) }}
				world := sharing{onlyGroup{group}, lease}
				webhooks := []http.Handler{world.replica(), world.replica()}
				answers := make(chan *admissionv1.AdmissionResponse, 2)
				for n, zone := range group.Zones {
					named, about := of(zone)
					body := update(t, set(3, named), set(2, named), about)
					go func() { answers <- answerTo(t, post(t, webhooks[n%replicas], preparePath, body)).Response }()
				}
				admitted := 0
				for range 2 {
					if a := <-answers; a.Allowed {
						admitted++
					} else if a.Result.Code != http.StatusTooManyRequests {
						t.Errorf("refused with %+v, want a refusal for now", a.Result)
					}
				}
				if admitted != 1 {
					t.Errorf("%d of two zones may be scaled down, want one", admitted)
				}
			})
		})
	}
}
