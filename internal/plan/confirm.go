package plan

import "slices"

// Confirms reports whether a view proposes the takedowns of a plan as well that was made
// from a live read: reading takes a while, and what broke meanwhile is seen in the
// caches. A granted eviction that the plan ends keeps nobody back: that it is over is
// seen live alone. Nor does a Lease that the caches do not show, whose label somebody
// took off: the look has read it.
func Confirms(view, looked Snapshot, steps []Action) bool {
	taken := takedowns(steps)
	if len(taken) == 0 {
		return true
	}
	if !view.Hold.Exists {
		view.Hold = looked.Hold
	}
	view.Hold.Intents = slices.DeleteFunc(slices.Clone(view.Hold.Intents), func(i Intent) bool {
		return slices.ContainsFunc(steps, func(step Action) bool {
			a, ends := step.(EndIntent)
			return ends && a.Intent.UID == i.UID && a.Intent.Since.Equal(i.Since)
		})
	})
	proposed := takedowns(Group(view))
	return !slices.ContainsFunc(taken, func(uid string) bool { return !slices.Contains(proposed, uid) })
}

// takedowns returns the UIDs of the pods that a plan takes down although they serve.
func takedowns(steps []Action) []string {
	var uids []string
	for _, step := range steps {
		if d, is := step.(DeletePod); is && d.Up {
			uids = append(uids, d.UID)
		}
	}
	return uids
}
