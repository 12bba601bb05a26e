package admission_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// moment is a point of a request at which a namespace can opt out.
type moment int

const (
	waiting moment = iota // for the lock of the group
	looking               // at the group
	noting                // in its hold
	calling               // its pods
)

// optingOut is a cluster whose namespace opts out at one moment of a request.
type optingOut struct {
	onlyGroup

	optsOutAt moment
	lost      error // the error of the first write, which succeeds all the same
	delivered bool  // pods may have received the call
	declined  error // the error of the call
	takenBack bool  // the record was removed in the meantime

	mu     sync.Mutex
	out    bool
	record group.Hold
	before []group.Hold // written while the namespace was managed
	after  []group.Hold // written after that
}

func (l *optingOut) reach(m moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = l.out || m == l.optsOutAt
}

func (l *optingOut) Managed(string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.out
}

// Cached implements admission.Observer. It is called after the request has the lock.
func (l *optingOut) Cached(key plan.Key) group.Snapshot {
	l.reach(waiting)
	return l.onlyGroup.Cached(key)
}

func (l *optingOut) Live(ctx context.Context, key plan.Key) (group.Snapshot, error) {
	l.reach(looking)
	return l.onlyGroup.Live(ctx, key)
}

// Prepare implements admission.Pods.
func (l *optingOut) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	l.reach(calling)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takenBack {
		l.record.Downscale = group.Downscale{}
	}
	return l.delivered, l.declined
}

// optingOutHolds stores the hold of the group.
type optingOutHolds struct{ *optingOut }

func (l optingOutHolds) Cached(plan.Key) plan.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.Record()
}

func (l optingOutHolds) Read(_ context.Context, key plan.Key) (plan.Record, error) {
	return l.Cached(key), nil
}

func (optingOutHolds) Label(context.Context, plan.Key, plan.Record) error { return nil }

func (l optingOutHolds) Write(_ context.Context, _ plan.Key, record plan.Record) error {
	defer l.reach(noting)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = group.HoldOf(record)
	if l.out {
		l.after = append(l.after, group.HoldOf(record))
		return nil
	}
	l.before = append(l.before, group.HoldOf(record))
	if len(l.before) == 1 {
		return l.lost
	}
	return nil
}

// Every write of a downscale has its row.
func TestDownscaleWritesNothingAfterItsNamespaceOptedOut(t *testing.T) {
	declined := errors.New("zone-a-2 declined")
	for sentence, tc := range map[string]struct {
		cluster *optingOut
		writes  int // before that
		code    int
		why     reason.Code
	}{
		"its place in the queue": {&optingOut{onlyGroup: onlyGroup{rolling()}, optsOutAt: waiting}, 0, http.StatusTooManyRequests, reason.GroupHeld},
		"its record":             {&optingOut{onlyGroup: onlyGroup{atRest()}, optsOutAt: looking}, 0, http.StatusOK, reason.NotManaged},
		"the removal of its unanswered record": {
			&optingOut{onlyGroup: onlyGroup{atRest()}, optsOutAt: noting, lost: context.DeadlineExceeded}, 1, http.StatusTooManyRequests, reason.ParentUnknown,
		},
		"that it is admitted": {
			&optingOut{onlyGroup: onlyGroup{preparedAtRest()}, optsOutAt: calling, delivered: true}, 1, http.StatusTooManyRequests, reason.ParentUnknown,
		},
		"that it is undone": {
			&optingOut{onlyGroup: onlyGroup{preparedAtRest()}, optsOutAt: calling, delivered: true, declined: declined}, 1, http.StatusTooManyRequests, reason.PreparationFailed,
		},
		"that it is undone after all": {
			&optingOut{onlyGroup: onlyGroup{preparedAtRest()}, optsOutAt: calling, delivered: true, takenBack: true}, 1, http.StatusTooManyRequests, reason.PreparationCancelled,
		},
		"that it is not prepared any more": {
			&optingOut{onlyGroup: onlyGroup{preparedAtRest()}, optsOutAt: calling, declined: declined}, 1, http.StatusTooManyRequests, reason.PreparationFailed,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tc.cluster
				c.record = c.snapshot.Hold
				webhook := &admission.PrepareDownscale{
					Observer: c, Holds: admission.Holds{Store: optingOutHolds{c}, Managed: c.Managed}, Pods: c, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				says(t, webhook.Judge(ctx, downscaleOfZoneA()), tc.code, tc.why)
				synctest.Wait()
				if len(c.after) > 0 {
					t.Errorf("written after the namespace opted out: %+v", c.after)
				}
				if len(c.before) != tc.writes {
					t.Errorf("%d writes before that, want %d", len(c.before), tc.writes)
				}
			})
		})
	}
}

// The downscale was not admitted. The leader notifies its pods that they stay, once the namespace
// opts in again.
func TestDownscaleStaysPreparingIfItsNamespaceOptsOutDuringPreparation(t *testing.T) {
	c := &optingOut{onlyGroup: onlyGroup{preparedAtRest()}, optsOutAt: calling, delivered: true}
	webhook := &admission.PrepareDownscale{
		Observer: c, Holds: admission.Holds{Store: optingOutHolds{c}, Managed: c.Managed}, Pods: c, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	if v := webhook.Judge(t.Context(), downscaleOfZoneA()); v.Allowed {
		t.Errorf("got %+v, want a refusal", v)
	}
	if d := c.record.Downscale; d.Zone != "zone-a" || d.Stage != group.Preparing {
		t.Errorf("the hold contains %s at the stage %q, want %q", d, d.Stage, group.Preparing)
	}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusOK, reason.NotManaged)
}

func TestEvictionWritesNothingAfterItsNamespaceOptedOut(t *testing.T) {
	for sentence, tc := range map[string]struct {
		taken group.Hold // written by others before the live read
		code  int
		why   reason.Code
	}{
		"its record":             {group.Hold{}, http.StatusOK, reason.NotManaged},
		"its place in the queue": {rolling().Hold, http.StatusTooManyRequests, reason.GroupHeld},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			c.live = func(s *group.Snapshot) {
				c.unmanaged, c.record, s.Hold = true, tc.taken, tc.taken
			}
			says(t, c.judge(t, "zone-a-0"), tc.code, tc.why)
			c.costs(t, 1, 0, 0)
		})
	}
}

// A process that no longer leads called pods to prepare. It has not read the group before it takes the hold.
func TestPreparationsOfAFormerLeaderAreUndone(t *testing.T) {
	given := fixture.Shrinking("zone-a", 2, 1, group.Preparing)
	for sentence, tc := range map[string]struct {
		held group.Hold
		want string
	}{
		"under a free hold":              {group.Hold{Hold: plan.Hold{Own: true}}, "downscale/zone-a: zone-a from 2 to 1 undoing"},
		"not under that of another zone": {group.Hold{Hold: plan.Hold{Exists: true, Own: true, Holder: "rollout/zone-b", Renewed: time.Now(), Duration: time.Hour}}, "rollout/zone-b: "},
	} {
		t.Run(sentence, func(t *testing.T) {
			store := &holdStore{record: tc.held}
			if err := kept(store).UndoAgain(t.Context(), plan.Key{}, given, clock.New()); err != nil {
				t.Fatal(err)
			}
			h := group.HoldOf(store.Cached(plan.Key{}))
			got := string(h.Holder) + ": "
			if !h.Downscale.None() {
				got += h.Downscale.String()
			}
			if got != tc.want || h.Own != (tc.held.Holder == "rollout/zone-b") {
				t.Errorf("the hold is %q, the one of this process: %t; want %q", got, h.Own, tc.want)
			}
		})
	}
}
