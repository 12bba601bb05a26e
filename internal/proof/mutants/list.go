package mutants

import "slices"

// All returns the mutants.
func All() []Mutant {
	return slices.Concat(
		budgets, replacements, disruptions, intents, views, snapshots, conclusions, freshness, requests, downscales, scaling, delays, evictions, certificates, people, restored, groups, away, orphans, workloads, pools, poolUpdates, poolUpdateStages, surges, standing, poolRepairs, claimsOfPools, poolEvictions, rulesOfPools, identitiesOfPools, adoptions, faultsOfPools, boundsOfPools, strandedPods, metricsOfPools, unnoticedInPlans, unnoticedInHistory, unnoticedInCaches, unnoticedInWrites,
	)
}

// Files that mutants change.
const (
	groupRule        = "internal/contract/group.go"
	executor         = "internal/act/executor.go"
	writes           = "internal/act/writes.go"
	actHold          = "internal/act/hold.go"
	podCalls         = "internal/act/pod_calls.go"
	admissionHolds   = "internal/serve/admission/holds.go"
	cachedView       = "internal/cluster/observe/snapshot.go"
	prepareDownscale = "internal/serve/admission/prepare_downscale.go"
	freshnessKnown   = "internal/lock/freshness/known.go"
	holdEvict        = "internal/lock/hold/evict.go"
	holdDecision     = "internal/lock/hold/hold.go"
	holdManual       = "internal/lock/hold/manual.go"
	holdRecord       = "internal/lock/hold/record.go"
	nextPart         = "internal/plan/group/next_part.go"
	workload         = "internal/plan/group/workload.go"
	recordOfGroup    = "internal/lock/record/group.go"
	recordOfKinds    = "internal/lock/record/record.go"
	holdTerm         = "internal/lock/hold/term.go"
	invariantGrant   = "internal/lock/invariant/grant.go"
	invariantCheck   = "internal/lock/invariant/invariant.go"
	invariantNotes   = "internal/lock/invariant/intent.go"
	leaseRestored    = "internal/lock/lease/restored.go"
	leaseMemory      = "internal/lock/lease/memory.go"
	liveRead         = "internal/cluster/observe/live.go"
	store            = "internal/lock/lease/store.go"

	admit            = "internal/plan/group/admit.go"
	groupState       = "internal/plan/group/group_state.go"
	budget           = "internal/plan/budget.go"
	groupsController = "internal/control/groups/controller.go"
	confirm          = "internal/plan/group/confirm.go"
	attempts         = "internal/control/groups/attempts.go"
	contest          = "internal/plan/group/contest.go"
	coverage         = "internal/plan/group/coverage.go"
	downscale        = "internal/plan/group/downscale.go"
	downscaleState   = "internal/plan/group/downscale_state.go"
	downscaleSteps   = "internal/plan/group/downscale_steps.go"
	delay            = "internal/plan/group/delay.go"
	downscaleTime    = "internal/plan/group/downscale_time.go"
	evict            = "internal/plan/group/evict.go"
	group            = "internal/plan/group/group.go"
	guards           = "internal/plan/group/guards.go"
	planHold         = "internal/plan/hold.go"
	planOrphans      = "internal/plan/group/orphans.go"
	formerZone       = "internal/plan/group/former_zone.go"
	messages         = "internal/plan/group/messages.go"
	mirror           = "internal/plan/group/mirror.go"
	partition        = "internal/plan/group/partition.go"
	replicas         = "internal/plan/group/replicas.go"
	planRestored     = "internal/plan/group/restored.go"
	snapshot         = "internal/plan/group/snapshot.go"
	ordinalRange     = "internal/plan/group/ordinal_range.go"
)

// Tests that catch many mutants.
const (
	explore   = "internal/proof/sim TestExplore/"
	scenarios = "internal/plan/group TestScenariosGolden/"
	walk      = "internal/proof/sim/walk TestWalk"

	unreadHold = "internal/serve/admission TestEvictionNeedsALiveReadUnderAnInheritedHold/"
)

// blind disables the check of single plans. The mistake must then be detected by its
// effects.
var blind = Edit{invariantCheck, "if decision.Need == hold.ReadLive {", "if true {"}

// blindToEvictions disables the check of single evictions in the same way.
var blindToEvictions = Edit{invariantGrant, "if p.Because.Code != \"\" || decision.Need == hold.ReadLive {", "if true {"}

// without removes a guard from the only list of the file that contains it.
func without(file, guard string) Edit { return Edit{file, "\t" + guard + ",", "\t"} }
