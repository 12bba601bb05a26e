package plan

import "time"

// endGrants returns the granted evictions that nobody has carried out in time. On
// caches that is a reason to look, on a live view it is their end.
func (b *board) endGrants() []Action {
	var ended []Action
	for _, intent := range b.Hold.Intents {
		if b.overdueGrant(intent) {
			ended = append(ended, EndGrant{Intent: intent})
		}
	}
	return ended
}

// overdueGrant reports whether the pod of a granted eviction stands as if nobody were
// coming any more.
func (b *board) overdueGrant(intent Intent) bool {
	pod, exists := b.Pod(intent.Pod)
	return intent.Lapsed() && exists && pod.UID == intent.UID && pod.Phase != Leaving && pod.Version >= intent.Version
}

// grantEnds returns when a granted eviction lapses if nobody carries it out, or the
// zero time for another intent.
func (b *board) grantEnds(intent Intent) time.Time {
	if !intent.Granted() || intent.Lapsed() {
		return time.Time{}
	}
	return b.Now.Add(GrantLimit - intent.Known)
}
