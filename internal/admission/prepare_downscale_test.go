package admission_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// slow stores holds, and answers when the deadline of who writes is over.
type slow struct {
	mu     sync.Mutex
	record plan.Hold
	writes int
}

func (s *slow) Cached(plan.Key) plan.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

func (s *slow) Write(ctx context.Context, _ plan.Key, record plan.Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = record
	if s.writes++; s.writes == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// shrinking is a decrease of zone-a as the API server shows it.
func shrinking() admission.Change {
	zone := admission.Object{UID: "uid-a", Version: "7"}
	return admission.Change{
		Group: "apps", Resource: "statefulsets", Namespace: "team", Name: "zone-a", Old: zone, New: zone, From: new(int32(3)), To: new(int32(2)),
	}
}

func TestANoteThatCameTooLateIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := &slow{}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{atRest()}, Holds: kept(holds), Pods: obedient{}, Turns: &admission.Turns{}, Log: silent()}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if v := webhook.Judge(ctx, shrinking()); v.Allowed || v.Code != http.StatusTooManyRequests {
			t.Errorf("got %+v, want a refusal for now", v)
		}
		synctest.Wait()
		if held := holds.Cached(plan.Key{}); !held.Decrease.None() || holds.writes != 2 {
			t.Errorf("after %d writes the hold notes %+v", holds.writes, held.Decrease)
		}
	})
}

func TestARefusalDoesNotWaitForTheNoteOfWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := rolling()
		group.Hold.Exists = true
		holds := &slow{record: group.Hold}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{group}, Holds: kept(holds), Pods: obedient{}, Turns: &admission.Turns{}, Log: silent()}
		began := time.Now()
		if v := webhook.Judge(t.Context(), shrinking()); v.Allowed || v.Code != http.StatusTooManyRequests {
			t.Errorf("got %+v, want a refusal for now", v)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the refusal took %s", took)
		}
		if holds.writes != 1 {
			t.Errorf("%d writes, want the note", holds.writes)
		}
	})
}

// silent pods hear that they are to leave, and do not answer.
type silentPods struct{}

func (silentPods) Prepare(ctx context.Context, _ plan.Key, _ plan.Zone, _ []plan.Pod) (bool, error) {
	<-ctx.Done()
	return true, ctx.Err()
}

// strict stores holds as long as somebody waits for that.
type strict struct{ slow }

func (s *strict) Write(ctx context.Context, _ plan.Key, record plan.Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.record = record
	return nil
}

// What was begun is undone although nobody waits for the answer any more.
func TestWhoWasAskedForTooLongIsToldToStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := askingAtRest()
		holds := &strict{}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{group}, Holds: kept(holds), Pods: silentPods{}, Turns: &admission.Turns{}, Log: silent()}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if v := webhook.Judge(ctx, shrinking()); v.Allowed {
			t.Errorf("got %+v, want a refusal", v)
		}
		if d := holds.Cached(plan.Key{}).Decrease; d.Stage != plan.Undoing {
			t.Errorf("the hold notes %s at the stage %q, want %q", d, d.Stage, plan.Undoing)
		}
	})
}

// shrinker judges decreases in a group whose hold is the ledger's.
func shrinker(group plan.Snapshot, holds *ledger) *admission.PrepareDownscale {
	holds.record = group.Hold
	return &admission.PrepareDownscale{Observer: onlyGroup{group}, Holds: kept(holds), Pods: obedient{}, Turns: &admission.Turns{}, Log: silent()}
}

func TestAHoldThatIsOverdueRefusesForNow(t *testing.T) {
	group := atRest()
	fixture.Held(plan.Eviction.For("zone-b"), fixture.Noted("zone-b-0"))(&group)
	fixture.Later(time.Hour)(&group)
	says(t, shrinker(group, &ledger{}).Judge(t.Context(), shrinking()), http.StatusTooManyRequests, reason.StaleHold)
}

func TestADownscaleWhoseTurnDoesNotComeInTimeIsRefusedForNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		webhook := shrinker(atRest(), &ledger{slow: func() { time.Sleep(time.Minute) }})
		admitted := make(chan admission.Verdict, 1)
		go func() { admitted <- webhook.Judge(t.Context(), shrinking()) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		v := webhook.Judge(ctx, shrinking())
		says(t, v, http.StatusTooManyRequests, reason.GroupHeld)
		if !strings.Contains(v.Message, "too many requests") {
			t.Errorf("it says %q", v.Message)
		}
		says(t, <-admitted, http.StatusOK, reason.DownscaleAdmitted)
	})
}

func TestADownscaleThatOthersKeepOvertakingIsRefusedForNow(t *testing.T) {
	v := shrinker(atRest(), &ledger{overtake: 100}).Judge(t.Context(), shrinking())
	says(t, v, http.StatusTooManyRequests, reason.GroupHeld)
	if !strings.Contains(v.Message, "others keep writing") {
		t.Errorf("it says %q", v.Message)
	}
}
