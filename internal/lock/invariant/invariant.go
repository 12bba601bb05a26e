// Package invariant contains lockstep's safety rules as named checks, written independently of the planner
// that must obey them. It derives everything from the snapshot and the record of the hold. It uses the
// planner's types and constants, but none of its functions except those that parse and format names.
//
// Check verifies one plan against the snapshot from which it was made. The controller calls it before it
// carries out a plan; property tests and the explorer call it as well. CheckEviction verifies an eviction
// that was allowed. Each rule appears in docs/guarantees.md.
package invariant

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Violation is a rule that a plan breaks, with the details.
type Violation struct {
	Name   string
	Detail string
}

// Error implements error.
func (v *Violation) Error() string { return fmt.Sprintf("%s: %s", v.Name, v.Detail) }

// Rule is a named statement about a snapshot, the plan made from it, and the decision about the group's hold
// that belongs to the plan.
type Rule struct {
	Name      string
	Guarantee int // its number in docs/guarantees.md
	Statement string
	broken    func(*view, []plan.Action, *decided) string
	evicts    func(*view, *allowed) string // nil: same as for an empty plan
}

// Rules returns the catalogue in the order of the guarantees.
func Rules() []Rule { return append([]Rule(nil), rules...) }

var rules = []Rule{
	{"OneZoneAtATime", 1, "pods that are up are deleted in one zone only, and in none while an intent of another zone has not ended", pods(breaksOneZoneAtATime), nil},
	{"DownscaleKept", 1, "a downscale is taken off the hold's record only when a live read shows that its last pod has gone, or that it can never happen", pods(breaksDownscaleKept), nil},
	{"DownscaleAlone", 1, "a downscale is recorded only where no other zone has the hold, an intent or a downscale", pods(breaksDownscaleAlone), nil},
	{"OutsideKept", 1, "a hold from outside lockstep is neither ended nor written over, nor is its time changed, before it expires", pods(breaksOutsideKept), nil},
	{"ZonesKept", 1, "a zone that left the group is taken off the hold's record only when a live read shows that its last pod is gone, or that every pod its StatefulSet asks for is available", breaksZonesKept, nil},
	{"RecordedFirst", 1, "no pod that is up is deleted before an intent for exactly this delete is in the hold's record", pods(breaksRecordedFirst), nil},
	{"DownscaleRecorded", 1, "lockstep itself lowers spec.replicas only by the downscale that the hold records as admitted and as its own", sizes(breaksDownscaleRecorded), nil},
	{"GrantAlone", 1, "the eviction of a pod that is up is granted only where no other zone has the hold, an intent that counts, or a downscale; by partitions only where no rollout and no downscale has", none, grants(breaksGrantAlone)},
	{"GrantRecorded", 1, "no pod that is up may be evicted before the hold records this very pod, under its zone or under the partitions", none, grants(breaksGrantRecorded)},
	{"GrantKept", 1, "a granted eviction is taken off the hold's record only when its end is seen, or when a live read shows the pod as it was after the time in which anybody could carry it out", breaksGrantKept, nil},
	{"OtherZonesAvailable", 2, "a pod that is up is deleted only while every pod of every other zone exists and is available", pods(breaksOthersAvailable), nil},
	{"DownscaleSparesOtherZones", 2, "lockstep itself lets a pod that is up leave by a downscale only while every pod of every other zone exists and is available", sizes(breaksDownscaleSparesOtherZones), nil},
	{"GrantSparesOtherZones", 2, "the eviction of a pod that is up is granted only while every pod of every other zone exists and is available, unless partitions count; for an orphan in the way, an orphan that is available stands in for the missing pod of its name", none, grants(breaksGrantSparesOtherZones)},
	{"OnDeleteOnly", 3, "no pod is deleted while a zone of the group has another update strategy", pods(breaksOnDeleteOnly), nil},
	{"NotPaused", 3, "no pod of a paused zone is deleted", pods(breaksNotPaused), nil},
	{"ConfirmedFirst", 3, "no pod is deleted, and spec.replicas is not lowered, before a further read shows that the StatefulSets still ask for what the plan assumes", breaksConfirmedFirst, nil},
	{"WithinBudget", 4, "in a zone, pods that are down, recorded or about to be deleted never exceed the budget because of a delete by lockstep", pods(breaksWithinBudget), nil},
	{"GrantWithinBudget", 4, "with an eviction, pods of the zone, or of the partition in all other zones, that are down or recorded never exceed the budget that covers the pod", none, grants(breaksGrantWithinBudget)},
	{"ExactTarget", 5, "every delete names a pod of the zone with the UID and the version that the snapshot shows", pods(breaksExactTarget), nil},
	{"ExactSize", 5, "every change of spec.replicas names a zone as the snapshot shows it, once", sizes(breaksExactSize), nil},
	{"ExactGrant", 5, "an eviction is granted for the very pod that the snapshot shows to be up, or for one that is down, at the version that is shown where it may serve again", none, breaksExactGrant},
	{"PreparedFirst", 7, "lockstep itself lowers spec.replicas of a zone that prepares only by a downscale to which all those agreed who leave", sizes(breaksPreparedFirst), nil},
	{"DelayKept", 7, "lockstep itself lets a pod of a zone with a delay leave only when it has not been restarted since it agreed, and both the hold's record and its own time say that it has been ready to for as long", sizes(breaksDelayKept), nil},
}

// Check returns the first rule that the plan breaks, or nil.
func Check(s group.Snapshot, steps []plan.Action, d hold.Decision) *Violation {
	decision := decidedOf(d)
	if decision.Need == hold.ReadLive {
		return nil // this snapshot leads to no action
	}
	v := viewOf(&s)
	for i := range rules {
		if detail := rules[i].broken(v, steps, &decision); detail != "" {
			return &Violation{Name: rules[i].Name, Detail: detail}
		}
	}
	return nil
}

// decided is what the Lease needs, with the record of a group.
type decided struct {
	Need   hold.Need
	Record group.Hold // for hold.Write
	Verify bool
}

func decidedOf(d hold.Decision) decided { return decided{d.Need, group.HoldOf(d.Record), d.Verify} }

// none accepts every plan, because evictions are not actions of a plan.
func none(*view, []plan.Action, *decided) string { return "" }

func only[T plan.Action](steps []plan.Action) []T {
	var found []T
	for _, step := range steps {
		if a, is := step.(T); is {
			found = append(found, a)
		}
	}
	return found
}
