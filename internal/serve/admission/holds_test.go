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
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// moment is one at which a namespace can opt out while a request is judged.
type moment int

const (
	waiting moment = iota // for the group's turn
	looking               // at the group
	noting                // in its hold
	calling               // its pods
)

// leaver is a cluster whose namespace opts out at one moment of a request.
type leaver struct {
	onlyGroup

	leaves    moment
	lost      error // what comes of the first write, which is carried out
	heard     bool  // pods may have heard that they leave
	declined  error // what comes of asking them
	takenBack bool  // the note is gone by then

	mu     sync.Mutex
	out    bool
	record plan.Hold
	before []plan.Hold // written while the namespace was managed
	after  []plan.Hold // and after that
}

func (l *leaver) reach(m moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = l.out || m == l.leaves
}

func (l *leaver) Managed(string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.out
}

// Cached implements admission.Observer: it is asked once it is the request's turn.
func (l *leaver) Cached(key plan.Key) plan.Snapshot {
	l.reach(waiting)
	return l.onlyGroup.Cached(key)
}

func (l *leaver) Live(ctx context.Context, key plan.Key) (plan.Snapshot, error) {
	l.reach(looking)
	return l.onlyGroup.Live(ctx, key)
}

// Prepare implements admission.Pods.
func (l *leaver) Prepare(context.Context, plan.Key, plan.Zone, []plan.Pod) (bool, error) {
	l.reach(calling)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takenBack {
		l.record.Decrease = plan.Decrease{}
	}
	return l.heard, l.declined
}

// leaverHolds stores the hold of its group.
type leaverHolds struct{ *leaver }

func (l leaverHolds) Cached(plan.Key) plan.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record
}

func (leaverHolds) Relabel(context.Context, plan.Key) error { return nil }

func (l leaverHolds) Write(_ context.Context, _ plan.Key, record plan.Hold) error {
	defer l.reach(noting)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = record
	if l.out {
		l.after = append(l.after, record)
		return nil
	}
	l.before = append(l.before, record)
	if len(l.before) == 1 {
		return l.lost
	}
	return nil
}

// Every write of a downscale has its row.
func TestADownscaleWritesNothingMoreOnceItsNamespaceHasOptedOut(t *testing.T) {
	declined := errors.New("zone-a-2 declined")
	for sentence, tc := range map[string]struct {
		cluster *leaver
		writes  int // before that
		code    int
		why     reason.Code
	}{
		"its place in the queue": {&leaver{onlyGroup: onlyGroup{rolling()}, leaves: waiting}, 0, http.StatusTooManyRequests, reason.GroupHeld},
		"its note":               {&leaver{onlyGroup: onlyGroup{atRest()}, leaves: looking}, 0, http.StatusOK, reason.NotManaged},
		"that its unanswered note is taken back": {
			&leaver{onlyGroup: onlyGroup{atRest()}, leaves: noting, lost: context.DeadlineExceeded}, 1, http.StatusTooManyRequests, reason.ParentUnknown,
		},
		"that it is admitted": {
			&leaver{onlyGroup: onlyGroup{askingAtRest()}, leaves: calling, heard: true}, 1, http.StatusTooManyRequests, reason.ParentUnknown,
		},
		"that it is undone": {
			&leaver{onlyGroup: onlyGroup{askingAtRest()}, leaves: calling, heard: true, declined: declined}, 1, http.StatusTooManyRequests, reason.PreparationFailed,
		},
		"that it is undone after all": {
			&leaver{onlyGroup: onlyGroup{askingAtRest()}, leaves: calling, heard: true, takenBack: true}, 1, http.StatusTooManyRequests, reason.PreparationCancelled,
		},
		"that it is not prepared any more": {
			&leaver{onlyGroup: onlyGroup{askingAtRest()}, leaves: calling, declined: declined}, 1, http.StatusTooManyRequests, reason.PreparationFailed,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tc.cluster
				c.record = c.shows.Hold
				webhook := &admission.PrepareDownscale{
					Observer: c, Holds: admission.Holds{Store: leaverHolds{c}, Managed: c.Managed}, Pods: c, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				says(t, webhook.Judge(ctx, shrinking()), tc.code, tc.why)
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

// Nobody has said yes to what is noted as being prepared: whoever leads tells its pods
// that they stay, once he may.
func TestADownscaleWhoseNamespaceOptsOutWhilePodsAreAskedStaysNotedAsPrepared(t *testing.T) {
	c := &leaver{onlyGroup: onlyGroup{askingAtRest()}, leaves: calling, heard: true}
	webhook := &admission.PrepareDownscale{
		Observer: c, Holds: admission.Holds{Store: leaverHolds{c}, Managed: c.Managed}, Pods: c, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	if v := webhook.Judge(t.Context(), shrinking()); v.Allowed {
		t.Errorf("got %+v, want a refusal", v)
	}
	if d := c.record.Decrease; d.Zone != "zone-a" || d.Stage != plan.Preparing {
		t.Errorf("the hold notes %s at the stage %q, want %q", d, d.Stage, plan.Preparing)
	}
	says(t, webhook.Judge(t.Context(), shrinking()), http.StatusOK, reason.NotManaged)
}

func TestAnEvictionWritesNothingMoreOnceItsNamespaceHasOptedOut(t *testing.T) {
	for sentence, tc := range map[string]struct {
		taken plan.Hold // what others have written by the time of the look
		code  int
		why   reason.Code
	}{
		"its note":               {plan.Hold{}, http.StatusOK, reason.NotManaged},
		"its place in the queue": {rolling().Hold, http.StatusTooManyRequests, reason.GroupHeld},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			c.live = func(s *plan.Snapshot) {
				c.unmanaged, c.record, s.Hold = true, tc.taken, tc.taken
			}
			says(t, c.judge(t, "zone-a-0"), tc.code, tc.why)
			c.costs(t, 1, 0, 0)
		})
	}
}
