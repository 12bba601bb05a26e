package lease_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// watching runs the Store's informer and returns the channel of its watch events.
func (r *room) watching() chan<- metav1.WatchEvent {
	events := make(chan metav1.WatchEvent, 10)
	r.server.meddle(func(q *http.Request) *http.Response {
		switch {
		case q.Method != http.MethodGet || !strings.HasSuffix(q.URL.Path, "/leases"):
			return nil
		case q.URL.Query().Has("sendInitialEvents"): // makes the informer fall back to a list
			return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		case q.URL.Query().Has("watch"):
			return apitest.Watch(q.Context(), events, func() {})
		}
		return apitest.Answer(http.StatusOK, &coordinationv1.LeaseList{
			TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		})
	})
	ctx, stop := context.WithCancel(r.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Informer().RunWithContext(ctx) })
	r.Cleanup(func() { stop(); running.Wait() })
	return events
}

// A replica that does not lead reads groups too, and nothing calls its Forget.
func TestADeletedLeaseIsForgotten(t *testing.T) {
	gone := func(r *room) *coordinationv1.Lease {
		return r.server.change(stored, func(*coordinationv1.Lease) bool { return false })
	}
	for sentence, tc := range map[string]struct {
		happens func(*room) *coordinationv1.Lease // returns the last state of the deleted Lease
		kept    int
	}{
		"after it was read": {func(r *room) *coordinationv1.Lease { r.read(); return gone(r) }, 0},
		"after it was written": {func(r *room) *coordinationv1.Lease {
			r.write(withRollouts("rollout/zone-a"))
			r.Cached(store)
			return gone(r)
		}, 0},
		"although a live read did not find it": {func(r *room) *coordinationv1.Lease { last := gone(r); r.read(); return last }, 0},
		"a new Lease in its place is kept":     {func(r *room) *coordinationv1.Lease { last := gone(r); r.read(); r.write(held("")); return last }, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t)
				events := r.watching()
				r.write(held("rollout/zone-a"))
				events <- apitest.Event(watch.Added, r.server.stored(stored))
				synctest.Wait()
				events <- apitest.Event(watch.Deleted, tc.happens(r))
				time.Sleep(time.Second)
				synctest.Wait()
				if got := r.Remembered(); got != tc.kept {
					t.Errorf("something is kept of %d groups, want %d", got, tc.kept)
				}
			})
		})
	}
}

func TestNothingIsKeptOfAGroupThatNeverHadALease(t *testing.T) {
	r := newRoom(t)
	if r.read().Exists || r.Remembered() > 0 {
		t.Errorf("something is kept of %d groups", r.Remembered())
	}
}

// withRollouts returns a record with the maximum number of rollouts, of three zones.
func withRollouts(holder plan.Holder) group.Hold {
	record := held(holder)
	for n := range history.MaxFinished {
		group := plan.RolledGroup{Trace: fmt.Sprintf("00-%032x-%016x-01", n+1, n+1), Since: fixture.Now(), Until: fixture.Now(), Exported: true}
		for zone := range 3 {
			group.Zones = append(group.Zones, plan.RolledZone{
				Name: fmt.Sprintf("ingester-zone-%c", 'a'+zone), UID: fmt.Sprintf("0b8f3c1e-5a7d-4e43-9c53-%012d", zone),
				From: fmt.Sprintf("ingester-zone-%c-6d5f8c9b%02d", 'a'+zone, n), To: fmt.Sprintf("ingester-zone-%c-6d5f8c9b%02d", 'a'+zone, n+1),
				Budget: 2, Since: fixture.Now(), Until: fixture.Now(), Replaced: 12, Exported: true,
			})
		}
		record.Rollouts.Finished = append(record.Rollouts.Finished, group)
	}
	return record
}

// bytesForEach returns the memory in bytes for each of many groups whose cached Leases have this text.
func bytesForEach(tb testing.TB, groups int, text string) float64 {
	tb.Helper()
	s := lease.NewStore(newServer().client(tb), "", "replica-1")
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	for n := range groups {
		key := plan.Key{Namespace: "team", Name: fmt.Sprint("store-", n)}
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: hold.LeaseName(key), ResourceVersion: "1",
			Annotations: map[string]string{contract.NameAnnotation(plan.KindGroup): key.Name, contract.RolloutsAnnotation: text},
			Labels:      map[string]string{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)},
		}}
		wire, err := json.Marshal(l)
		if err != nil {
			tb.Fatal(err)
		}
		for range 2 { // an updated Lease
			came := &coordinationv1.Lease{}
			if err := json.Unmarshal(wire, came); err != nil {
				tb.Fatal(err)
			}
			if err := s.Informer().GetStore().Add(came); err != nil {
				tb.Fatal(err)
			}
			s.Cached(key)
		}
	}
	after := inUse()
	runtime.KeepAlive(s)
	return (float64(after) - float64(before)) / float64(groups)
}

// The limit for a group with many rollouts is the memory of three pods (docs/performance.md).
func TestAFullRecordOfRolloutsTakesLittleMemory(t *testing.T) {
	const groups, most = 300, 9_500
	text := record.FormatRollouts(withRollouts("").Rollouts)
	got := bytesForEach(t, groups, text) - bytesForEach(t, groups, "")
	t.Logf("%d bytes of text take %.0f bytes", len(text), got)
	if got > most {
		t.Errorf("%d bytes of text take %.0f bytes, want at most %d", len(text), got, most)
	}
}
