package invariant

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// sizes makes a rule of what must be true of changes of spec.replicas.
func sizes(broken func(*plan.Snapshot, []plan.SetReplicas) string) func(*plan.Snapshot, []plan.Action, *hold.Decision) string {
	return func(s *plan.Snapshot, steps []plan.Action, _ *hold.Decision) string {
		return broken(s, only[plan.SetReplicas](steps))
	}
}

func breaksDecreaseNoted(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	d := s.Hold.Decrease
	for _, a := range sizes {
		exact := d.Zone == a.Zone && d.UID == a.UID && d.Version == a.Version && d.From == a.From && d.To == a.To
		mine := d.Ours && d.Stage == plan.Admitted && s.Hold.Holder == plan.Downscale.For(a.Zone)
		if a.To < a.From && !(exact && mine) {
			return fmt.Sprintf("%s would shrink from %d to %d, of which the hold says %q", a.Zone, a.From, a.To, d)
		}
	}
	return ""
}

func breaksDownscaleSparesTheRest(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	for _, a := range sizes {
		harms := false
		z, _ := s.Zone(a.Zone)
		for _, p := range z.Pods {
			harms = harms || (p.Up() && p.Ordinal >= z.Start+a.To && p.Ordinal < z.Start+a.From)
		}
		for i := range s.Zones {
			other := &s.Zones[i]
			if n := len(available(s, other)); harms && other.Name != a.Zone && n < other.Replicas {
				return fmt.Sprintf("%s is lowered while zone %s has %d of %d pods available", a.Zone, other.Name, n, other.Replicas)
			}
		}
	}
	return ""
}

func breaksExactSize(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	seen := map[string]bool{}
	for _, a := range sizes {
		z, exists := s.Zone(a.Zone)
		if !exists || seen[a.Zone] || z.UID != a.UID || z.Version != a.Version || z.Replicas != a.From || a.To == a.From || a.To < 0 {
			return fmt.Sprintf("%s is not what is shown of it, which is %d replicas at %d", a, z.Replicas, z.Version)
		}
		seen[a.Zone] = true
	}
	return ""
}

func breaksPreparedFirst(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	for _, a := range sizes {
		z, _ := s.Zone(a.Zone)
		var leave []plan.Pod
		for _, p := range z.Pods {
			if z.Prepares && p.Callable() && p.Ordinal >= z.Start+a.To && p.Ordinal < z.Start+a.From {
				leave = append(leave, p)
			}
		}
		if len(leave) > 0 && plan.Fingerprint(leave) != s.Hold.Decrease.Asked {
			return fmt.Sprintf("%d pods of %s would leave, and who agreed is noted as %q", len(leave), a.Zone, s.Hold.Decrease.Asked)
		}
	}
	return ""
}

func breaksDelayKept(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	for _, a := range sizes {
		z, _ := s.Zone(a.Zone)
		if a.To >= a.From || !z.Mirror.Configured() || !z.Delay.Configured() {
			continue
		}
		ready := 0
		for _, p := range z.Pods {
			place := p.Ordinal - z.Start
			if place >= a.To && place < a.From && waited(s, &z, p, place) {
				ready++
			}
		}
		if z.Delay.Invalid != "" || ready < a.From-a.To {
			return fmt.Sprintf("%s, of whom %d have waited for %s", a, ready, z.Delay.For)
		}
	}
	return ""
}

// waited reports whether a pod has been ready to leave for as long as its zone asks
// for, by its own words since it became Ready and by what the hold notes of it.
func waited(s *plan.Snapshot, z *plan.Zone, p plan.Pod, place int) bool {
	said := z.Told[p.UID]
	if said.Message != plan.Leave || said.Underway || said.Failed || !said.Ready.Equal(p.ReadySince) || p.Phase == plan.Leaving ||
		s.Now.Before(said.Since.Add(z.Delay.For)) {
		return false
	}
	noted := s.Hold.Agreed[z.Name]
	if noted.Over || noted.Call != z.Delay.Call || said.Call != z.Delay.Call {
		return false
	}
	for _, stretch := range noted.Stretches {
		if place >= stretch.From && place < stretch.To {
			at := (place - stretch.From) * plan.MarkLength
			same := strings.HasPrefix(stretch.Pods[min(at, len(stretch.Pods)):], plan.MarkOf(p.UID))
			return same && !s.Now.Before(stretch.Since.Add(z.Delay.For))
		}
	}
	return false
}
