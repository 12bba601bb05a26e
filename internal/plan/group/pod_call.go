package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// PodCall is the last call of this process to pods about a downscale of the group, and its result. If
// the stage of the downscale is Preparing, the pods were called to prepare; otherwise, to undo
// that. The zero PodCall is no call.
type PodCall struct {
	Downscale Downscale
	UIDs      []string  // of the called pods
	Underway  bool      // not every pod has answered yet
	Delivered bool      // a pod may have received the call, this time or an earlier time
	Failed    string    // why not every pod agreed
	Again     time.Time // after a failure: the earliest time of the next call
}

// includes reports whether all of these pods were called about exactly this downscale.
func (a PodCall) includes(d Downscale, pods []plan.Pod) bool {
	return a.sameAttempt(d) && !slices.ContainsFunc(pods, func(pod plan.Pod) bool { return !slices.Contains(a.UIDs, pod.UID) })
}

// sameAttempt reports whether pods were called about that downscale since it reached its stage. Any
// process may try the same downscale again.
func (a PodCall) sameAttempt(d Downscale) bool {
	return a.Downscale.Same(d) && a.Downscale.Stage == d.Stage && a.Downscale.Since.Equal(d.Since)
}
