package invariant

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// sizes makes a rule from a check of changes of spec.replicas.
func sizes(broken func(*view, []group.SetReplicas) string) func(*view, []plan.Action, *decided) string {
	return func(v *view, steps []plan.Action, _ *decided) string {
		return broken(v, only[group.SetReplicas](steps))
	}
}

func breaksDownscaleRecorded(v *view, sizes []group.SetReplicas) string {
	d := v.Hold.Downscale
	for _, a := range sizes {
		exact := d.Zone == a.Zone && d.UID == a.UID && d.Version == a.Version && d.From == a.From && d.To == a.To
		mine := d.Ours && d.Stage == group.Admitted && v.Hold.Holder == holderOf(plan.DownscaleOperation, a.Zone)
		if a.To < a.From && !(exact && mine) {
			return fmt.Sprintf("%s would shrink from %d to %d, of which the hold says %q", a.Zone, a.From, a.To, d)
		}
	}
	return ""
}

func breaksDownscaleSparesOtherZones(v *view, sizes []group.SetReplicas) string {
	for _, a := range sizes {
		z, _ := v.zoneNamed(a.Zone)
		if !slices.ContainsFunc(z.leaving(a), up) {
			continue
		}
		if other, found := v.otherUnavailable(a.Zone); found {
			return fmt.Sprintf("%s is lowered while zone %s has %d of %d pods available", a.Zone, other.Name, len(v.availableOf(other)), other.Replicas)
		}
	}
	return ""
}

func breaksExactSize(v *view, sizes []group.SetReplicas) string {
	seen := map[string]bool{}
	for _, a := range sizes {
		z, shown := v.zoneNamed(a.Zone)
		if !shown || seen[a.Zone] || z.UID != a.UID || z.Version != a.Version || z.Replicas != a.From || a.To == a.From || a.To < 0 {
			return fmt.Sprintf("%s is not what is shown of it, which is %d replicas at %d", a, z.Replicas, z.Version)
		}
		seen[a.Zone] = true
	}
	return ""
}

func breaksPreparedFirst(v *view, sizes []group.SetReplicas) string {
	for _, a := range sizes {
		z, _ := v.zoneNamed(a.Zone)
		leave := slices.DeleteFunc(z.leaving(a), func(p plan.Pod) bool { return !z.Prepares || !runs(p) })
		if len(leave) > 0 && agreedAs(leave) != v.Hold.Downscale.Called {
			return fmt.Sprintf("%d pods of %s would leave, and the pods that agreed are recorded as %q", len(leave), a.Zone, v.Hold.Downscale.Called)
		}
	}
	return ""
}

// agreedAs returns the text by which a hold records that all of these pods agreed to leave: their number and
// a hash of their UIDs.
func agreedAs(pods []plan.Pod) string {
	hash := fnv.New64a()
	for _, p := range pods {
		_, _ = hash.Write([]byte(p.UID + "\n"))
	}
	return fmt.Sprintf("%d %016x", len(pods), hash.Sum64())
}

func breaksDelayKept(v *view, sizes []group.SetReplicas) string {
	for _, a := range sizes {
		z, _ := v.zoneNamed(a.Zone)
		if a.To >= a.From || !hasDelay(z) {
			continue
		}
		ready := 0
		for _, p := range z.leaving(a) {
			if v.waited(z, p) {
				ready++
			}
		}
		if z.Delay.Invalid != "" || ready < a.From-a.To {
			return fmt.Sprintf("%s, of whom %d have waited for %s", a, ready, z.Delay.For)
		}
	}
	return ""
}

// hasDelay reports whether a zone mirrors a resource and has a delay, or a setting that cannot be read as
// one.
func hasDelay(z *zone) bool {
	mirrors := z.Mirror.Reference != (group.Reference{}) || z.Mirror.Invalid != ""
	return mirrors && (z.Delay.For > 0 || z.Delay.Invalid != "")
}

// waited reports whether a pod has been ready to leave for the delay of its zone. Both its own answer, given
// since it became Ready, and the record of the hold must say so.
func (v *view) waited(z *zone, p plan.Pod) bool {
	said := z.Notifications[p.UID]
	if said.Message != group.Leave || said.Underway || said.Failed || !said.Ready.Equal(p.ReadySince) || terminating(p) ||
		v.Now.Before(said.Since.Add(z.Delay.For)) {
		return false
	}
	recorded := v.Hold.Acknowledged[z.Name]
	if recorded.Over || recorded.Call != z.Delay.Call || said.Call != z.Delay.Call {
		return false
	}
	place := p.Ordinal - z.Start
	for _, stretch := range recorded.OrdinalRanges {
		if place >= stretch.From && place < stretch.To {
			at := (place - stretch.From) * group.MarkLength
			same := strings.HasPrefix(stretch.Pods[min(at, len(stretch.Pods)):], markOf(p.UID))
			return same && !v.Now.Before(stretch.Since.Add(z.Delay.For))
		}
	}
	return false
}

// markOf returns the mark by which a hold identifies a pod that agreed to leave: the last digits of a hash of
// its UID in base 64, the least significant one first.
func markOf(uid string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid))
	var mark []byte
	for rest := hash.Sum64(); len(mark) < group.MarkLength; rest >>= 6 {
		mark = append(mark, digits[rest&63])
	}
	return string(mark)
}
