package lease_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// backup returns a function that restores the current state of the API server.
func (a *apiServer) backup() (restore func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	version, kept := a.version, map[string]*coordinationv1.Lease{}
	for name, l := range a.leases {
		kept[name] = l.DeepCopy()
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.version, a.leases = version, kept
	}
}

func TestALiveReadThatIsOlderThanAKnownVersionShowsARestore(t *testing.T) {
	r := newRoom(t)
	r.write(held(""))
	restore := r.server.backup()
	for range 50 {
		r.write(held("rollout/zone-a", "zone-a-0"))
	}
	restore()
	r.catchUp()
	_, err := r.Read(t.Context(), store)
	restored, is := errors.AsType[*lease.RestoredError](err)
	if !is || restored.Shown != 101 || restored.Known != 151 {
		t.Fatalf("got %v, want that version 101 is shown and 151 was known", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := r.AwaitRestore(ctx); !errors.Is(err, restored) {
		t.Errorf("awaited %v, want %v", err, restored)
	}
}

func TestAWriteOverARestoredLeaseShowsTheRestore(t *testing.T) {
	r := newRoom(t)
	r.write(held(""))
	restore := r.server.backup()
	r.write(held("rollout/zone-a"))
	restore()
	if err := r.Write(t.Context(), store, r.over(held("")).Record()); err == nil || reason.ClassOf(err) == reason.Moved {
		t.Errorf("got %v, want an error that is no reason to write again", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := r.AwaitRestore(ctx); err == nil {
		t.Error("no restore is noticed")
	}
}

func TestNoOrdinaryReadShowsARestore(t *testing.T) {
	for sentence, happens := range map[string]func(*room){
		"a Lease that never was":                      func(*room) {},
		"a Lease that another client has written":     func(r *room) { r.write(held("")); r.elsewhere("rollout/zone-b") },
		"a Lease that the cache shows late":           func(r *room) { r.write(held("")); r.catchUp(); r.elsewhere("rollout/zone-b"); r.read() },
		"a Lease that was deleted":                    func(r *room) { r.write(held("")); r.deleted() },
		"a Lease that was deleted and recreated":      func(r *room) { r.write(held("")); r.deleted(); r.elsewhere("rollout/zone-b") },
		"a Lease that is written while it is read":    func(r *room) { r.write(held("")); r.writtenWhileRead() },
		"a Lease whose version is no number":          func(r *room) { r.write(held("")); r.unordered() },
		"a Lease that this process removed meanwhile": func(r *room) { r.write(held("")); _ = r.Remove(r.Context(), store, r.Cached(store)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			happens(r)
			r.read()
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if err := r.AwaitRestore(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// writtenWhileRead makes this process write the Lease between a read and its answer.
func (r *room) writtenWhileRead() {
	former := r.server.stored(stored)
	r.server.meddle(func(q *http.Request) *http.Response {
		if q.Method != http.MethodGet {
			return nil
		}
		r.server.meddle(nil)
		r.write(held("rollout/zone-a"))
		return apitest.Answer(http.StatusOK, former)
	})
}

// unordered gives the Lease a version that is not a number.
func (r *room) unordered() {
	former := r.server.stored(stored)
	former.ResourceVersion = "v1"
	r.server.meddle(func(*http.Request) *http.Response { return apitest.Answer(http.StatusOK, former) })
}

// A group may be idle for days, so a process without other reads still reads the version of the Leases.
func TestARestoreIsNoticedWithinAMinuteWithoutAnyWork(t *testing.T) {
	for sentence, tc := range map[string]struct {
		followed, listed int
		noticed          bool
	}{
		"the list is older than the watch":   {500, 499, true},
		"the list is as new as the watch":    {500, 500, false},
		"the list is newer than the watch":   {500, 501, false},
		"the watch has shown no version yet": {0, 499, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t)
				if tc.followed > 0 {
					r.following(tc.followed)
				}
				r.server.meddle(func(q *http.Request) *http.Response {
					if q.URL.Query().Get("limit") != "1" || !strings.HasSuffix(q.URL.Path, "/leases") {
						return apitest.Refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
					}
					return apitest.Answer(http.StatusOK, leasesAt(tc.listed))
				})
				ctx, stop := context.WithTimeout(t.Context(), time.Minute-time.Millisecond)
				defer stop()
				if err := r.AwaitRestore(ctx); (err != nil) != tc.noticed {
					t.Errorf("got %v, want that a restore is noticed: %t", err, tc.noticed)
				}
			})
		})
	}
}

// After the API server has returned, the versions of a busy cluster may soon exceed the versions that were
// known.
func TestARestoreIsNoticedAsSoonAsTheAPIServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.following(500)
		began := time.Now()
		r.server.meddle(func(*http.Request) *http.Response {
			away := time.Since(began)
			if away < 25*time.Second {
				return apitest.Refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
			}
			return apitest.Answer(http.StatusOK, leasesAt(480+int((away-25*time.Second)/(100*time.Millisecond))))
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := r.AwaitRestore(ctx); err == nil {
			t.Error("it is not noticed")
		}
	})
}

func leasesAt(version int) *coordinationv1.LeaseList {
	return &coordinationv1.LeaseList{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version)},
	}
}

// following makes the cache reach a version of its watch.
func (r *room) following(version int) {
	events := r.watching()
	bookmark := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
	bookmark.ResourceVersion = strconv.Itoa(version)
	events <- apitest.Event(watch.Bookmark, bookmark)
	synctest.Wait()
}

// An intent from before a restore may end only after all requests of that time have ended, so its age must be
// known.
func TestTheAgeOfAnIntentIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.write(held("rollout/zone-a", "zone-a-0"))
		r.Cached(store)
		time.Sleep(time.Minute)
		r.write(held("rollout/zone-a", "zone-a-0", "zone-a-1"))
		r.Cached(store)
		time.Sleep(10 * time.Second)
		var known []time.Duration
		for _, intent := range r.read().Intents {
			known = append(known, intent.Known)
		}
		if len(known) != 2 || known[0] != 70*time.Second || known[1] != 10*time.Second {
			t.Errorf("the intents are known for %v, want 70s and 10s", known)
		}
	})
}
