package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // the elector logs each lost Lease
	goleak.VerifyTestMain(m)
}

const stored = "team/lockstep-group-store"

var store = plan.Key{Namespace: "team", Name: "store"}

// held returns a record of this process. Its time has a precision that every format can represent.
func held(holder plan.Holder, pods ...string) group.Hold {
	h := group.Hold{Hold: plan.Hold{Own: true, Holder: holder, Renewed: fixture.Now(), Duration: hold.Duration}}
	for _, pod := range pods {
		h.Intents = append(h.Intents, fixture.IntentOf(pod))
	}
	return h
}

// room is a Store with its API server. Tests set the contents of its cache.
type room struct {
	*testing.T
	server *apiServer
	*lease.Store
}

func newRoom(t *testing.T) *room {
	t.Helper()
	server := newServer()
	return &room{t, server, lease.NewStore(server.client(t), "", "replica-1")}
}

// over returns the record with the UID and version of the Lease that the Store has now, so that it can
// replace that Lease.
func (r *room) over(record group.Hold) group.Hold {
	return replacing(group.HoldOf(r.Cached(store)), record)
}

func replacing(shown, record group.Hold) group.Hold {
	record.UID, record.Version = shown.UID, shown.Version
	return record
}

// sameLease ignores the UID and version of the Lease from which a record was read.
var sameLease = cmpopts.IgnoreFields(group.Hold{}, "UID", "Version")

func (r *room) write(record group.Hold) {
	r.Helper()
	if err := r.Write(r.Context(), store, r.over(record).Record()); err != nil {
		r.Fatal(err)
	}
}

func (r *room) read() group.Hold {
	r.Helper()
	h, err := r.Read(r.Context(), store)
	if err != nil {
		r.Fatal(err)
	}
	return group.HoldOf(h)
}

// show puts a Lease into the cache.
func (r *room) show(l *coordinationv1.Lease) {
	r.Helper()
	if err := r.Informer().GetStore().Add(l); err != nil {
		r.Fatal(err)
	}
}

// catchUp updates the cache from the API server.
func (r *room) catchUp() {
	r.Helper()
	if l := r.server.stored(stored); l != nil {
		r.show(l)
		return
	}
	if err := r.Informer().GetStore().Delete(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lockstep-group-store"}}); err != nil {
		r.Fatal(err)
	}
}

// elsewhere makes another client write the holder.
func (r *room) elsewhere(holder string) *coordinationv1.Lease {
	return r.server.change(stored, func(l *coordinationv1.Lease) bool {
		l.Spec.HolderIdentity = &holder
		return true
	})
}

func (r *room) deleted() {
	r.server.change(stored, func(*coordinationv1.Lease) bool { return false })
}

func TestTheNewestOfOwnReplyAndCacheIsShown(t *testing.T) {
	const nothing = "no Lease"
	for sentence, tc := range map[string]struct {
		happens func(*room)
		want    string
	}{
		"a group that was never held has no Lease": {
			func(*room) {}, nothing,
		},
		"a write is known before the cache shows it": {
			func(r *room) { r.write(held("rollout/zone-a")) }, "own rollout/zone-a",
		},
		"an older cache does not hide a write": {
			func(r *room) {
				old := r.elsewhere("rollout/zone-b")
				r.show(old)
				r.write(held("rollout/zone-a"))
				r.show(old)
			}, "own rollout/zone-a",
		},
		"a write that the cache shows stays this process's own": {
			func(r *room) { r.write(held("rollout/zone-a")); r.catchUp() }, "own rollout/zone-a",
		},
		"a newer cache wins, and is not this process's own": {
			func(r *room) { r.write(held("rollout/zone-a")); r.show(r.elsewhere("eviction/zone-b")) }, "eviction/zone-b",
		},
		"an equal write of another client is not this process's own": {
			func(r *room) { r.write(held("rollout/zone-a")); r.show(r.elsewhere("rollout/zone-a")) }, "rollout/zone-a",
		},
		"a record of this process stays its own after a live read": {
			func(r *room) { r.write(held("rollout/zone-a")); r.read() }, "own rollout/zone-a",
		},
		"a live read that was answered before a write does not hide the write": {
			func(r *room) {
				r.write(held("rollout/zone-b"))
				r.server.meddle(func(q *http.Request) *http.Response {
					if q.Method != http.MethodGet {
						return nil
					}
					late := apitest.Answer(http.StatusOK, r.server.stored(stored))
					r.write(held("rollout/zone-a"))
					return late
				})
				r.read()
			}, "own rollout/zone-a",
		},
		"a live read that found no Lease does not hide a Lease that was written meanwhile": {
			func(r *room) {
				r.server.meddle(func(q *http.Request) *http.Response {
					if q.Method != http.MethodGet {
						return nil
					}
					r.server.meddle(nil)
					r.write(held("rollout/zone-a"))
					return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
				})
				if r.read().Exists {
					r.Error("the live read has found it")
				}
			}, "own rollout/zone-a",
		},
		"a live read shows the record of another client before the cache does": {
			func(r *room) { r.write(held("rollout/zone-a")); r.elsewhere("eviction/zone-b"); r.read() }, "eviction/zone-b",
		},
		"a live read of a missing Lease hides a cache that still shows it": {
			func(r *room) { r.show(r.elsewhere("rollout/zone-b")); r.deleted(); r.read() }, nothing,
		},
		"a removed Lease is missing although the cache still shows it": {
			func(r *room) {
				r.write(held(""))
				r.catchUp()
				if err := r.Remove(r.Context(), store, r.Cached(store)); err != nil {
					r.Fatal(err)
				}
			}, nothing,
		},
		"after a removal, the cache shows the new Lease of another client": {
			func(r *room) {
				r.write(held(""))
				if err := r.Remove(r.Context(), store, r.Cached(store)); err != nil {
					r.Fatal(err)
				}
				r.show(r.elsewhere("eviction/zone-b"))
			}, "eviction/zone-b",
		},
		"a Lease that another client recreated is the new Lease": {
			func(r *room) {
				r.write(held("rollout/zone-a"))
				r.deleted()
				r.show(r.elsewhere("eviction/zone-b"))
			}, "eviction/zone-b",
		},
		"a Lease that another client deleted is missing once the cache is newer": {
			func(r *room) {
				r.write(held("rollout/zone-a"))
				r.deleted()
				r.show(r.server.change("team/lockstep-group-other", func(*coordinationv1.Lease) bool { return true }))
			}, nothing,
		},
		"a cache that is not newer does not show that a Lease is missing": {
			func(r *room) {
				other := r.server.change("team/lockstep-group-other", func(*coordinationv1.Lease) bool { return true })
				r.write(held("rollout/zone-a"))
				r.show(other)
			}, "own rollout/zone-a",
		},
		"a Lease that no watch shows is known during a live read only": {
			func(r *room) {
				r.server.change(stored, func(l *coordinationv1.Lease) bool { l.Labels = nil; return true })
				if h := r.read(); !h.Exists {
					r.Error("the live read does not show it")
				}
			}, nothing,
		},
		"a forgotten record is read from the cache": {
			func(r *room) {
				r.show(r.elsewhere("rollout/zone-b"))
				r.write(held("rollout/zone-a"))
				r.Forget(store)
			}, "rollout/zone-b",
		},
		"a record that was not read live stays another process's": {
			func(r *room) {
				record := held("rollout/zone-a")
				record.Own = false // a renewal of an inherited hold
				r.write(record)
			}, "rollout/zone-a",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			tc.happens(r)
			got := nothing
			if h := r.Cached(store); h.Exists {
				got = string(h.Holder)
				if h.Own {
					got = "own " + got
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryWriteNamesTheLeaseThatItReplaces(t *testing.T) {
	r := newRoom(t)
	r.write(held("rollout/zone-a", "zone-a-0"))
	if created := r.server.last(http.MethodPost).lease; created == nil || created.ResourceVersion != "" || created.UID != "" {
		t.Errorf("the missing Lease was not created without preconditions: %+v", created)
	}
	for range 2 {
		before := r.server.stored(stored)
		r.write(held("rollout/zone-a"))
		sent := r.server.last(http.MethodPut).lease
		if sent.UID != before.UID || sent.ResourceVersion != before.ResourceVersion {
			t.Errorf("replaced %s at %s, want %s at %s", sent.UID, sent.ResourceVersion, before.UID, before.ResourceVersion)
		}
	}
	before := r.server.stored(stored)
	if err := r.Remove(t.Context(), store, r.Cached(store)); err != nil {
		t.Fatal(err)
	}
	want := &metav1.Preconditions{UID: &before.UID, ResourceVersion: &before.ResourceVersion}
	if diff := cmp.Diff(want, r.server.last(http.MethodDelete).delete.Preconditions); diff != "" {
		t.Errorf("removal (-want +got):\n%s", diff)
	}
}

func TestALeaseGetsItsLabelBackAndStaysAsItIs(t *testing.T) {
	r := newRoom(t)
	r.write(held("rollout/zone-a", "zone-a-0"))
	was := r.server.change(stored, func(l *coordinationv1.Lease) bool {
		delete(l.Labels, contract.HoldLabel)
		l.Annotations[contract.IntentsAnnotation] = "damaged"
		return true
	})
	found := r.read()
	if !found.Unlabelled || found.Unreadable == "" {
		t.Fatalf("read %+v, want a record without its label that cannot be read", found)
	}
	if err := r.Label(t.Context(), store, found.Record()); err != nil {
		t.Fatal(err)
	}
	if shown := r.Cached(store); !shown.Exists || shown.Unlabelled {
		t.Errorf("the Store shows %+v, want the Lease with its label", shown)
	}
	is := r.server.stored(stored)
	if is.Labels[contract.HoldLabel] != contract.HoldLabelOf(plan.KindGroup) {
		t.Errorf("labels %v", is.Labels)
	}
	is.Labels, is.ResourceVersion = was.Labels, was.ResourceVersion
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("more than the label changed (-was +is):\n%s", diff)
	}
	r.elsewhere("rollout/zone-b")
	if err := r.Label(t.Context(), store, found.Record()); reason.ClassOf(err) != reason.Moved {
		t.Errorf("a Lease with a newer version: got %v, want an error of class Moved", err)
	}
}

// The watch does not show a Lease without the label, whether or not the Lease exists.
func TestALeaseWithoutItsLabelIsNotDeletedOnceTheCacheIsPastIt(t *testing.T) {
	r := newRoom(t)
	r.server.change(stored, func(l *coordinationv1.Lease) bool { l.Labels = nil; return true })
	found := r.read()
	r.show(r.server.change("team/lockstep-group-other", func(*coordinationv1.Lease) bool { return true }))
	if err := r.Label(t.Context(), store, found.Record()); err != nil {
		t.Errorf("the Lease does not get its label back: %v", err)
	}
}

// A user may have set the count manually.
func TestAHoldWithTheMaximumNumberOfTransitionsIsTaken(t *testing.T) {
	r := newRoom(t)
	r.server.change(stored, func(l *coordinationv1.Lease) bool {
		l.Spec.LeaseTransitions = new(int32(math.MaxInt32))
		return true
	})
	record := held("rollout/zone-a")
	record.Transitions = r.read().Transitions + 1
	r.write(record)
	if got := *r.server.stored(stored).Spec.LeaseTransitions; got != math.MaxInt32 {
		t.Errorf("it is written as %d", got)
	}
}

func TestARefusedWriteIsFollowedByALiveRead(t *testing.T) {
	for sentence, tc := range map[string]struct {
		happens func(*room) // between the last read and the write
		want    string      // the holder that the Store knows afterwards
	}{
		"another client wrote in between": {
			func(r *room) { r.write(held("")); r.elsewhere("eviction/zone-b") }, "eviction/zone-b",
		},
		"another client created the Lease in between": {
			func(r *room) { r.elsewhere("eviction/zone-b") }, "eviction/zone-b",
		},
		"another client deleted the Lease in between": {
			func(r *room) { r.write(held("")); r.deleted() }, "",
		},
		"another client recreated the Lease": {
			func(r *room) { r.write(held("")); r.deleted(); r.elsewhere("eviction/zone-b") }, "eviction/zone-b",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			tc.happens(r)
			theirs := r.server.stored(stored)
			err := r.Write(t.Context(), store, r.over(held("rollout/zone-a", "zone-a-0")).Record())
			if err == nil || reason.ClassOf(err) != reason.Moved {
				t.Fatalf("got %v of class %v, want one of class moved", err, reason.ClassOf(err))
			}
			if diff := cmp.Diff(theirs, r.server.stored(stored)); diff != "" {
				t.Errorf("the Lease was changed (-before +after):\n%s", diff)
			}
			got := r.Cached(store)
			if string(got.Holder) != tc.want || got.Own || len(got.Intents) != 0 {
				t.Errorf("got %+v, want the write of the other client: %q", got, tc.want)
			}
			if err := r.Write(t.Context(), store, r.over(held("rollout/zone-a")).Record()); err != nil {
				t.Errorf("the next write, after the live read: %v", err)
			}
		})
	}
}

func TestAWriteWithoutAnswerIsTriedAgain(t *testing.T) {
	for sentence, carriedOut := range map[string]bool{
		"the server carried it out":    true,
		"the server never received it": false,
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t)
				r.write(held(""))
				r.server.meddle(func(q *http.Request) *http.Response {
					if q.Method == http.MethodPut {
						if carriedOut {
							r.elsewhere("rollout/zone-a")
						}
						<-q.Context().Done()
					}
					return nil
				})
				ctx, stop := context.WithTimeout(t.Context(), hold.RequestTimeout)
				defer stop()
				began := time.Now()
				err := r.Write(ctx, store, r.over(held("rollout/zone-a", "zone-a-0")).Record())
				if err == nil || reason.ClassOf(err) != reason.Again || time.Since(began) != hold.RequestTimeout {
					t.Errorf("got %v of class %v after %s", err, reason.ClassOf(err), time.Since(began))
				}
				if h := r.Cached(store); len(h.Intents) != 0 {
					t.Errorf("an intent is known that no answer has confirmed: %+v", h)
				}
				r.server.meddle(nil)
				if h := r.read(); carriedOut && h.Own {
					t.Errorf("a record without an answer counts as this process's own: %+v", h)
				}
			})
		})
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	for sentence, tc := range map[string]struct {
		code int32
		why  metav1.StatusReason
		want reason.Class
	}{
		"a conflict is of class moved":        {http.StatusConflict, metav1.StatusReasonConflict, reason.Moved},
		"an overloaded server is tried again": {http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, reason.Again},
		"a lack of permission is tried again": {http.StatusForbidden, metav1.StatusReasonForbidden, reason.Again},
		"an invalid Lease is tried again":     {http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, reason.Again},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.write(held(""))
			r.server.meddle(func(q *http.Request) *http.Response {
				if q.Method == http.MethodGet {
					return nil
				}
				return refusal(tc.code, tc.why)
			})
			for what, err := range map[string]error{
				"write":  r.Write(t.Context(), store, r.over(held("rollout/zone-a")).Record()),
				"remove": r.Remove(t.Context(), store, r.Cached(store)),
			} {
				if err == nil || reason.ClassOf(err) != tc.want {
					t.Errorf("%s: got %v of class %v, want class %v", what, err, reason.ClassOf(err), tc.want)
				}
			}
			if h := r.Cached(store); !h.Exists || !h.Own {
				t.Errorf("the refused writes changed what is known: %+v", h)
			}
		})
	}
	t.Run("a live read that fails names the group", func(t *testing.T) {
		r := newRoom(t)
		r.server.meddle(func(*http.Request) *http.Response {
			return refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		})
		_, err := r.Read(t.Context(), store)
		if want := "read hold of team/store: Forbidden"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestOnlyTheLeaseThatWasReadIsRemoved(t *testing.T) {
	t.Run("a Lease that another client wrote since stays", func(t *testing.T) {
		r := newRoom(t)
		r.write(held(""))
		r.elsewhere("eviction/zone-b")
		if err := r.Remove(t.Context(), store, r.Cached(store)); reason.ClassOf(err) != reason.Moved || err == nil {
			t.Errorf("got %v, want an error of class moved", err)
		}
		if r.server.stored(stored) == nil {
			t.Error("the Lease of another client is gone")
		}
	})
	t.Run("a Lease that is gone is removed", func(t *testing.T) {
		r := newRoom(t)
		r.write(held(""))
		r.deleted()
		if err := r.Remove(t.Context(), store, r.Cached(store)); err != nil || r.Cached(store).Exists {
			t.Errorf("got %v and %+v", err, r.Cached(store))
		}
	})
	t.Run("without a known Lease, no request is sent", func(t *testing.T) {
		r := newRoom(t)
		if err := r.Remove(t.Context(), store, r.Cached(store)); err != nil || len(r.server.sent()) != 0 {
			t.Errorf("got %v and requests %v", err, r.server.sent())
		}
	})
}

func TestDataOfOtherClientsStaysOnTheLease(t *testing.T) {
	r := newRoom(t)
	preferred, strategy := "another", coordinationv1.OldestEmulationVersion
	before := r.server.change(stored, func(l *coordinationv1.Lease) bool {
		l.Labels = map[string]string{"team": "red"}
		l.Annotations = map[string]string{"note": "keep me", contract.TraceAnnotation: "old", contract.IntentsAnnotation: "old", contract.NameAnnotation(plan.KindStatefulSet): "another"}
		l.Finalizers = []string{"example.com/keep"}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}}
		l.Spec.PreferredHolder, l.Spec.Strategy = &preferred, &strategy
		return true
	})
	if err := r.Write(t.Context(), store, replacing(r.read(), held("rollout/zone-a", "zone-a-0")).Record()); err != nil {
		t.Fatal(err)
	}

	want := before.DeepCopy()
	want.Labels[contract.HoldLabel] = contract.HoldLabelOf(plan.KindGroup)
	want.Annotations = map[string]string{
		"note": "keep me", contract.NameAnnotation(plan.KindGroup): "store", contract.ActorAnnotation: "replica-1",
		contract.IntentsAnnotation: record.FormatIntents([]plan.Intent{fixture.IntentOf("zone-a-0")}, nil),
	}
	at := metav1.NewMicroTime(fixture.Now())
	want.Spec.HolderIdentity, want.Spec.LeaseDurationSeconds = new("rollout/zone-a"), new(int32(60))
	want.Spec.LeaseTransitions, want.Spec.RenewTime, want.Spec.AcquireTime = new(int32(0)), &at, &at
	if diff := cmp.Diff(want, r.server.stored(stored), cmpopts.IgnoreTypes(metav1.TypeMeta{}), cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	r.write(held(""))
	freed := r.server.stored(stored)
	if _, still := freed.Annotations[contract.IntentsAnnotation]; still || freed.Annotations["note"] == "" || *freed.Spec.HolderIdentity != "" {
		t.Errorf("a free hold without intents reads %+v", freed)
	}
	if !freed.Spec.AcquireTime.Equal(&at) {
		t.Errorf("the release changed the time of acquisition: %s", freed.Spec.AcquireTime)
	}
}

// A record is the same after a round trip through the API server, except for fractions of a microsecond (of a
// millisecond in intents), which the formats cannot represent.
func TestRecordsSurviveTheWayToTheServerAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		record := draw.Legal().Draw(rt, "group").Hold
		record.Own, record.Exists, record.Unreadable = true, true, ""
		if !record.Holder.Free() {
			record.Since = record.Renewed // this write makes its holder take it
		}
		record.Trace = rapid.SampledFrom([]string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}).Draw(rt, "trace")
		record.Duration = record.Duration.Truncate(time.Second)
		key := plan.Key{Namespace: "team", Name: rapid.SampledFrom([]string{"store", "", "Store_1", "äöü", "a..b"}).Draw(rt, "name")}
		server := newServer()
		writer := lease.NewStore(server.client(t), "", "replica-1")
		if err := writer.Write(t.Context(), key, record.Record()); err != nil {
			rt.Fatal(err)
		}
		other := lease.NewStore(server.client(t), "", "replica-2")
		read, err := other.Read(t.Context(), key)
		if err != nil {
			rt.Fatal(err)
		}
		inherited := record
		inherited.Own = false
		same := []cmp.Option{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Millisecond), sameLease, cmpopts.IgnoreFields(plan.Intent{}, "Known")}
		if diff := cmp.Diff(inherited, group.HoldOf(read), same...); diff != "" {
			rt.Errorf("read by another process (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(record, group.HoldOf(writer.Cached(key)), same...); diff != "" {
			rt.Errorf("known to the writer (-want +got):\n%s", diff)
		}
		if writer.Busy(key) != (!record.Holder.Free() || len(record.Intents) > 0) {
			rt.Errorf("busy is %t for %+v", writer.Busy(key), record)
		}
	})
}

func TestReadingLeasesOfOtherClients(t *testing.T) {
	for sentence, tc := range map[string]struct {
		write func(*coordinationv1.Lease)
		want  group.Hold
	}{
		"an empty Lease is free": {func(*coordinationv1.Lease) {}, group.Hold{Hold: plan.Hold{Exists: true}}},
		"a holder from outside stays the holder": {
			func(l *coordinationv1.Lease) {
				l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = new("manual/maintenance"), new(int32(3600))
			},
			group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance", Duration: time.Hour}},
		},
		"damaged intents make the hold unreadable": {
			func(l *coordinationv1.Lease) {
				l.Annotations = map[string]string{contract.IntentsAnnotation: `{"version":2}`}
			},
			group.Hold{Hold: plan.Hold{Exists: true, Unreadable: "read intents: version 2, this build knows version 1 only"}},
		},
		"damaged times of downscales make the hold unreadable": {
			func(l *coordinationv1.Lease) {
				l.Annotations = map[string]string{contract.DownscalesAnnotation: `{"zone-a":1}`}
			},
			group.Hold{Hold: plan.Hold{Exists: true, Unreadable: "read times of downscales: Time.UnmarshalJSON: input is not a JSON string"}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.show(r.server.change(stored, func(l *coordinationv1.Lease) bool { tc.write(l); return true }))
			for where, got := range map[string]group.Hold{"cache": group.HoldOf(r.Cached(store)), "live read": r.read()} {
				if diff := cmp.Diff(tc.want, got, sameLease); diff != "" {
					t.Errorf("%s (-want +got):\n%s", where, diff)
				}
			}
		})
	}
}

func TestKeyOf(t *testing.T) {
	const dns = "store"
	for sentence, tc := range map[string]struct {
		name  string
		group map[string]string
		want  plan.Key
		ok    bool
	}{
		"a readable name":               {hold.LeaseName(plan.Key{Name: dns}), map[string]string{contract.NameAnnotation(plan.KindGroup): dns}, store, true},
		"a hashed name":                 {hold.LeaseName(plan.Key{Name: "Größe"}), map[string]string{contract.NameAnnotation(plan.KindGroup): "Größe"}, plan.Key{Namespace: "team", Name: "Größe"}, true},
		"the group without a name":      {hold.LeaseName(plan.Key{Name: ""}), map[string]string{contract.NameAnnotation(plan.KindGroup): ""}, plan.Key{Namespace: "team"}, true},
		"a StatefulSet without a group": {"lockstep-statefulset-" + dns, map[string]string{contract.NameAnnotation(plan.KindStatefulSet): dns}, plan.Key{Namespace: "team", Name: dns, Kind: plan.KindStatefulSet}, true},
		"the Lease name of a group with the name annotation of a StatefulSet": {"lockstep-group-" + dns, map[string]string{contract.NameAnnotation(plan.KindStatefulSet): dns}, plan.Key{}, false},
		"a name of another group":          {hold.LeaseName(plan.Key{Name: "other"}), map[string]string{contract.NameAnnotation(plan.KindGroup): dns}, plan.Key{}, false},
		"a readable name without a group":  {hold.LeaseName(plan.Key{Name: dns}), nil, plan.Key{}, false},
		"a Lease that is none of lockstep": {"kube-scheduler", nil, plan.Key{}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, ok := lease.KeyOf(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: tc.name, Annotations: tc.group}})
			if ok != tc.ok || (ok && got != tc.want) {
				t.Errorf("got %v, %t, want %v, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestGroupsDoNotShareAHold(t *testing.T) {
	r := newRoom(t)
	groups := []plan.Key{store, {Namespace: "team"}, {Namespace: "other", Name: "store"}, {Namespace: "team", Name: "STORE"}, {Namespace: "team", Name: "store/"}}
	var writers sync.WaitGroup
	for i, key := range groups {
		writers.Go(func() {
			for range 5 {
				if err := r.Write(t.Context(), key, replacing(group.HoldOf(r.Cached(key)), held(plan.RolloutOperation.For(fmt.Sprint("zone-", i)))).Record()); err != nil {
					t.Error(err)
				}
				r.Cached(key)
				r.Busy(key)
			}
		})
	}
	writers.Wait()
	for i, key := range groups {
		if got, want := r.Cached(key).Holder, plan.RolloutOperation.For(fmt.Sprint("zone-", i)); got != want {
			t.Errorf("%v: got %s, want %s", key, got, want)
		}
	}
	if sent := r.server.sent(); len(sent) != 5*len(groups) || slices.Contains(sent, http.MethodGet) {
		t.Errorf("want one request for each write and no read, got %v", sent)
	}
}

func TestTheStoreWatchesHoldsOnly(t *testing.T) {
	for want, further := range map[string][]plan.Kind{
		"lockstep.dev/hold=group":                      nil, // a kind that is not enabled costs no watch
		"lockstep.dev/hold in (group,statefulcluster)": {plan.KindStatefulCluster},
	} {
		if got := firstRequestOfStore(t, further...); got != "/apis/coordination.k8s.io/v1/namespaces/team/leases "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// firstRequestOfStore returns the path and the selector of the first request of a Store.
func firstRequestOfStore(t *testing.T, further ...plan.Kind) string {
	t.Helper()
	server, requested := newServer(), make(chan string, 1)
	server.meddle(func(q *http.Request) *http.Response {
		select {
		case requested <- q.URL.Path + " " + q.URL.Query().Get("labelSelector"):
		default: // the first request is enough
		}
		<-q.Context().Done()
		return refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	})
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		lease.NewStore(server.client(t), "team", "replica-1", further...).Informer().RunWithContext(ctx)
	})
	got := <-requested
	stop()
	watching.Wait()
	return got
}

// The decision used the record that Cached or Read returned. If the cache changes after that, the write must
// fail and must not use the new Lease as its base.
func TestAWriteDoesNotOverwriteALeaseThatChangedAfterTheDecision(t *testing.T) {
	for sentence, decide := range map[string]func(*room) group.Hold{
		"the Lease was known":     func(r *room) group.Hold { r.write(held("")); return group.HoldOf(r.Cached(store)) },
		"there was no Lease":      func(r *room) group.Hold { return group.HoldOf(r.Cached(store)) },
		"the Lease was read live": func(r *room) group.Hold { return r.read() },
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			shown := decide(r)
			theirs := r.server.change(stored, func(l *coordinationv1.Lease) bool {
				l.Spec.HolderIdentity = new("rollout/zone-b")
				l.Annotations = map[string]string{contract.IntentsAnnotation: record.FormatIntents([]plan.Intent{fixture.IntentOf("zone-b-0")}, nil)}
				return true
			})
			r.show(theirs) // a watch event arrives between the decision and the write
			err := r.Write(t.Context(), store, replacing(shown, held("rollout/zone-a", "zone-a-0")).Record())
			if reason.ClassOf(err) != reason.Moved || err == nil {
				t.Errorf("got %v, want an error of class moved", err)
			}
			if got := *r.server.stored(stored).Spec.HolderIdentity; got != "rollout/zone-b" {
				t.Errorf("the other process's hold and intent were overwritten by %s", got)
			}
		})
	}
	t.Run("a removal", func(t *testing.T) {
		r := newRoom(t)
		r.write(held(""))
		shown := r.Cached(store) // free, so it is to be removed
		r.show(r.elsewhere("eviction/zone-b"))
		if err := r.Remove(t.Context(), store, shown); reason.ClassOf(err) != reason.Moved || err == nil {
			t.Errorf("got %v, want an error of class moved", err)
		}
		if r.server.stored(stored) == nil {
			t.Error("a Lease that is held was deleted")
		}
	})
}

// A client that may write Leases in a namespace must not be able to make lockstep call an address that no
// annotation could specify.
func TestARecordThatWasDecidedOnAnotherLeaseIsNotWritten(t *testing.T) {
	r := newRoom(t)
	r.write(held("rollout/zone-a"))
	record := r.over(held("rollout/zone-b"))
	record.UID = "former"
	if err := r.Write(t.Context(), store, record.Record()); reason.ClassOf(err) != reason.Moved {
		t.Errorf("got %v, want one of class moved", err)
	}
	if got := *r.server.stored(stored).Spec.HolderIdentity; got != "rollout/zone-a" {
		t.Errorf("%s has the hold", got)
	}
}

func TestAHoldThatRecordsAnImpossibleCallIsRespectedAndNotRead(t *testing.T) {
	for call, readable := range map[string]bool{
		`{"port":80,"path":"/x?y=z","service":"s"}`:        true,
		`{"port":0,"path":"/x","service":"s"}`:             false,
		`{"port":80,"path":"x","service":"s"}`:             false,
		`{"port":80,"path":"//host/x","service":"s"}`:      false,
		`{"port":80,"path":"/x\r\nHost: y","service":"s"}`: false,
		`{"port":80,"path":"/x@host","service":"s"}`:       false,
		`{"port":80,"path":"/a/../b?c=d","service":"s"}`:   false,
		`{"port":80,"path":"","service":"s"}`:              false,
		`{"port":70000,"path":"/x","service":"s"}`:         false,
	} {
		r := newRoom(t)
		r.server.change(stored, func(l *coordinationv1.Lease) bool {
			l.Annotations = map[string]string{contract.IntentsAnnotation: `{"version":1,"decrease":{"zone":"z","uid":"u","resourceVersion":"1","from":2,"to":1,` +
				`"stage":"undoing","since":"2026-01-05T12:00:00Z","call":` + call + `}}`,
				contract.AcknowledgedAnnotation: `{"z":{"call":` + call + `,"pods":[{"from":1,"to":2,"pods":"abcdef","since":"2026-01-05T12:00:00Z"}]}}`}
			return true
		})
		if got := r.read(); (got.Unreadable == "") != readable {
			t.Errorf("%s: unreadable because %q", call, got.Unreadable)
		} else if len(got.Acknowledged) > 0 != readable {
			t.Errorf("%s: recorded acknowledgements %v", call, got.Acknowledged)
		}
	}
}

// The API server rejects a duration of zero.
func TestAHoldWithoutAnExpiryStaysUnchanged(t *testing.T) {
	r := newRoom(t)
	r.write(group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance"}})
	written := r.server.stored(stored)
	if written.Spec.LeaseDurationSeconds != nil || written.Spec.RenewTime != nil {
		t.Errorf("written: %+v", written.Spec)
	}
	if h := r.read(); h.Duration != 0 || !h.Renewed.IsZero() || h.Holder != "manual/maintenance" {
		t.Errorf("read back: %+v", h)
	}
}
