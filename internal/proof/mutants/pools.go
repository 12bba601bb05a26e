package mutants

const (
	poolScenarios = "internal/plan/pool TestScenariosGolden/"
	poolSurplus   = "internal/plan/pool/surplus.go"
	poolStatus    = "internal/plan/pool/intent_status.go"
	actPools      = "internal/act/pools.go"
)

// pools are mistakes in what lockstep does with StatefulClusters.
var pools = []Mutant{
	{
		Name:  "births that wait for the hold",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "\tmissing := min(max(0, p.missing()-len(p.orphans())), MostBirths)\n", "\tmissing := min(max(0, p.missing()-len(p.orphans())), MostBirths)\n\tif p.Hold.Holder.Foreign() {\n\t\treturn nil\n\t}\n"}},
		Test:  poolScenarios + "a-hole-is-filled-under-any-hold", Rule: "create 1 pods",
	},
	{
		Name:  "terminating pods that fill a hole",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "case !s.owns(&pod) || pod.Phase == plan.Terminating:", "case !s.owns(&pod):"}},
		Test:  poolScenarios + "a-terminating-pod-does-not-count", Rule: "create 1 pods",
	},
	{
		Name:  "pods of other owners counted",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "case !s.owns(&pod) || pod", "case pod"}},
		Test:  poolScenarios + "pods-of-other-owners-are-not-counted", Rule: "delete web-a",
	},
	{
		Name:  "pod of a StatefulCluster ended under a hold by hand",
		Edits: []Edit{{"internal/plan/pool/plan.go", "case p.Hold.Holder.Foreign() && !", "case false && !"}},
		Test:  poolScenarios + "a-hold-by-hand-stops-the-ends-of-pods", Rule: "delete web-",
	},
	{
		Name:  "pod of a StatefulCluster ended although its hold cannot be read",
		Edits: []Edit{{"internal/plan/pool/plan.go", "case p.Hold.Unreadable != \"\":", "case false:"}},
		Test:  poolScenarios + "a-hold-that-cannot-be-read-stops-the-ends-of-pods", Rule: "delete web-a",
	},
	{
		Name:  "surplus pods completed",
		Edits: []Edit{{poolSurplus, "return p.staying[min(p.excess(), len(p.staying)):]", "return p.staying"}},
		Test:  poolScenarios + "a-pod-that-is-too-many-is-never-completed", Rule: "complete web-b",
	},
	{
		Name:  "recorded deletion that is carried out although the replicas were raised again",
		Edits: []Edit{{poolSurplus, "return max(0, len(p.leaving)-wanted)", "return len(p.leaving) + 0*wanted"}},
		Test:  poolScenarios + "raising-again-cancels-a-recorded-deletion", Rule: "delete web-a",
	},
	{
		Name:  "recorded deletions not counted when the replicas are lowered",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "case isSurplus(p.pendingOf[pod.Name].Cause):", "case isSurplus(p.pendingOf[pod.Name].Cause) && s.Live:"}},
		Test:  poolScenarios + "lowering-takes-exactly-as-many", Rule: "delete web-a",
	},
	{
		Name:  "end of a pod that is down, without a record",
		Edits: []Edit{{poolSurplus, "Version: pod.Version, Up: true,", "Version: pod.Version, Up: pod.Up(),"}},
		Test:  poolScenarios + "who-leaves-first", Rule: "hold: read live",
	},
	{
		Name:  "intent that ends on an older list of pods",
		Edits: []Edit{{poolStatus, "case present, s.PodsAt < i.Version:", "case present:"}},
		Test:  poolScenarios + "an-older-list-of-pods-ends-no-intent", Rule: "hold: write free",
	},
	{
		Name:  "intent that ends on an older list of claims",
		Edits: []Edit{{poolStatus, "\tif s.ClaimsAt < since {\n\t\treturn false\n\t}\n", ""}},
		Test:  poolScenarios + "an-older-list-of-claims-ends-no-intent", Rule: "hold: write free",
	},
	{
		Name:  "intent that ends before the claims are marked",
		Edits: []Edit{{poolStatus, "if !c.Retired && !c.Deleting {", "if c.Name == \"\" {"}},
		Test:  poolScenarios + "an-identity-that-was-scaled-down-says-so", Rule: "hold: write free",
	},
	{
		Name:  "identity that is retired on caches",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", "func (a RetireIdentity) Effect() plan.Effect {\n\treturn plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true, Read: plan.Always}", "func (a RetireIdentity) Effect() plan.Effect {\n\treturn plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true}"}},
		Test:  poolScenarios + "an-identity-that-ended-is-retired-after-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "claims of an earlier object marked",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", "if c.Pool != p.Object.UID || p.hasPod(c.ID)", "if p.lives(c.ID)"}},
		Test:  poolScenarios + "claims-of-an-earlier-object-are-left-alone", Rule: "retire b of web",
	},
	{
		Name:  "identity drawn again",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "taken = taken || c.ID == id", "_ = c"}},
		Test:  poolScenarios + "a-drawn-identity-is-new", Rule: "web-new1",
	},
	{
		Name:  "births repeated before the caches show them",
		Edits: []Edit{{"internal/lock/freshness/known.go", "k.created[pod] = max(k.created[pod], version)", "k.created[pod] = 0"}},
		Test:  "internal/control/pools TestNoPlanIsMadeBeforeTheCachesShowTheBirths", Rule: "plans",
	},
	{
		Name:  "gate removed before the last claim exists",
		Edits: []Edit{{actPools, "\t\tif err := e.createClaim(ctx, s, t, a); err != nil {\n\t\t\treturn err\n\t\t}\n", "\t\t_ = e.createClaim(ctx, s, t, a)\n"}},
		Test:  "internal/act TestActionsOfAStatefulCluster/a claim that is refused keeps the gate", Rule: "PATCH pods/db-a",
	},
	{
		Name:  "claim of another owner mounted",
		Edits: []Edit{{actPools, "\t\treturn nil, reason.WithClass(reason.Human, fmt.Errorf(\"claim", "\t\treturn claim, nil\n\t\t_ = reason.WithClass(reason.Human, fmt.Errorf(\"claim"}},
		Test:  "internal/act TestAPodIsNotCompletedWithAClaimOfAnotherOwner", Rule: "the gate was removed",
	},
	{
		Name:  "births that go on after a refusal",
		Edits: []Edit{{actPools, "func(err error) bool { return err == nil })\n\t\tswitch born", "func(error) bool { return true })\n\t\tswitch born"}},
		Test:  "internal/act TestActionsOfAStatefulCluster/the first refusal ends the births, in runs of one, two and four", Rule: "POST pods",
	},
	{
		Name:  "live read that lists pods before claims",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "\theld, err := o.options.Holds.Read(ctx, key)\n", "\t_, _ = o.readPods(ctx, &pool.Snapshot{Key: key})\n\theld, err := o.options.Holds.Read(ctx, key)\n"}},
		Test:  "internal/cluster/pools TestALiveReadListsPodsAndTheObjectAfterClaims", Rule: "requests began at other times",
	},
	{
		Name:  "pod ended although the object has changed meanwhile",
		Edits: []Edit{{"internal/control/pools/controller.go", "\tcase !same:\n", "\tcase !same && false:\n"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/if the object changes meanwhile, nothing is done", Rule: "delete db-a",
	},
	{
		Name:  "identity that is not drawn at random",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "\t_, _ = rand.Read(id[:]) // it never returns an error\n", "\t_ = rand.Reader\n"}},
		Test:  "internal/cluster/pools TestIdentitiesAreDrawnAtRandom", Rule: "drew",
	},
}
