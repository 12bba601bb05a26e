package plan

import (
	"slices"
	"time"
)

// Asked is what this process has asked pods last about a downscale of the group, and
// what came of it: to prepare, where the downscale is at the stage Preparing, or to
// undo that. The zero Asked: nothing.
type Asked struct {
	Downscale Downscale
	UIDs      []string  // of the pods
	Underway  bool      // not all of them have answered yet
	Heard     bool      // one of them may have heard it, now or when it was asked before
	Failed    string    // why not all of them agreed
	Again     time.Time // after a failure: they are not asked again before
}

// includes reports whether pods were asked about exactly this downscale, all of these
// among them.
func (a Asked) includes(d Downscale, pods []Pod) bool {
	return a.sameAttempt(d) && !slices.ContainsFunc(pods, func(pod Pod) bool { return !slices.Contains(a.UIDs, pod.UID) })
}

// sameAttempt reports whether pods were asked about that downscale since it got to its
// stage: the same one may be tried again, by whomever.
func (a Asked) sameAttempt(d Downscale) bool {
	return a.Downscale.Same(d) && a.Downscale.Stage == d.Stage && a.Downscale.Since.Equal(d.Since)
}
