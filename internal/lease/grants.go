package lease

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// grants knows since when this process has known of granted evictions, by its own
// clock that only goes forward: what another process has written as their time
// says nothing about how much of it is over.
type grants map[plan.Key]map[grant]time.Time

// grant is one granted eviction. One that is granted again is another one.
type grant struct {
	pod, uid string
	version  plan.Version
	since    int64 // as it is written
}

// date fills in for how long the grants of a group's newest record are known, and
// forgets all others of the group.
func (g grants) date(key plan.Key, intents []plan.Intent, now time.Time) {
	var known map[grant]time.Time
	for i := range intents {
		if !intents[i].Granted() {
			continue
		}
		this := grant{intents[i].Pod, intents[i].UID, intents[i].Version, intents[i].Since.UnixMilli()}
		seen, before := g[key][this]
		if !before {
			seen = now
		}
		if known == nil {
			known = map[grant]time.Time{}
		}
		known[this] = seen
		intents[i].Known = now.Sub(seen)
	}
	if known == nil {
		delete(g, key)
		return
	}
	g[key] = known
}
