package mutants

// scaling are mutants about zones whose replicas lockstep sets.
var scaling = []Mutant{
	{
		Name:  "lockstep's own downscale carried out although another zone is unavailable",
		Edits: []Edit{{downscaleSteps, "\treturn leaves, firstOf(barred(z), firstObjection(b, leaves, downscaleGuards))\n", "\treturn leaves, plan.Refusal{}\n"}, blind},
		Test:  explore + "a downscale by lockstep and a crash", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "lockstep's own downscale begun during a disruption",
		Edits: []Edit{without(guards, "downscaleFirst")},
		Test:  explore + "a downscale by lockstep during a rollout", Rule: "OneZoneAtATime",
	},
	{
		Name:  "lockstep's own downscale begun while the rollout of another zone continues",
		Edits: []Edit{{replicas, "\t\t\tif c.Up() && b.mayReplace(", "\t\t\tif false && b.mayReplace("}},
		Test:  scenarios + "rollout-with-hold-continues-before-follower-scales-down", Rule: "while a rollout has the hold and can continue",
	},
	{
		Name:  "lockstep's own downscale recorded while the hold is released",
		Edits: []Edit{{group, "if (!b.Hold.Downscale.None() && !b.ended) || plan.Has[RecordDownscale](actions) {", "if !b.Hold.Downscale.None() && !b.ended {"}},
		Test:  scenarios + "follower-scales-down-between-two-zones-of-a-rollout", Rule: "DownscaleAlone",
	},
	{
		Name:  "downscale admitted for another client carried out by lockstep",
		Edits: []Edit{{downscaleSteps, "\tcase d.Stage == Admitted && d.Ours && b.DownscaleStatus(d) == Awaited:\n", "\tcase d.Stage == Admitted && b.DownscaleStatus(d) == Awaited:\n"}},
		Test:  scenarios + "downscale-admitted-for-another-client-is-not-carried-out", Rule: "DownscaleRecorded",
	},
	{
		Name:  "lockstep's own downscale of another process carried out without a live read",
		Edits: []Edit{{"internal/plan/group/set_replicas.go", "plan.IfInherited, true, true, true", "plan.OnCaches, true, true, true"}},
		Test:  "internal/lock/hold TestCover", Rule: `want "read live"`,
	},
	{
		Name:  "lockstep's own downscale carried out long after it was judged",
		Edits: []Edit{{downscaleSteps, "\tcase late || !because.None():\n", "\tcase !because.None():\n"}},
		Test:  scenarios + "own-downscale-that-is-not-made-in-time-is-cancelled", Rule: "was not carried out in time",
	},
	{
		Name:  "lockstep's own downscale carried out although it is no longer wanted",
		Edits: []Edit{{downscaleSteps, "\tcase !z.wishesFor(d):\n", "\tcase false:\n"}},
		Test:  scenarios + "own-downscale-that-is-no-longer-wanted-is-cancelled", Rule: "cancel downscale zone-b",
	},
	{
		Name:  "lockstep's own downscale carried out without its hold",
		Edits: []Edit{{downscaleSteps, "if b.Hold.Holder != plan.DownscaleOperation.For(d.Zone) {", "if false {"}},
		Test:  scenarios + "own-downscale-without-its-hold-is-cancelled", Rule: "DownscaleRecorded",
	},
	{
		Name:  "lockstep's own downscale that removes a pod that was not called",
		Edits: []Edit{{downscaleSteps, "if d.Stage == Admitted && d.Called != Fingerprint(leaves.ask) {", "if false {"}},
		Test:  scenarios + "admitted-downscale-of-pod-that-was-never-called-is-cancelled", Rule: "PreparedFirst",
	},
	{
		Name:  "lockstep's own downscale retried at once after it failed",
		Edits: []Edit{{replicas, "if stillGivenUp(at, b.Now) {", "if false {"}},
		Test:  scenarios + "failed-downscale-is-not-retried-at-once-so-rollout-continues", Rule: "record zone-b",
	},
	{
		Name:  "lockstep's own downscale of a zone that must not be scaled down",
		Edits: []Edit{{replicas, "if z.Barred {", "if false {"}},
		Test:  scenarios + "no-downscale-label-blocks-locksteps-own-downscale", Rule: "The no-downscale label also blocks",
	},
	{
		Name:  "lockstep's own downscale not known to the webhook",
		Edits: []Edit{{admit, "\tif b.isOwnRecordedDownscale(d) {\n\t\treturn DownscaleAnswer{}\n\t}\n", ""}},
		Test:  "internal/plan/group TestAdmit", Rule: "a_downscale_that_lockstep_recorded_needs_no_second_record",
	},
	{
		Name:  "time of a detected downscale lost when the next downscale replaces it",
		Edits: []Edit{{nextPart, "if !former.None() && !next.Same(former) && s.Shrank", "if !former.None() && (next.Version != former.Version || next.Zone != former.Zone) && s.Shrank"}},
		Test:  "internal/lock/hold TestTheTimeOfADetectedDownscaleIsKeptWhenTheNextDownscaleReplacesIt", Rule: "dated 0001",
	},
	{
		Name:  "failed downscale retried at once while pods of the previous one terminate",
		Edits: []Edit{{nextPart, "(next.None() || next.Generation == SeenInEffect)", "next.None()"}},
		Test:  "internal/lock/hold TestADownscaleThatFailsWhilePodsOfThePreviousOneTerminateIsNotRetriedAtOnce", Rule: "given up map[]",
	},
	{
		Name:  "record of another process that counts as this process's own",
		Edits: []Edit{{"internal/act/podcalls/preparations.go", "!(former.Ours && g.recorded.Same(former))", "!g.recorded.Same(former)"}},
		Test:  "internal/act/podcalls TestOnlyTheProcessThatRecordedADownscaleKnowsThatNoPodWasCalled", Rule: "want delivered true",
	},
	{
		Name:  "downscale of which no pod was notified that removes the former one from the hold",
		Edits: []Edit{{downscaleSteps, "return b.endUndelivered(d, called.Failed)", "return []plan.Action{EndDownscale{Downscale: d, Failed: called.Failed}}"}},
		Test:  "internal/plan/group TestTheFormerDownscaleIsKnownByItsCall", Rule: "record zone-a from 4 to 2 admitted because PreparationFailed",
	},
	{
		Name:  "downscale with another call that follows one whose pods still terminate",
		Edits: []Edit{{"internal/plan/group/admit.go", "case course == InEffect && asksAlike:", "case course == InEffect && (asksAlike || true):"}},
		Test:  "internal/plan/group TestTheFormerDownscaleIsKnownByItsCall", Rule: "record zone-a from 2 to 1 preparing",
	},
	{
		Name:  "manual hold overwritten while a downscale is recorded",
		Edits: []Edit{{holdDecision, "if next.Free() || byHand {", "if next.Free() || (byHand && false) {"}},
		Test:  "internal/lock/hold TestADownscaleIsUndoneUnderTheHoldOfAnotherOperation", Rule: "OutsideKept",
	},
	{
		Name:  "pod with a granted eviction deleted for the intent of its predecessor",
		Edits: []Edit{{"internal/plan/group/group_state.go", " && !b.outweighed(intent)", ""}},
		Test:  "internal/plan/group TestAPodWithAGrantedEvictionIsNotDeletedForItsPredecessor", Rule: "delete zone-a-1",
	},
	{
		Name:  "label of a Lease not restored when a downscale is refused",
		Edits: []Edit{{prepareDownscale, "\t\t\t\trelabel(ctx, p.Holds, p.Log, key)\n", ""}},
		Test:  "internal/serve/admission TestRefusalRestoresTheLabelOfALease/an operation is under way", Rule: "labelled: false",
	},
	{
		Name:  "detected downscale that counts as judged",
		Edits: []Edit{{downscaleState, "Generation: SeenInEffect,", "Generation: max(1, z.Generation-1),"}},
		Test:  "internal/lock/hold TestTheTimeOfADetectedDownscaleIsKeptAfterItIsReverted", Rule: "at generation 1",
	},
	{
		Name:  "lockstep's own downscale known to the webhook long after it was recorded",
		Edits: []Edit{{admit, " || !b.Now.Before(recorded.Since.Add(CarryLimit)) {", " {"}},
		Test:  "internal/plan/group TestAdmit", Rule: "a_downscale_that_lockstep_recorded_long_ago_is_refused",
	},
	{
		Name:  "lockstep's own downscale dated by its admission",
		Edits: []Edit{{downscale, "\tif d.Ours {\n\t\tby = by.Add(CarryLimit)\n\t}\n", ""}},
		Test:  "internal/lock/hold TestADownscaleByLockstepIsDatedByTheLatestTimeOfItsUpdate", Rule: "dated",
	},
	{
		Name:  "another downscale that the webhook admits as lockstep's own",
		Edits: []Edit{{downscale, "d.From == other.From && d.To == other.To", "d.From == other.From"}},
		Test:  "internal/plan/group TestAdmit", Rule: "another_downscale_than_the_recorded_downscale_is_refused",
	},
	{
		Name:  "careful follower that scales up before its leader is ready",
		Edits: []Edit{{replicas, "if because.None() && leader.Replicas == replicas {", "if leader.Replicas == replicas {"}},
		Test:  scenarios + "follower-that-waits-for-leader-waits-for-missing-pod-of-leader", Rule: "LeaderNotReady",
	},
	{
		Name:  "follower that scales up one plan later than its leader",
		Edits: []Edit{{replicas, "\treturn wish{replicas: b.replicasAfterScaleUp(leader), because: reason.LeaderFollowed}\n", "\treturn wish{replicas: leader.Replicas, because: reason.LeaderFollowed}\n"}},
		Test:  scenarios + "one-plan-scales-up-a-chain-of-followers", Rule: "set zone-c",
	},
	{
		Name:  "leader that takes precedence over forced replicas",
		Edits: []Edit{{replicas, "\tcase z.Forced.Given:\n\t\treturn plausible(", "\tcase z.Forced.Given && z.Leader == \"\":\n\t\treturn plausible("}},
		Test:  scenarios + "forced-replicas-take-precedence-over-leader", Rule: "ReplicasForced",
	},
	{
		Name:  "replicas not added when the hold cannot be written",
		Edits: []Edit{{"internal/plan/group/set_replicas.go", "if a.To > a.From {", "if a.To < 0 {"}},
		Test:  "internal/act TestReplicasAreAddedThoughTheHoldCannotBeWritten", Rule: "PATCH statefulsets/zone-b",
	},
	{
		Name:  "downscale admitted although a pod declined preparation",
		Edits: []Edit{{downscaleSteps, "\tcase called.Failed != \"\" && called.Delivered:\n", "\tcase called.Failed != \"\" && called.Delivered && false:\n"}, {downscaleSteps, "\tcase called.Failed != \"\":\n", "\tcase false:\n"}},
		Test:  scenarios + "pod-that-declines-preparation-cancels-downscale", Rule: "admitted because LeaderFollow",
	},
	{
		Name:  "pod that started after the acknowledgements removed without a call",
		Edits: []Edit{{downscaleSteps, "if d.Stage == Admitted && d.Called != Fingerprint(leaves.ask) {", "if d.Stage == Admitted && d.Called == \"\" && len(leaves.ask) > 0 {"}},
		Test:  scenarios + "pod-that-starts-after-acknowledgements-cancels-admitted-downscale", Rule: "cancel downscale zone-b",
	},
	{
		Name:  "pods called under a record that is gone stay prepared",
		Edits: []Edit{{downscaleSteps, "b.undoOrphanedPreparation(); steps != nil", "b.undoOrphanedPreparation(); false && steps != nil"}},
		Test:  "internal/plan/group TestPodsCalledInVainAreNotifiedToStay", Rule: "the record is gone",
	},
	{
		Name:  "pods prepared under a record that is replaced stay prepared",
		Edits: []Edit{{prepareDownscale, "\t\treturn v.Former\n", "\t\treturn group.Downscale{}\n"}},
		Test:  "internal/serve/admission TestPodsPreparedForAReplacedDownscaleAreNotifiedToStay", Rule: "no_pod_receives_the_next_call",
	},
	{
		Name:  "pods prepared under a record of another leader that is replaced stay prepared",
		Edits: []Edit{{"internal/act/podcalls/preparations.go", "former.Stage == group.Undoing && !(former.Ours && g.recorded.Same(former))", "false"}},
		Test:  "internal/act/podcalls TestOnlyTheProcessThatRecordedADownscaleKnowsThatNoPodWasCalled", Rule: "in_place_of_a_record_of_another_process",
	},
	{
		Name:  "downscale that is no longer wanted counts as a failure",
		Edits: []Edit{{downscaleSteps, "\td.Ours = d.Ours && z.wishesFor(d)\n", ""}, {downscaleSteps, "\tz, _ := b.zoneState(d.Zone)\n\treturn []plan.Action{RecordDownscale", "\treturn []plan.Action{RecordDownscale"}},
		Test:  "internal/plan/group TestADownscaleThatIsNotRequestedAnyMoreIsUndoneWithoutAFailure", Rule: "want that the downscale is undone",
	},
	{
		Name:  "leader that takes precedence over a mirrored resource",
		Edits: []Edit{{replicas, "\tcase z.Mirror.Configured():", "\tcase z.Mirror.Configured() && z.Leader == \"\":"}},
		Test:  scenarios + "mirrored-resource-takes-precedence-over-leader", Rule: "record zone-b",
	},
	{
		Name:  "any number of replicas accepted",
		Edits: []Edit{{replicas, "\tif w.replicas <= MaxReplicas {", "\tif w.replicas >= 0 {"}},
		Test:  scenarios + "replica-count-above-100000-changes-nothing", Rule: "set zone-a from 1 to 2000000000",
	},
	{
		Name:  "status of a mirrored resource that reports its first zone alone",
		Edits: []Edit{{mirror, "(least < 0 || z.Replicas < least)", "least < 0"}},
		Test:  scenarios + "resource-status-reports-smallest-replicas-of-mirroring-zones", Rule: "report ",
	},
	{
		Name:  "overwritten report repeated at once",
		Edits: []Edit{{mirror, "m.Scale.Reported && b.contested(m).None() {", "m.Scale.Reported {"}},
		Test:  scenarios + "overwritten-report-is-not-repeated-at-once", Rule: "report 1 to",
	},
	{
		Name:  "overwritten replicas corrected at once",
		Edits: []Edit{{contest, "\tif !c.Contested() || !c.Overwritten || c.At.After(now) || !now.Before(until) {", "\tif true || now.After(until) {"}},
		Test:  scenarios + "third-overwrite-of-replicas-is-corrected-after-pause", Rule: "set zone-b from 2 to 4",
	},
	{
		Name:  "follower that waits for the end of a contest when its leader scales up",
		Edits: []Edit{{contest, "\tcase w.none() || w.immediate != c.Replicas:", "\tcase w.none():"}},
		Test:  scenarios + "follower-follows-leader-at-once-during-contest", Rule: "ReplicasContested",
	},
	{
		Name:  "follower that scales down with a contested zone",
		Edits: []Edit{{replicas, "\tif !z.contest.objection(b.Now).None() {\n\t\treturn z.wish.replicas", "\tif false {\n\t\treturn z.wish.replicas"}},
		Test:  scenarios + "follower-of-contested-zone-keeps-its-replicas", Rule: "zone-c",
	},
	{
		Name:  "pause after overwritten replicas without an upper limit",
		Edits: []Edit{{contest, "\treturn min(pause, longestPause)", "\treturn pause * 1000"}},
		Test:  "internal/plan/group TestWritesAgainstAnotherWriterAreSpacedOut", Rule: "lockstep writes at other seconds",
	},
}
