// Package invariant has lockstep's safety rules as named checks, written apart
// from the planner that must obey them: what is counted here is counted anew.
//
// Check judges one plan against the snapshot it was made from; the controller
// asks it before anything is done, and so do property tests and the explorer.
// CheckEviction judges an eviction that was allowed.
// Each name appears in docs/guarantees.md. Floor 2: pure.
package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Violation says which rule a plan breaks, and how.
type Violation struct {
	Name   string
	Detail string
}

// Error implements error.
func (v *Violation) Error() string { return fmt.Sprintf("%s: %s", v.Name, v.Detail) }

// Rule is a named statement about a snapshot, the plan made from it, and the
// decision about the group's hold that goes with the plan.
type Rule struct {
	Name      string
	Guarantee int // its number in docs/guarantees.md
	Statement string
	broken    func(*plan.Snapshot, []plan.Action, *hold.Decision) string
	evicts    func(*plan.Snapshot, allowed) string // nil: as for a plan without steps
}

// Rules returns the catalogue in the order of the guarantees.
func Rules() []Rule { return append([]Rule(nil), rules...) }

var rules = []Rule{
	{"OneZoneAtATime", 1, "pods that are up are taken down in one zone only, and in none while an intent of another zone has not ended", pods(twoZones), nil},
	{"DecreaseKept", 1, "a downscale is taken off the hold's record only when a live read shows that its last pod has gone, or that it can never happen", pods(decreaseDropped), nil},
	{"DecreaseAlone", 1, "a downscale is noted only where no other zone has the hold, an intent or a downscale", pods(decreaseBeside), nil},
	{"NotedFirst", 1, "no pod that is up is deleted before an intent for exactly this deed is in the hold's record", pods(unnoted), nil},
	{"DecreaseNoted", 1, "lockstep itself lowers spec.replicas only by the downscale that the hold notes as admitted and as its own", sizes(unnotedDecrease), nil},
	{"GrantAlone", 1, "the eviction of a pod that is up is granted only where no other zone has the hold, an intent that counts, or a downscale; by partitions only where no rollout and no downscale has", none, grants(grantedBeside)},
	{"GrantNoted", 1, "no pod that is up may be evicted before the hold notes this very pod, under its zone or under the partitions", none, grants(ungranted)},
	{"GrantKept", 1, "a granted eviction is taken off the hold's record only when its end is seen, or when a live read shows the pod as it was after the time in which anybody could carry it out", dropsGrants, func(s *plan.Snapshot, a allowed) string { return grantDropped(s, &a.covered) }},
	{"RestIsWhole", 2, "a pod that is up is taken down only while every pod of every other zone exists and is available", pods(restBroken), nil},
	{"DownscaleSparesTheRest", 2, "lockstep itself lets a pod that is up leave by a downscale only while every pod of every other zone exists and is available", sizes(restBrokenBySize), nil},
	{"GrantSparesTheRest", 2, "the eviction of a pod that is up is granted only while every pod of every other zone exists and is available, unless partitions count", none, grants(restBrokenByEviction)},
	{"OnDeleteOnly", 3, "no pod is deleted while a zone of the group has another update strategy", pods(strategyIgnored), nil},
	{"StandStill", 3, "no pod of a paused zone is deleted", pods(pauseIgnored), nil},
	{"WithinBudget", 4, "in a zone, pods that are down, noted or about to go never exceed the budget through a deed of ours", pods(overBudget), nil},
	{"GrantWithinBudget", 4, "with an eviction, pods of the zone, or of the partition in all zones, that are down or noted never exceed the budget that covers the pod", none, grants(overBudgetByEviction)},
	{"ExactTarget", 5, "every delete names a pod of the zone with the UID and the version that the snapshot shows", pods(strangeTarget), nil},
	{"ExactSize", 5, "every change of spec.replicas names a zone as the snapshot shows it, once", sizes(strangeSize), nil},
	{"ExactGrant", 5, "an eviction is granted for the very pod that the snapshot shows to be up, or for one that is down, at the version that is shown where it may serve again", none, strangeEviction},
	{"PreparedFirst", 7, "lockstep itself lowers spec.replicas of a zone that prepares only by a downscale to which all those agreed who leave", sizes(unprepared), nil},
	{"DelayKept", 7, "lockstep itself lets a pod of a zone with a delay leave only when it has not been restarted since it agreed, and both the hold's record and its own time say that it has been ready to for as long", sizes(tooEarly), nil},
}

// Check returns the first rule that the plan breaks, or nil.
func Check(s plan.Snapshot, steps []plan.Action, covered hold.Decision) *Violation {
	if covered.Verdict == hold.Look {
		return nil // nothing is done on this snapshot
	}
	for i := range rules {
		rule := &rules[i]
		if detail := rule.broken(&s, steps, &covered); detail != "" {
			return &Violation{Name: rule.Name, Detail: detail}
		}
	}
	return nil
}

// pods makes a rule of what must be true of deletes.
func pods(broken func(*plan.Snapshot, []plan.DeletePod, *hold.Decision) string) func(*plan.Snapshot, []plan.Action, *hold.Decision) string {
	return func(s *plan.Snapshot, steps []plan.Action, covered *hold.Decision) string {
		return broken(s, only[plan.DeletePod](steps), covered)
	}
}

// sizes makes a rule of what must be true of changes of spec.replicas.
func sizes(broken func(*plan.Snapshot, []plan.SetReplicas) string) func(*plan.Snapshot, []plan.Action, *hold.Decision) string {
	return func(s *plan.Snapshot, steps []plan.Action, _ *hold.Decision) string {
		return broken(s, only[plan.SetReplicas](steps))
	}
}

// none is broken by no plan: evictions are no steps.
func none(*plan.Snapshot, []plan.Action, *hold.Decision) string { return "" }

func dropsGrants(s *plan.Snapshot, _ []plan.Action, covered *hold.Decision) string {
	return grantDropped(s, covered)
}

func only[T plan.Action](steps []plan.Action) []T {
	var found []T
	for _, step := range steps {
		if a, is := step.(T); is {
			found = append(found, a)
		}
	}
	return found
}

func twoZones(s *plan.Snapshot, deletes []plan.DeletePod, covered *hold.Decision) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		for _, other := range deletes {
			if other.Up && other.Zone != d.Zone {
				return fmt.Sprintf("%s and %s are taken down together", d.Pod, other.Pod)
			}
		}
		if noted := covered.Record.Decrease; !noted.None() && noted.Zone != d.Zone {
			return fmt.Sprintf("%s is taken down beside the downscale of %s", d.Pod, noted)
		}
		for _, i := range s.Hold.Intents {
			if i.Zone != d.Zone && s.Fate(i).Counts() {
				return fmt.Sprintf("%s is taken down while %s of zone %s is noted", d.Pod, i.Pod, i.Zone)
			}
		}
	}
	return ""
}

func decreaseDropped(s *plan.Snapshot, _ []plan.DeletePod, covered *hold.Decision) string {
	d := s.Hold.Decrease
	kept := covered.Verdict != hold.Write || covered.Record.Decrease.Zone == d.Zone
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

// unmade tells whether nobody can have carried a decrease out: lockstep itself does
// so only once it is admitted.
func unmade(d plan.Decrease) bool { return d.Ours && d.Stage == plan.Preparing }

func decreaseBeside(s *plan.Snapshot, _ []plan.DeletePod, covered *hold.Decision) string {
	d := covered.Record.Decrease
	if covered.Verdict != hold.Write || d.None() || d.Zone == s.Hold.Decrease.Zone {
		return ""
	}
	if h := covered.Record.Holder; h != plan.Downscale.For(d.Zone) {
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

// settled tells whether nothing is left of what an operation of ours did in its
// zone, or of what somebody else's was given time for.
func settled(s *plan.Snapshot, h plan.Holder) bool {
	z, exists := s.Zone(h.Zone())
	if h.Foreign() {
		return s.Hold.Expired(s.Now)
	}
	return !exists || (len(available(s, &z)) >= z.Replicas && len(z.Pods) == z.Replicas)
}

func unnoted(_ *plan.Snapshot, deletes []plan.DeletePod, covered *hold.Decision) string {
	for _, d := range deletes {
		if d.Up && (covered.Verdict != hold.Write || !notes(covered.Record, d)) {
			return fmt.Sprintf("%s would be deleted without an intent", d.Pod)
		}
	}
	return ""
}

func notes(record plan.Hold, d plan.DeletePod) bool {
	if record.Holder != plan.Rollout.For(d.Zone) {
		return false
	}
	for _, i := range record.Intents {
		if i.Pod == d.Pod && i.UID == d.UID && i.Version == d.Version {
			return true
		}
	}
	return false
}

func restBroken(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		for i := range s.Zones {
			z := &s.Zones[i]
			if z.Name == d.Zone {
				continue
			}
			if n := len(available(s, z)); n < z.Replicas {
				return fmt.Sprintf("%s is taken down while zone %s has %d of %d pods available", d.Pod, z.Name, n, z.Replicas)
			}
		}
	}
	return ""
}

func restBrokenBySize(s *plan.Snapshot, sizes []plan.SetReplicas) string {
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

func unnotedDecrease(s *plan.Snapshot, sizes []plan.SetReplicas) string {
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

func unprepared(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	for _, a := range sizes {
		z, _ := s.Zone(a.Zone)
		var leave []plan.Pod
		for _, p := range z.Pods {
			if z.Prepares && p.Callable() && p.Ordinal >= z.Start+a.To && p.Ordinal < z.Start+a.From {
				leave = append(leave, p)
			}
		}
		if len(leave) > 0 && plan.AskedOf(leave) != s.Hold.Decrease.Asked {
			return fmt.Sprintf("%d pods of %s would leave, and who agreed is noted as %q", len(leave), a.Zone, s.Hold.Decrease.Asked)
		}
	}
	return ""
}

func tooEarly(s *plan.Snapshot, sizes []plan.SetReplicas) string {
	for _, a := range sizes {
		z, _ := s.Zone(a.Zone)
		if a.To >= a.From || !z.Mirror.Asked() || !z.Delay.Asked() {
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

// waited tells whether a pod has been ready to leave for as long as its zone asks
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

func strangeSize(s *plan.Snapshot, sizes []plan.SetReplicas) string {
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

// available returns the ordinals that the spec asks for and that are available.
func available(s *plan.Snapshot, z *plan.Zone) map[int]bool {
	set := map[int]bool{}
	for _, p := range z.Pods {
		if z.Owns(p.Ordinal) && p.Available(z.MinReady, s.Now) {
			set[p.Ordinal] = true
		}
	}
	return set
}

func strategyIgnored(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for i := range s.Zones {
		if z := &s.Zones[i]; !z.OnDelete && len(deletes) > 0 {
			return fmt.Sprintf("%s is deleted while zone %s is not OnDelete", deletes[0].Pod, z.Name)
		}
	}
	return ""
}

func pauseIgnored(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		if z, _ := s.Zone(d.Zone); z.PausedAt(s.Now) {
			return fmt.Sprintf("%s of the paused zone %s is deleted", d.Pod, d.Zone)
		}
	}
	return ""
}

// overBudget counts the ordinals that would be unavailable after the deeds, and
// objects only where a deed takes down a pod that is up, available or not yet.
func overBudget(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for i := range s.Zones {
		z := &s.Zones[i]
		if !slices.ContainsFunc(deletes, func(d plan.DeletePod) bool { return d.Zone == z.Name }) {
			continue
		}
		up, budget, taken := available(s, z), z.MaxUnavailable.Of(z.Replicas), false
		for _, d := range deletes {
			if ordinal, ok := plan.OrdinalOf(z.Name, d.Pod); ok && d.Zone == z.Name {
				if d.Up {
					budget, taken = min(budget, leastBudget(s, z, ordinal)), true
				}
				delete(up, ordinal)
			}
		}
		for _, i := range s.Hold.Intents {
			if ordinal, ok := plan.OrdinalOf(z.Name, i.Pod); ok && s.Fate(i).Counts() {
				delete(up, ordinal)
			}
		}
		if down := z.Replicas - len(up); taken && down > budget {
			return fmt.Sprintf("zone %s would have %d pods down, its budget is %d", z.Name, down, budget)
		}
	}
	return ""
}

func strangeTarget(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		z, _ := s.Zone(d.Zone)
		if !has(&z, d) {
			return fmt.Sprintf("%s (%s at %d) is not what zone %s shows", d.Pod, d.UID, d.Version, d.Zone)
		}
	}
	return ""
}

func has(z *plan.Zone, d plan.DeletePod) bool {
	for _, p := range z.Pods {
		if p.Name == d.Pod {
			return p.UID == d.UID && p.Version == d.Version && p.Up() == d.Up && p.Phase != plan.Leaving
		}
	}
	return false
}
