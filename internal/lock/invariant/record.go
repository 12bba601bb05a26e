package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func breaksDownscaleKept(v *view, _ []plan.DeletePod, decision *decided) string {
	d := v.Hold.Downscale
	kept := decision.Need != hold.Write || decision.Record.Downscale.Zone == d.Zone
	if d.Zone == "" || kept {
		return ""
	}
	z, shown := v.zoneNamed(d.Zone)
	switch {
	case !v.Live:
		return fmt.Sprintf("%s is dropped without a live read", d)
	case !shown || z.UID != d.UID:
		return ""
	case z.Replicas > d.To && z.Version == d.Version && d.Stage != group.Undoing && !unmade(d):
		return fmt.Sprintf("%s is dropped, and can still happen", d)
	}
	for _, p := range z.Pods {
		if z.Replicas <= d.To && !z.asksFor(p.Ordinal) {
			return fmt.Sprintf("%s is dropped while %s exists", d, p.Name)
		}
	}
	return ""
}

// unmade reports whether a downscale cannot have been carried out, because lockstep itself carries one out
// only after it is admitted.
func unmade(d group.Downscale) bool { return d.Ours && d.Stage == group.Preparing }

func breaksDownscaleAlone(v *view, _ []plan.DeletePod, decision *decided) string {
	d := decision.Record.Downscale
	if decision.Need != hold.Write || d.Zone == "" || d.Zone == v.Hold.Downscale.Zone {
		return ""
	}
	if h := decision.Record.Holder; h != holderOf(plan.DownscaleOperation, d.Zone) {
		return fmt.Sprintf("%s is recorded under the hold of %q", d, h)
	}
	h := v.Hold.Holder
	at, _ := operationIn(h)
	if h != "" && at != d.Zone && !(v.Live && v.leavesHold(h)) {
		return fmt.Sprintf("%s is recorded over %s", d, h)
	}
	if i, found := v.recordedElsewhere(d.Zone); found {
		return fmt.Sprintf("%s is recorded while %s of zone %s is", d, i.Pod, i.Zone)
	}
	return ""
}

func breaksOutsideKept(v *view, _ []plan.DeletePod, decision *decided) string {
	h, next := &v.Hold, &decision.Record
	kept := next.Holder == h.Holder && next.Renewed.Equal(h.Renewed) && next.Duration == h.Duration
	stays := decision.Need != hold.Remove && (decision.Need != hold.Write || kept)
	if !isOutside(h.Holder) || isOver(h, v.Now) || stays {
		return ""
	}
	return fmt.Sprintf("%s is written over by %s", h.Holder, cmp.Or(next.Holder, "nobody"))
}

// breaksZonesKept returns a zone that left the group and that the decision drops from the record although it
// may return with pods that are down.
func breaksZonesKept(v *view, _ []plan.Action, decision *decided) string {
	if decision.Need != hold.Write && decision.Need != hold.Remove {
		return ""
	}
	for i := range v.FormerZones {
		left := &v.FormerZones[i]
		remembered := slices.ContainsFunc(decision.Record.Members, func(m group.Member) bool { return m.Zone == left.Name })
		kept := decision.Need == hold.Write && remembered
		if !kept && v.mayComeBackUnavailable(left, &zone{Zone: left.Zone}) {
			return fmt.Sprintf("zone %s left the group and is not remembered any more", left.Name)
		}
	}
	return ""
}
