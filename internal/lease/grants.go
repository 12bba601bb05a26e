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

// renewals knows since when this process has known the newest renewal of a holder that is
// Newer, by its own clock that only goes forward: the time in the Lease is another clock's.
type renewals map[plan.Key]renewal

type renewal struct {
	holder plan.Holder
	at     int64 // as it is written
	seen   time.Time
}

// date fills in for how long no renewal of a group's record was seen.
func (r renewals) date(key plan.Key, h *plan.Hold, now time.Time) {
	if !h.Holder.Newer() {
		delete(r, key)
		return
	}
	last, known := r[key]
	if at := h.Renewed.UnixMicro(); !known || last.holder != h.Holder || last.at != at {
		last = renewal{h.Holder, at, now}
		r[key] = last
	}
	h.Unrenewed = now.Sub(last.seen)
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
