package plan

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// endIntents returns the intents that only a live read ends. On caches they are a reason to
// read the group live.
func (b *board) endIntents() []Action {
	if b.Hold.Respected(b.Now) {
		return nil
	}
	cached, live := b.Snapshot, b.Snapshot
	cached.Live, live.Live = false, true
	var ended []Action
	for _, intent := range b.Hold.Intents {
		if !cached.Fate(intent).Counts() || live.Fate(intent).Counts() {
			continue
		}
		because := reason.PodIsGone
		if _, exists := b.Pod(intent.Pod); exists {
			because = reason.EvictionLapsed
		}
		ended = append(ended, EndIntent{Intent: intent, Because: because})
	}
	return ended
}

// grantEnds returns when a granted eviction lapses if nobody carries it out, or the
// zero time for another intent.
func (b *board) grantEnds(intent Intent) time.Time {
	if !intent.Granted() || intent.Lapsed() {
		return time.Time{}
	}
	return b.Now.Add(GrantLimit - intent.Known)
}
