package plan

import "slices"

// Confirms reports whether a view proposes the takedowns of a plan as well that was made
// from a live read: reading takes a while, and what broke meanwhile is seen in the
// caches. An intent or a downscale that the plan ends because of what only a live read shows
// keeps nobody back: a granted eviction, a note of before a restore, a zone that has gone with
// its pods. Nor does a Lease that
// the caches do not show, whose label somebody took off: the look has read it.
func Confirms(view, looked Snapshot, steps []Action) bool {
	taken := takedowns(steps)
	if len(taken) == 0 {
		return true
	}
	if !view.Hold.Exists {
		view.Hold = looked.Hold
	}
	view.Hold = withoutEnded(view.Hold, steps)
	view.Left, view.Strays = withoutGone(view.Left, view.Strays, steps)
	proposed := takedowns(Group(view))
	return !slices.ContainsFunc(taken, func(uid string) bool { return !slices.Contains(proposed, uid) })
}

// withoutEnded returns a hold without what a plan ends because of what only a live read
// shows.
func withoutEnded(h Hold, steps []Action) Hold {
	ended := Only[EndIntent](steps)
	h.Intents = slices.DeleteFunc(slices.Clone(h.Intents), func(i Intent) bool {
		return slices.ContainsFunc(ended, func(a EndIntent) bool {
			return a.Intent.UID == i.UID && a.Intent.Since.Equal(i.Since)
		})
	})
	for _, a := range Only[EndDownscale](steps) {
		if a.Restored && h.Downscale.Same(a.Downscale) {
			h.Downscale = Downscale{}
		}
	}
	return h
}

// withoutGone returns the zones that left the group without those that a plan forgets, whose
// pods are strays from then on.
func withoutGone(left []LeftZone, strays []Pod, steps []Action) (kept []LeftZone, with []Pod) {
	forgotten := Only[RecordMembers](steps)
	with = slices.Clone(strays)
	for _, z := range left {
		if slices.ContainsFunc(forgotten, func(a RecordMembers) bool { return slices.Contains(a.Gone, z.Name) }) {
			with = append(with, z.Pods...)
		} else {
			kept = append(kept, z)
		}
	}
	return kept, with
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
