package lease

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ages knows since when this process has known of intents, by its own clock that only goes
// forward: what another process has written as their time says nothing about how much of
// it is over.
type ages map[plan.Key]map[noted]time.Time

// noted is one intent. A pod that is noted again is another one.
type noted struct {
	pod, uid string
	version  plan.Version
	since    int64 // as it is written
}

// date fills in for how long the intents of a group's newest record are known, and
// forgets all others of the group.
func (a ages) date(key plan.Key, intents []plan.Intent, now time.Time) {
	if len(intents) == 0 {
		delete(a, key)
		return
	}
	known := make(map[noted]time.Time, len(intents))
	for i := range intents {
		this := noted{intents[i].Pod, intents[i].UID, intents[i].Version, intents[i].Since.UnixMilli()}
		seen, before := a[key][this]
		if !before {
			seen = now
		}
		known[this] = seen
		intents[i].Known = now.Sub(seen)
	}
	a[key] = known
}
