package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// endIntents returns the intents that only a live read ends. On caches they are a reason for a
// live read of the group.
func (b *groupState) endIntents() []plan.Action {
	if b.Hold.Unreadable != "" || b.Hold.HeldByNewerVersion(b.Now) {
		return nil
	}
	cached, live := b.Snapshot, b.Snapshot
	cached.Live, live.Live = false, true
	var ended []plan.Action
	for _, intent := range b.Hold.Intents {
		if cached.IntentStatus(intent).Counts() && !live.IntentStatus(intent).Counts() && !b.mayBeLate(intent) {
			ended = append(ended, plan.EndIntent{Intent: intent, Because: b.endsBecause(intent)})
		}
	}
	return ended
}

// endsBecause returns why a live read ends an intent.
func (b *groupState) endsBecause(i plan.Intent) reason.Code {
	_, exists := b.Pod(i.Pod)
	switch {
	case b.behindIntent(i):
		return reason.HoldRestored
	case exists:
		return reason.EvictionLapsed
	}
	return reason.PodNotFound
}

// grantEnds returns when a granted eviction lapses if it is not carried out, or the zero time
// for another intent.
func (b *groupState) grantEnds(intent plan.Intent) time.Time {
	if !intent.Granted() || intent.Lapsed() {
		return time.Time{}
	}
	return b.Now.Add(plan.GrantLimit - intent.Known)
}
