package invariant

import (
	"cmp"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

func breaksDecreaseKept(s *plan.Snapshot, _ []plan.DeletePod, decision *hold.Decision) string {
	d := s.Hold.Decrease
	kept := decision.Need != hold.Write || decision.Record.Decrease.Zone == d.Zone
	if d.None() || kept {
		return ""
	}
	z, exists := s.Zone(d.Zone)
	switch {
	case !s.Live:
		return fmt.Sprintf("%s is dropped without a live read", d)
	case !exists || z.UID != d.UID:
		return ""
	case z.Replicas > d.To && z.Version == d.Version && d.Stage != plan.Undoing && !unmade(d):
		return fmt.Sprintf("%s is dropped, and can still happen", d)
	}
	for _, p := range z.Pods {
		if z.Replicas <= d.To && !z.Owns(p.Ordinal) {
			return fmt.Sprintf("%s is dropped while %s exists", d, p.Name)
		}
	}
	return ""
}

// unmade reports whether nobody can have carried a decrease out: lockstep itself does
// so only once it is admitted.
func unmade(d plan.Decrease) bool { return d.Ours && d.Stage == plan.Preparing }

func breaksDecreaseAlone(s *plan.Snapshot, _ []plan.DeletePod, decision *hold.Decision) string {
	d := decision.Record.Decrease
	if decision.Need != hold.Write || d.None() || d.Zone == s.Hold.Decrease.Zone {
		return ""
	}
	if h := decision.Record.Holder; h != plan.Downscale.For(d.Zone) {
		return fmt.Sprintf("%s is noted under the hold of %q", d, h)
	}
	if h := s.Hold.Holder; !h.Free() && h.Zone() != d.Zone && !(s.Live && settled(s, h)) {
		return fmt.Sprintf("%s is noted over %s", d, h)
	}
	for _, i := range s.Hold.Intents {
		if i.Zone != d.Zone && s.Fate(i).Counts() {
			return fmt.Sprintf("%s is noted while %s of zone %s is", d, i.Pod, i.Zone)
		}
	}
	return ""
}

// settled reports whether nothing is left of what an operation of ours did in its
// zone, or of what somebody else's was given time for.
func settled(s *plan.Snapshot, h plan.Holder) bool {
	z, exists := s.Zone(h.Zone())
	if h.Foreign() {
		return s.Hold.Expired(s.Now)
	}
	return !exists || (len(available(s, &z)) >= z.Replicas && len(z.Pods) == z.Replicas)
}

func breaksOutsideKept(s *plan.Snapshot, _ []plan.DeletePod, decision *hold.Decision) string {
	h, next := s.Hold, decision.Record
	kept := next.Holder == h.Holder && next.Renewed.Equal(h.Renewed) && next.Duration == h.Duration
	stays := decision.Need != hold.Remove && (decision.Need != hold.Write || kept)
	if !h.Holder.Foreign() || h.Lapsed(s.Now) || stays {
		return ""
	}
	return fmt.Sprintf("%s is written over by %s", h.Holder, cmp.Or(next.Holder, "nobody"))
}
