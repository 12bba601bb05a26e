package lease

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ages records when this process first saw each intent, by its own monotonic clock. The time that another
// process wrote into an intent does not tell how old the intent is.
type ages map[plan.Key]map[recorded]time.Time

// recorded identifies an intent. A second intent for the same pod is a different one.
type recorded struct {
	pod, uid string
	version  plan.Version
	since    int64 // in milliseconds, as in the Lease
}

// date sets for how long this process has known each intent of a group's newest record, and drops all other
// intents of the group.
func (a ages) date(key plan.Key, intents []plan.Intent, now time.Time) {
	if len(intents) == 0 {
		delete(a, key)
		return
	}
	known := make(map[recorded]time.Time, len(intents))
	for i := range intents {
		this := recorded{intents[i].Pod, intents[i].UID, intents[i].Version, intents[i].Since.UnixMilli()}
		seen, before := a[key][this]
		if !before {
			seen = now
		}
		known[this] = seen
		intents[i].Known = now.Sub(seen)
	}
	a[key] = known
}
