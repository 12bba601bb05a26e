// Package pools contains the safety rules of StatefulClusters as named checks, written independently of the planner that
// must obey them. It derives everything from the snapshot and the record of the hold. It uses the planner's types and
// constants, but none of its functions.
//
// Check verifies one plan against the snapshot from which it was made. The controller calls it before it carries out a
// plan; the scenarios of the planner and the simulation call it as well. CheckEviction verifies an eviction that was
// allowed. Each rule appears in docs/guarantees.md, under "StatefulClusters".
package pools

import (
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Rule is a named statement about a snapshot, the plan made from it, and the decision about the hold that belongs to the
// plan.
type Rule struct {
	Name      string
	Promise   string // its name in docs/guarantees.md
	Statement string
	broken    func(*view, []plan.Action) string // nil: it is about evictions
	evicts    func(*view, *eviction) string     // nil: it is about plans
}

// Rules returns the catalogue in the order of the promises.
func Rules() []Rule { return append([]Rule(nil), rules...) }

const (
	bornOnce     = "Born once"
	withinBudget = "Within the budget"
	exactly      = "Exactly as many"
	doubt        = "Doubt destroys nothing"
	data         = "Data goes only where you said so"
)

var rules = []Rule{
	{"IdentityNew", bornOnce, "a new pod gets an identity that no pod and no claim is shown to have, and no other pod of the plan", breaksIdentityNew, nil},
	{"HandoverRecorded", bornOnce, "a pod of an existing identity is created only for a recorded hand-over of a pod that is gone, while all of its claims exist, which are verified", breaksHandoverRecorded, nil},
	{"ClaimsCreatedOnce", bornOnce, "a claim is created only for a pod that cannot be scheduled yet, and never again for an identity that had it", breaksClaimsCreatedOnce, nil},
	{"OutsideKept", withinBudget, "while another holder has the hold, or while it cannot be read, no pod is disrupted, no claim is marked or deleted, and the record stays", breaksOutsideKept, nil},
	{"RecordedFirst", withinBudget, "no pod is disrupted before an intent for exactly this disruption is in the hold's record", breaksRecordedFirst, nil},
	{"RecordKept", withinBudget, "an intent is taken off the hold's record only when its end is seen, or when the disruption can never happen", breaksRecordKept, nil},
	{"ConfirmedFirst", withinBudget, "no pod is disrupted before a further read shows that the object still asks for what the plan assumes", breaksConfirmedFirst, nil},
	{"ExactTarget", withinBudget, "every disruption names a pod of the object with the UID and the version that the snapshot shows, and only one", breaksExactTarget, nil},
	{"WithinMaxUnavailable", withinBudget, "no update and no replacement of a pod that serves makes more pods unavailable than maxUnavailable", breaksWithinMaxUnavailable, nil},
	{"GrantRecorded", withinBudget, "no pod that is up may be evicted before the hold records this very pod", nil, breaksGrantRecorded},
	{"GrantWithinBudget", withinBudget, "no eviction of a pod that is up makes more pods unavailable than maxUnavailable, and than one", nil, breaksGrantWithinBudget},
	{"ExactGrant", withinBudget, "an eviction is allowed for the very pod that the snapshot shows, or at the version that is shown where it may serve again", nil, breaksExactGrant},
	{"SurplusExact", exactly, "the pods that stay, and the identities that wait for their next pod, are as many as asked for", breaksSurplusExact, nil},
	{"LoweredOnly", exactly, "where the Lease records how many pods were asked for, not more pods leave because fewer are", breaksLoweredOnly, nil},
	{"LoweredFirst", exactly, "pods leave for new identities by updates only if pods are asked for, and only so many that all can leave as such that leave because fewer are", breaksLoweredFirst, nil},
	{"OwnPodsOnly", exactly, "a pod is adopted only after a live read, if it belongs to nothing, under the identity that its name shows and no other pod has", breaksOwnPodsOnly, nil},
	{"DoubtKept", doubt, "no identity whose pod may come back is given up while more pods are unavailable than maxUnhealthy, or while no other pod is available", breaksDoubtKept, nil},
	{"EndedWithoutPod", data, "the claims of an identity are marked only after a live read shows no pod of it", breaksEndedWithoutPod, nil},
	{"OwnClaimsOnly", data, "a claim gets the labels of an identity only after a live read, if the pod of the identity mounts it and it belongs to nothing else, or if the identity had it under an earlier object", breaksOwnClaimsOnly, nil},
	{"ClaimKept", data, "a claim is deleted only after a live read, if all claims of its identity are marked, if neither a pod nor a record of it exists, and if the policy says so", breaksClaimKept, nil},
}

// Check returns the first rule that the plan breaks, or nil.
func Check(s pool.Snapshot, steps []plan.Action, d hold.Decision) *invariant.Violation {
	if d.Need == hold.ReadLive {
		return nil // this snapshot leads to no action
	}
	v := viewOf(&s, d)
	for i := range rules {
		if rules[i].broken == nil {
			continue
		}
		if detail := rules[i].broken(v, steps); detail != "" {
			return &invariant.Violation{Name: rules[i].Name, Detail: detail}
		}
	}
	return nil
}

// CheckEviction returns the first rule that an allowed eviction breaks, or nil.
func CheckEviction(s pool.Snapshot, r plan.EvictionRequest, a plan.EvictionAnswer, d hold.Decision) *invariant.Violation {
	if a.Because.Code != "" || d.Need == hold.ReadLive {
		return nil
	}
	v := viewOf(&s, d)
	e := v.eviction(r, a)
	for i := range rules {
		if rules[i].evicts == nil {
			continue
		}
		if detail := rules[i].evicts(v, e); detail != "" {
			return &invariant.Violation{Name: rules[i].Name, Detail: detail}
		}
	}
	return nil
}

// only returns the actions of one type.
func only[T plan.Action](steps []plan.Action) []T {
	var found []T
	for _, step := range steps {
		if a, is := step.(T); is {
			found = append(found, a)
		}
	}
	return found
}
