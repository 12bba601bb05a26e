package mutants

const (
	poolStages   = "internal/plan/pool/in_place_stages.go"
	poolService  = "internal/plan/pool/service.go"
	poolSurge    = "internal/plan/pool/surge.go"
	poolReplicas = "internal/plan/pool/replicas.go"
	actStages    = "internal/act/pool_update_stages.go"
	poolResize   = "internal/cluster/pools/resize.go"
	resizeIsRead = "internal/cluster/pools TestTheGateAndTheResizeOfAPodAreRead/"
)

// poolUpdateStages are mistakes in updates in place that take several stages.
var poolUpdateStages = []Mutant{
	{
		Name:  "resize without a mark",
		Edits: []Edit{{poolStages, "(grace > 0 || len(resources) > 0 || pod.Update.Begun)", "grace > 0"}},
		Test:  poolScenarios + "an-update-of-resources-begins-with-a-mark", Rule: "resize web-a",
	},
	{
		Name:  "update that is not recorded goes on",
		Edits: []Edit{{poolStages, "return pod.Update.Begun && i.Cause == reason.UpdatedInPlace && i.UID == pod.UID && i.Version == pod.Update.At", "return pod.Update.Begun || i.Cause == \"\" && pod.Update.Begun"}},
		Test:  poolScenarios + "an-update-that-is-not-recorded-any-more-begins-again", Rule: "update web-a of web in place",
	},
	{
		Name:  "begun update counts as available",
		Edits: []Edit{{poolInPlace, "if p.Update.Begun {", "if false {"}},
		Test:  poolScenarios + "an-image-waits-until-resources-are-applied", Rule: "begin to update web-a",
	},
	{
		Name:  "image with the resources",
		Edits: []Edit{{poolStages, "case len(resources) > 0:", "case len(resources) > 0 && len(change.Images) == 0:"}},
		Test:  poolScenarios + "resources-change-before-the-image", Rule: "update web-a of web in place",
	},
	{
		Name:  "image before the kubelet has applied the resources",
		Edits: []Edit{{poolStages, "case pod.Update.Begun && pod.Resize != Resized:", "case false:"}},
		Test:  poolScenarios + "an-image-waits-until-resources-are-applied", Rule: "update web-a of web in place",
	},
	{
		Name:  "former resources forgotten",
		Edits: []Edit{{poolStages, "!changes && had && pod.Update.Begun {", "false && had {"}},
		Test:  poolScenarios + "a-template-that-goes-back-gives-a-pod-its-former-resources", Rule: "UpdatedByNewIdentity",
	},
	{
		Name:  "former resources overwritten when the update begins again",
		Edits: []Edit{{poolStages, "case had && pod.Update.Begun:", "case had && false:"}},
		Test:  "internal/plan/pool TestAnUpdateThatBeginsAgainKeepsTheFormerResources", Rule: "former",
	},
	{
		Name:  "resize that never fits is waited for",
		Edits: []Edit{{poolStages, "(pod.Resize == ResizeInfeasible || ", "(false || "}},
		Test:  poolScenarios + "resources-that-never-fit-are-changed-by-a-hand-over", Rule: "wait web because UpdateUnderway",
	},
	{
		Name:  "resize given up before the deadline",
		Edits: []Edit{{poolStages, "!ends.IsZero() && !p.Now.Before(ends))", "!ends.IsZero())"}},
		Test:  poolScenarios + "resources-that-do-not-fit-now-are-waited-for", Rule: "prepare hand-over",
	},
	{
		Name:  "resize waited for beyond the deadline",
		Edits: []Edit{{poolStages, "return pod.ResizeSince.Add(p.Object.Deadline)", "return pod.ResizeSince.Add(2 * p.Object.Deadline)"}},
		Test:  poolScenarios + "resources-that-do-not-fit-until-the-deadline-are-changed-by-a-hand-over", Rule: "wait web because UpdateUnderway",
	},
	{
		Name:  "gate not closed",
		Edits: []Edit{{poolStages, "case grace > 0 && pod.Gate == GateOpen:", "case false:"}},
		Test:  poolScenarios + "a-pod-leaves-its-clients-before-its-update", Rule: "wait web because UpdateUnderway",
	},
	{
		Name:  "grace period that begins with the update and not with the gate",
		Edits: []Edit{{poolStages, "end := pod.GateSince.Add(grace)", "end := pod.Update.Since.Add(grace)"}},
		Test:  poolScenarios + "a-gate-that-was-open-meanwhile-begins-the-grace-period-again", Rule: "update web-a of web in place",
	},
	{
		Name:  "grace period that begins before the gate is closed",
		Edits: []Edit{{"internal/act/pool_update_stages.go", "e.now().Add(time.Second)", "e.now()"}},
		Test:  "internal/act TestUpdatesInPlaceAreDatedByTheTimeOfTheirRequest/the gate", Rule: "it is dated",
	},
	{
		Name:  "grace period cut short",
		Edits: []Edit{{poolStages, "case grace > 0 && p.Now.Before(end):", "case false && p.Now.Before(end):"}},
		Test:  poolScenarios + "a-pod-keeps-running-for-its-grace-period", Rule: "update web-a of web in place",
	},
	{
		Name:  "gate opened before the containers have restarted",
		Edits: []Edit{{poolStages, "!pod.Gated && !pod.updating() {", "!pod.Gated {"}},
		Test:  poolScenarios + "a-gate-opens-once-the-containers-have-restarted", Rule: "open the gate of web-c",
	},
	{
		Name:  "begun update stopped by a pause",
		Edits: []Edit{{poolUpdate, "append(p.toReplace(), p.begun()...)", "p.toReplace()"}},
		Test:  poolScenarios + "a-pause-does-not-stop-an-update-that-has-begun", Rule: "wait web because UpdatesPaused",
	},
	{
		Name:  "begun update stopped because others have failed",
		Edits: []Edit{{poolUpdate, "case pod.Update.Begun && p.hasRoom(pod): // it is unavailable", "case false: // it is unavailable"}},
		Test:  poolScenarios + "an-update-that-has-begun-ends-although-others-have-failed", Rule: "wait web because PodStarting",
	},
	{
		Name:  "begun update not counted by the invariants",
		Edits: []Edit{{"internal/lock/invariant/pools/view.go", "if p.Update.Revision == \"\" || p.Update.Begun {\n\t\treturn p.Update.Begun\n", "if p.Update.Revision == \"\" {\n\t\treturn false\n"}},
		Test:  "internal/lock/invariant/pools TestEveryRuleOfPlansCanBeBrokenAlone/an update in place that has only begun is dropped", Rule: "RecordKept",
	},
	{
		Name:  "stage without a record not noticed by the invariants",
		Edits: []Edit{{"internal/lock/invariant/pools/budget.go", "for _, d := range stages(steps) {\n\t\tif p, _", "for _, d := range stages(nil) {\n\t\tif p, _"}},
		Test:  "internal/lock/invariant/pools TestEveryRuleOfPlansCanBeBrokenAlone/a pod is resized without a record", Rule: "RecordedFirst",
	},
	{
		Name:  "resize without the version",
		Edits: []Edit{{actStages, "c := change{Metadata: changedMetadata{UID: a.UID, ResourceVersion: a.Version.String()}, Spec", "c := change{Metadata: changedMetadata{UID: a.UID}, Spec"}},
		Test:  updatesOfPool + "exactly this pod is resized", Rule: "resourceVersion",
	},
	{
		Name:  "resize that is refused is repeated for ever",
		Edits: []Edit{{actStages, "if apierrors.IsInvalid(err) || ", "if "}},
		Test:  updatesOfPool + "a resize that the API server refuses is impossible", Rule: "db-1 with db-2",
	},
	{
		Name:  "resources that the container lacked changed in place",
		Edits: []Edit{{"internal/render/resources.go", "after != was && sameFields(was, after)", "after != was"}},
		Test:  compareTest + "resources that the container lacked", Rule: "InPlace",
	},
	{
		Name:  "quality of service class changed in place",
		Edits: []Edit{{compare, "&& qualityOf(from) == qualityOf(to)", ""}},
		Test:  compareTest + "resources and the quality of service", Rule: "InPlace",
	},
	{
		Name:  "gate without a condition taken for open",
		Edits: []Edit{{poolResize, "return pool.GateClosed, time.Time{}", "return pool.GateOpen, time.Time{}"}},
		Test:  resizeIsRead + "a gate without a condition", Rule: "gate 2",
	},
	{
		Name:  "resize done before the kubelet reports it",
		Edits: []Edit{{poolResize, "if !isResized(p) {", "if false {"}},
		Test:  resizeIsRead + "former resources", Rule: "resize 0",
	},
}

// standing are mistakes in updates in place that cannot go on.
var standing = []Mutant{
	{
		Name:  "pod kept from its clients while its update cannot go on",
		Edits: []Edit{{poolUpdate, "steps = append(steps, p.standingGates(steps, waitsFor)...)", "p.standingGates(steps, waitsFor)"}},
		Test:  poolScenarios + "a-pod-serves-while-its-update-is-impossible-in-place", Rule: "wait web because InPlaceImpossible",
	},
	{
		Name:  "pod whose update has become impossible counts as unavailable for ever",
		Edits: []Edit{{poolUpdate, "case policy == InPlaceOnly && pod.Update.Begun &&", "case false && pod.Update.Begun &&"}},
		Test:  poolScenarios + "an-update-that-is-impossible-in-place-ends", Rule: "wait web because InPlaceImpossible",
	},
	{
		Name:  "update that ends because resources do not fit, and begins again",
		Edits: []Edit{{poolUpdate, "pod.Update.Begun && !change.InPlace && !change.Equal:", "pod.Update.Begun:"}},
		Test:  poolScenarios + "resources-that-never-fit-stay-if-only-updates-in-place-are-allowed", Rule: "resize web-a",
	},
	{
		Name:  "update that ends with the resources of another template",
		Edits: []Edit{{poolStages, "switch resizes := len(toResize(pod, former)) > 0; {", "switch resizes := false; {"}},
		Test:  poolRuns, Rule: "EndedWhole",
	},
	{
		Name:  "update that ends before the kubelet has applied the former resources",
		Edits: []Edit{{poolStages, "case underway:", "case false:"}},
		Test:  poolScenarios + "an-update-does-not-end-before-former-resources-are-applied", Rule: "open the gate of web-a",
	},
	{
		Name:  "former resources that never fit waited for",
		Edits: []Edit{{poolStages, ", underway && p.resizeFails(pod, former):", ":"}},
		Test:  poolScenarios + "an-update-does-not-end-if-former-resources-never-fit", Rule: "UpdateUnderway",
	},
	{
		Name:  "former resources that are refused asked for again",
		Edits: []Edit{{poolStages, "case resizes && change.From == nil, ", "case "}},
		Test:  poolScenarios + "former-resources-that-are-refused-are-not-asked-for-again", Rule: "resize web-a",
	},
	{
		Name:  "update that ends while its gate is closed",
		Edits: []Edit{{poolStages, "case pod.Gate == GateClosed:", "case false:"}},
		Test:  poolScenarios + "a-pod-serves-while-its-update-is-impossible-in-place", Rule: "end the update of web-a",
	},
	{
		Name:  "end of an update without the version",
		Edits: []Edit{{actStages, "UID: a.UID, ResourceVersion: a.Version.String(), Annotations:", "UID: a.UID, Annotations:"}},
		Test:  updatesOfPool + "an update that cannot go on ends without a mark", Rule: "resourceVersion",
	},
	{
		Name:  "way back that is refused repeated for ever",
		Edits: []Edit{{poolChange, "if pod.Revision == p.newest.Name && !known {", "if pod.Revision == p.newest.Name {"}},
		Test:  poolScenarios + "a-way-back-that-the-api-server-refuses-is-not-repeated", Rule: "resize web-a",
	},
	{
		Name:  "update in place that becomes a hand-over while updates are paused",
		Edits: []Edit{{poolUpdate, "if rests && pod.Update.Begun && step", "if rests && false && pod.Update.Begun && step"}},
		Test:  poolScenarios + "a-pause-lets-no-update-in-place-become-a-hand-over", Rule: "hand-over",
	},
	{
		Name:  "last copy given up because of its volume",
		Edits: []Edit{{poolRepair, "ailment{reason.VolumeUnreachable, doubtful, ", "ailment{reason.VolumeUnreachable, damaged, "}},
		Test:  poolScenarios + "the-last-copy-is-not-given-up-because-of-its-volume", Rule: "delete web-a",
	},
	{
		Name:  "volume given up after one look",
		Edits: []Edit{{poolRepair, "p.Volumes[pod.UID].Since.Add(lookAtVolumesAgain)}", "p.Volumes[pod.UID].Since}"}},
		Test:  poolScenarios + "a-volume-that-was-out-of-reach-once-is-looked-at-again", Rule: "delete web-a",
	},
	{
		Name:  "hand-over without a timeout given up because of its volume",
		Edits: []Edit{{poolRepair, "(pod.From == \"\" || p.Object.HandoverTimeout > 0):", "true:"}},
		Test:  poolScenarios + "a-hand-over-without-a-timeout-waits-for-its-volume", Rule: "delete web-a",
	},
}

// surges are mistakes in updates that create new identities before others leave, and in what nothing waits for.
var surges = []Mutant{
	{
		Name:  "surge for pods that only get another label",
		Edits: []Edit{{poolSurge, "outdated += one(!change.Equal)", "outdated += one(!change.Equal || compared)"}},
		Test:  poolScenarios + "no-surge-for-pods-of-the-partition", Rule: "create 2 pods",
	},
	{
		Name:  "surge for pods of the partition",
		Edits: []Edit{{poolSurge, "outdated - s.Partition.Of(p.Object.Replicas)", "outdated"}},
		Test:  poolScenarios + "no-surge-for-pods-of-the-partition", Rule: "create 2 pods",
	},
	{
		Name:  "surge that is not available counted",
		Edits: []Edit{{poolSurge, "available += one(!p.down(&pod))", "available += one(pod.Name != \"\")"}},
		Test:  poolScenarios + "an-outdated-pod-stays-until-the-surge-is-available", Rule: "delete web-a",
	},
	{
		Name:  "no pod that a person names leaves if no update may make one unavailable",
		Edits: []Edit{{poolUpdate, "if cause == reason.ReplacementAsked || cause == reason.ClaimLost {", "if cause == reason.ClaimLost {"}},
		Test:  poolScenarios + "what-a-person-names-leaves-although-no-update-may-make-a-pod-unavailable", Rule: "delete web-a",
	},
	{
		Name:  "updates that have begun wait for each other",
		Edits: []Edit{{poolUpdate, "case pod.Update.Begun && p.hasRoom(pod):", "case p.hasBegun(pod) && p.hasRoom(pod):"}},
		Test:  poolScenarios + "updates-that-have-begun-begin-again-although-both-are-unavailable", Rule: "begin to update web-b",
	},
	{
		Name:  "Service looked up in each plan",
		Edits: []Edit{{poolService, "look.Generation == p.Object.Generation && !again {", "!again && false {"}},
		Test:  poolScenarios + "a-service-that-was-found-is-not-looked-up-again", Rule: "look up Service web",
	},
	{
		Name:  "Service that was missing never looked up again",
		Edits: []Edit{{poolService, "(len(births) > 0 || !p", "(!p"}},
		Test:  poolScenarios + "a-service-that-was-missing-is-looked-up-with-the-next-birth", Rule: "create 1 pods",
	},
	{
		Name:  "update in the place of a pod that is recorded to leave",
		Edits: []Edit{{poolSurplus, "(p.excess() > 0 || p.stillLeave() > 0)", "p.excess() > 0"}},
		Test:  poolScenarios + "an-update-does-not-take-the-place-of-a-pod-that-is-recorded-to-leave", Rule: "because UpdatedByNewIdentity",
	},
	{
		Name:  "Service that is missing permanently",
		Edits: []Edit{{poolService, " || !p.serviceIsDue().After(p.Now))", ")"}},
		Test:  poolScenarios + "a-service-that-was-missing-is-looked-up-again-after-a-while", Rule: "look up Service web",
	},
	{
		Name:  "Service for which nothing wakes lockstep up",
		Edits: []Edit{{"internal/plan/pool/workload.go", "s.Service.Missing != \"\" && at.After(s.Now)", "s.Service.Missing == \"\" && at.After(s.Now)"}},
		Test:  "internal/plan/pool TestAPlanIsMadeAgainWhenSomethingIsDue", Rule: "Service",
	},
	{
		Name:  "last copy given up as one of too many during a surge",
		Edits: []Edit{{poolSurge, "outdated += one(!change.Equal)", "outdated += one(!change.Equal && !p.ails(pod))"}, {poolSurplus, "isCopy && !p.mayGiveUpInDoubt(pod)", "false && isCopy"}},
		Test:  poolScenarios + "the-last-copy-is-not-too-many-during-a-surge", Rule: "ReplicasExceeded",
	},
	{
		Name:  "replacement during a surge that becomes a downscale",
		Edits: []Edit{{poolSurge, "outdated += one(!change.Equal)", "outdated += one(!change.Equal && !pod.Asked)"}},
		Test:  poolScenarios + "a-pod-that-is-asked-for-during-a-surge-is-no-downscale", Rule: "ReplicasExceeded",
	},
	{
		Name:  "pod that is too many once updates are paused",
		Edits: []Edit{{poolSurge, "!known || p.paused() && outdated > 0", "!known"}, {poolSurge, "s.Policy != Recreate || s.OnDelete", "s.Policy != Recreate || s.OnDelete || p.Object.Paused"}},
		Test:  poolScenarios + "a-surge-waits-while-updates-are-paused", Rule: "ReplicasExceeded",
	},
	{
		Name:  "pod created for an outdated one while updates are paused",
		Edits: []Edit{{poolSurge, "!known || p.paused() && outdated > 0", "!known"}},
		Test:  poolScenarios + "no-surge-begins-while-updates-are-paused", Rule: "create 1 pods",
	},
	{
		Name:  "pod that is too many until the next template is compared",
		Edits: []Edit{{poolSurge, "return 0, 0, false", "return 0, 0, true"}},
		Test:  poolScenarios + "a-surge-waits-while-the-template-is-not-compared", Rule: "ReplicasExceeded",
	},
	{
		Name:  "identity that is not kept beside a surge",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "p.Object.Replicas+max(p.surge, p.placesInDoubt())-withData", "p.Object.Replicas-withData"}},
		Test:  poolScenarios + "an-identity-is-kept-beside-a-surge", Rule: "keep identity",
	},
	{
		Name:  "pods of a surge that leave as if fewer were asked for",
		Edits: []Edit{{poolSurplus, "if i < lowered || !p.recordsReplicas() {", "if i >= 0 || i < lowered {"}},
		Test:  poolRuns, Rule: "LoweredOnly",
	},
	{
		Name:  "two pods that leave for one that is not asked for any more",
		Edits: []Edit{{poolReplicas, "part.Replicas -= one(", "part.Replicas -= 0 * one("}},
		Test:  poolRuns, Rule: "LoweredOnly",
	},
	{
		Name:  "number of replicas that an older view raises",
		Edits: []Edit{{poolReplicas, "read := plan.IfInherited", "read := plan.OnCaches"}},
		Test:  poolScenarios + "more-replicas-are-recorded-after-a-live-read-by-another-process", Rule: "hold: read live",
	},
	{
		Name:  "recorded end that is not taken back",
		Edits: []Edit{{poolReplicas, "part.Replicas += one(", "part.Replicas += 0 * one("}},
		Test:  "internal/plan/pool TestAPodWhoseRecordIsDroppedMayLeaveLater", Rule: "replicas",
	},
	{
		Name:  "recorded end of a pod that was released, taken back",
		Edits: []Edit{{poolReplicas, "s.owns(&pod) && pod.Active()", "pod.Active()"}},
		Test:  "internal/plan/pool TestAPodThatIsGoneFromThePoolIsNotCountedAgain", Rule: "it is released: got",
	},
	{
		Name:  "recorded end of a pod that ends all the same, taken back",
		Edits: []Edit{{poolReplicas, "s.owns(&pod) && pod.Active()", "s.owns(&pod)"}},
		Test:  "internal/plan/pool TestAPodThatIsGoneFromThePoolIsNotCountedAgain", Rule: "it terminates: got",
	},
	{
		Name:  "downscale that caches show as complete",
		Edits: []Edit{{poolReplicas, "\tif a.Lowered {\n\t\tread = plan.Always\n\t}\n", ""}},
		Test:  poolScenarios + "a-downscale-that-is-complete-is-recorded-after-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "pod that was recorded to leave and gets the place of a surge",
		Edits: []Edit{{poolReplicas, "n += one(scalesDown(p.Hold.Intents, pods[i].UID))", "_ = i"}},
		Test:  poolScenarios + "a-pod-that-was-recorded-to-leave-has-no-place-of-a-surge", Rule: "ScaledDown",
	},
	{
		Name:  "pod that was recorded to leave and leaves for another cause",
		Edits: []Edit{{poolReplicas, "range [][]Pod{p.staying, p.leaving}", "range [][]Pod{p.leaving}"}},
		Test:  poolScenarios + "a-pod-that-was-recorded-to-leave-is-counted-once", Rule: "ScaledDown",
	},
	{
		Name:  "downscale that waits for the end of a pause",
		Edits: []Edit{{poolSurge, " - p.Object.Replicas - lowered", " - p.Object.Replicas"}},
		Test:  poolScenarios + "a-downscale-does-not-wait-for-the-end-of-a-pause", Rule: "ScaledDown",
	},
	{
		Name:  "last copy that is too many",
		Edits: []Edit{{poolSurplus, "isCopy && !p.mayGiveUpInDoubt(pod)", "false && isCopy"}},
		Test:  poolScenarios + "pods-that-are-too-many-stay-while-a-copy-is-in-doubt", Rule: "DoubtKept",
	},
	{
		Name:  "end of a pod that is too many goes on in doubt",
		Edits: []Edit{{poolSurplus, "raised || p.isInDoubt(pod, because)", "raised"}},
		Test:  poolScenarios + "the-end-of-a-pod-that-is-too-many-is-cancelled-in-doubt", Rule: "DoubtKept",
	},
	{
		Name:  "copy in doubt although none is asked for",
		Edits: []Edit{{poolSurplus, "p.Object.Replicas > 0 && p.unwell(pod)", "p.unwell(pod)"}},
		Test:  poolScenarios + "without-replicas-no-copy-is-in-doubt", Rule: "TooManyUnhealthy",
	},
	{
		Name:  "pod that only the caches show as one too many",
		Edits: []Edit{{poolSurplus, "{reason.UpdatedByNewIdentity, reason.ReplicasExceeded}", "{reason.UpdatedByNewIdentity}"}},
		Test:  poolScenarios + "a-pod-that-is-too-many-leaves-after-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "downscale that stays recorded once it is complete",
		Edits: []Edit{{poolReplicas, "p.Part.Replicas > p.Object.Replicas && p.excess() == 0", "false"}},
		Test:  poolScenarios + "a-downscale-that-is-complete-is-recorded", Rule: "record 2 replicas",
	},
	{
		Name:  "downscale to none that counts as not recorded",
		Edits: []Edit{{poolReplicas, "if !part.Recorded {", "if part.Replicas == 0 {"}},
		Test:  "internal/plan/pool TestAPodMayLeaveLaterAlthoughNoneIsAskedFor", Rule: "want 1 replica",
	},
	{
		Name:  "downscale to none that the Lease does not keep",
		Edits: []Edit{{"internal/lock/record/pool.go", "p := pool.PartOf(part); p.Recorded {", "p := pool.PartOf(part); p.Replicas > 0 {"}},
		Test:  "internal/lock/record TestTheLeaseOfAStatefulClusterKeepsItsReplicas", Rule: "Recorded:true",
	},
	{
		Name:  "identity that a paused surge gives up",
		Edits: []Edit{{poolSurge, "existing+kept", "existing+0*kept"}},
		Test:  poolScenarios + "a-kept-identity-has-its-place-although-a-surge-is-paused", Rule: "keep identity of web-c",
	},
	{
		Name:  "identity that is given up and keeps a place of a surge",
		Edits: []Edit{{poolState, "p.surgeWanted(len(recorded) + len(unrecorded))", "p.surgeWanted(len(p.recordedOver) + len(p.unrecordedHandovers()) + 0*len(recorded))"}},
		Test:  poolScenarios + "an-identity-that-is-given-up-has-no-place-of-a-surge", Rule: "create 1 pods of web",
	},
	{
		Name:  "partition that births and hand-overs use twice",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", " - p.atCurrent(successors)", " - 0*successors"}},
		Test:  poolScenarios + "births-and-hand-overs-share-the-partition", Rule: "create 1 pods of web at 1",
	},
	{
		Name:  "places that nothing keeps if few claims are kept",
		Edits: []Edit{{poolClaims, "return c.DeleteWhenReplaced || c.Limit != nil", "return c.DeleteWhenReplaced"}},
		Test:  poolScenarios + "an-identity-that-is-perhaps-handed-over-has-its-place-if-few-keep-claims", Rule: "create 1 pods",
	},
	{
		Name:  "terminating pod with two places while the hold cannot be read",
		Edits: []Edit{{poolState, "pod.Phase == plan.Terminating && !p.isAwaited(&pod) ||", "pod.Phase == plan.Terminating ||"}},
		Test:  poolScenarios + "a-terminating-pod-has-one-place-while-the-hold-cannot-be-read", Rule: "create 1 pods",
	},
	{
		Name:  "grace period that begins again after a restart",
		Edits: []Edit{{"internal/plan/pool/in_place_stages.go", "p.newest.Name == \"\" && p.Refused.None() || p.newest.Name != \"\" && !known", "p.newest.Name == \"\" && p.Refused.None() && !known"}},
		Test:  poolScenarios + "a-grace-period-goes-on-after-a-restart", Rule: "open the gate of web-a",
	},
	{
		Name:  "grace period that begins again with another template",
		Edits: []Edit{{"internal/plan/pool/in_place_stages.go", "p.newest.Name == \"\" && p.Refused.None() || p.newest.Name != \"\" && !known", "p.newest.Name != \"\" && !known"}},
		Test:  poolScenarios + "a-grace-period-goes-on-while-a-template-is-checked", Rule: "open the gate of web-a",
	},
	{
		Name:  "pod without clients for as long as nothing is known about what differs",
		Edits: []Edit{{"internal/plan/pool/in_place_stages.go", "return unchecked && p.Now.Before(", "return unchecked || p.Now.Before("}},
		Test:  poolScenarios + "a-pod-serves-if-nothing-is-known-about-what-differs-for-long", Rule: "open the gate of web-a",
	},
	{
		Name:  "claims of an evicted identity without a place, deleted by one policy",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", "h.ID == id && h.Intent.UID == i.UID", "h.ID == id && h.Intent.UID == i.UID && !i.Granted()"}},
		Test:  poolScenarios + "an-evicted-identity-that-has-lost-its-place-is-not-needed", Rule: "because EvictionGranted",
	},
	{
		Name:  "orphan that is gone and keeps a place",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "gone := !shown && o.Labelled", "gone := shown && o.Labelled"}},
		Test:  poolScenarios + "an-orphan-that-is-gone-keeps-no-place", Rule: "create 1 pods",
	},
	{
		Name:  "pods that exist and are not recorded while others cannot be created",
		Edits: []Edit{{poolReplicas, "to = min(to, len(p.staying))", "to = 0"}},
		Test:  poolScenarios + "pods-that-exist-are-recorded-although-others-cannot-be-created", Rule: "record 3 replicas",
	},
	{
		Name:  "lower number that is recorded as how many pods exist",
		Edits: []Edit{{poolReplicas, "len(births) > 0 && !lowered", "len(births) > 0"}},
		Test:  poolScenarios + "a-lower-number-is-recorded-as-it-is-while-pods-are-missing", Rule: "record 2 replicas",
	},
	{
		Name:  "pod without data that stays in doubt",
		Edits: []Edit{{poolSurplus, "p.hasClaims(pod) && !p.hasNoData(pod)", "!pod.Asked"}},
		Test:  poolScenarios + "a-pod-without-data-leaves-in-doubt", Rule: "delete web-b",
	},
	{
		Name:  "losses of the same second that do not count",
		Edits: []Edit{{"internal/plan/pool/pause.go", "other.Created < pod.Created || other.Created == pod.Created && other.Name < pod.Name", "other.Created < pod.Created"}},
		Test:  poolScenarios + "pods-that-ended-in-the-same-second-count-once", Rule: "ReplacementPaused web-c",
	},
	{
		Name:  "next pod at no revision",
		Edits: []Edit{{"internal/plan/pool/hand_over.go", "h.Unrecorded || p.current.Name == \"\"", "h.Unrecorded"}},
		Test:  poolScenarios + "no-pod-is-handed-over-at-no-revision", Rule: "hand over a of web at",
	},
	{
		Name:  "pods with the newest template that stay outdated without updates",
		Edits: []Edit{{"internal/plan/pool/update.go", "if objection.Code == reason.UpdatesByDeletion {", "if objection.Code == \"\" {"}},
		Test:  poolScenarios + "on-delete-names-the-revision-of-pods-that-have-it-already", Rule: "relabel web-a",
	},
	{
		Name:  "held-back template for pods that end together",
		Edits: []Edit{{poolRevision, "s.revisionNamed(s.Object.Current); recorded.Name != \"\"", "s.revisionNamed(s.Object.Current); false && recorded.Name != \"\""}},
		Test:  poolScenarios + "kept-identities-that-end-together-get-their-template-again", Rule: "hand over a of web at 2",
	},
	{
		Name:  "update that is never complete",
		Edits: []Edit{{poolRevision, "s.atNewest() >= s.Object.Replicas", "s.atNewest() < 0"}},
		Test:  "internal/plan/pool TestACompleteUpdateEndsTheRevisionBeforeIt", Rule: "want 2",
	},
	{
		Name:  "update that a terminating pod completes",
		Edits: []Edit{{poolRevision, "s.owns(p) && p.Active() && p.Revision == newest", "s.owns(p) && p.Revision == newest"}},
		Test:  poolScenarios + "a-terminating-pod-completes-no-update", Rule: "create 1 pods of web at 2",
	},
	{
		Name:  "revision that pods had, deleted with them",
		Edits: []Edit{{poolRevision, "r.Name == p.newest.Name || r.Name == p.current.Name ||", "r.Name == p.newest.Name ||"}},
		Test:  poolScenarios + "the-revision-of-the-status-is-kept", Rule: "delete revision 1",
	},
	{
		Name:  "revision that only a terminating pod has",
		Edits: []Edit{{"internal/plan/pool/revision.go", "return s.owns(&p) && p.Active() && p.Revision == r.Name", "return s.owns(&p) && p.Revision == r.Name"}},
		Test:  poolScenarios + "a-revision-that-only-a-terminating-pod-has-is-not-chosen", Rule: "create 1 pods of web at 3",
	},
	{
		Name:  "losses of an earlier object that prolong the pause",
		Edits: []Edit{{"internal/plan/pool/pause.go", "c.Pool == p.Object.UID && c.Retired && slices", "c.Retired && slices"}},
		Test:  poolScenarios + "identities-that-an-earlier-object-has-lost-do-not-count", Rule: "ReplacementPaused",
	},
	{
		Name:  "eviction of a pod that is down for which updates wait",
		Edits: []Edit{{"internal/plan/pool/queue.go", "p.granted(pod) && p.available(pod)", "p.granted(pod)"}},
		Test:  poolScenarios + "a-granted-eviction-of-a-pod-that-is-down-delays-no-update", Rule: "queue rollout",
	},
	{
		Name:  "ordered pods that stop behind a dead node",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "pod.Phase == plan.Terminating && pod.EndsBy.After(p.Now)", "pod.Phase == plan.Terminating"}},
		Test:  poolScenarios + "an-ordered-pod-is-born-although-one-does-not-end", Rule: "create 1 pods",
	},
	{
		Name:  "marks of claims that only the last claim confirms",
		Edits: []Edit{{"internal/plan/pool/hand_over.go", "prepare.Newer = prepare.Newer || c.Version > p.PodsAt", "prepare.Newer = c.Version > p.PodsAt"}},
		Test:  poolScenarios + "claims-that-are-newer-than-the-pods-are-marked-after-a-live-read", Rule: "read live",
	},
	{
		Name:  "place of an identity while the hold cannot be read",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "p.vacant()-p.perhapsHandedOver())", "p.vacant())"}},
		Test:  poolScenarios + "an-identity-that-is-perhaps-handed-over-has-its-place", Rule: "create 2 pods",
	},
	{
		Name:  "place of an identity while the hold cannot be read that is kept without a word",
		Edits: []Edit{{"internal/plan/pool/plan.go", "p.vacant() > 0 && p.perhapsHandedOver() > 0:", "false:"}},
		Test:  poolScenarios + "a-pod-that-is-perhaps-handed-over-under-other-labels-is-waited-for", Rule: "nothing",
	},
	{
		Name:  "wait for an identity that is perhaps handed over although no place is empty",
		Edits: []Edit{{"internal/plan/pool/plan.go", "p.vacant() > 0 && p.perhapsHandedOver() > 0:", "p.perhapsHandedOver() > 0:"}},
		Test:  poolScenarios + "an-identity-that-is-perhaps-handed-over-is-not-waited-for-if-no-place-is-empty", Rule: "HoldUnreadable",
	},
	{
		Name:  "two places of an identity while the hold cannot be read",
		Edits: []Edit{{poolState, "ends && !p.isHandedOver(c.ID) && p.complete", "ends && p.complete"}},
		Test:  poolScenarios + "a-kept-identity-has-one-place-while-the-hold-cannot-be-read", Rule: "create 1 pods",
	},
	{
		Name:  "place of an identity that lacks a claim while the hold cannot be read",
		Edits: []Edit{{poolState, " && p.complete(c.ID, c.From) {", " {"}},
		Test:  poolScenarios + "an-identity-that-lacks-a-claim-has-no-place-while-the-hold-cannot-be-read", Rule: "create 1 pods",
	},
	{
		Name:  "identity of the only pod with data that a surge replaces",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "max(p.surge, p.placesInDoubt())", "p.surge"}},
		Test:  poolScenarios + "a-kept-identity-has-a-place-beside-the-only-pod-of-a-surge", Rule: "keep identity",
	},
	{
		Name:  "identity that is kept although a surge has replaced it",
		Edits: []Edit{{poolSurge, "p.countAvailable() >= p.Object.Replicas", "false"}},
		Test:  poolScenarios + "no-identity-is-kept-beside-as-many-available-pods", Rule: "keep identity",
	},
	{
		Name:  "identity that is kept beside a surge although fewer pods are asked for",
		Edits: []Edit{{poolSurge, "p.lowered() > 0 || ", ""}},
		Test:  poolScenarios + "no-identity-is-kept-beside-a-surge-once-fewer-pods-are-asked-for", Rule: "keep identity",
	},
	{
		Name:  "recorded end of a pod that serves, cancelled because of the record",
		Edits: []Edit{{poolSurplus, "p.unwell(pod) && !isLost", "p.down(pod) && !isLost"}},
		Test:  poolScenarios + "a-pod-that-is-named-leaves-as-recorded-although-others-are-down", Rule: "cancel deletion",
	},
	{
		Name:  "lost copy that stays because it is too many",
		Edits: []Edit{{poolSurplus, "isLost := p.ailing[pod.Name].cause == reason.NodeGone", "isLost := false"}},
		Test:  poolScenarios + "a-pod-that-is-too-many-leaves-at-once-if-its-node-is-gone", Rule: "TooManyUnhealthy",
	},
	{
		Name:  "any certain cause taken for a lost copy",
		Edits: []Edit{{poolSurplus, "isLost := p.ailing[pod.Name].cause == reason.NodeGone", "isLost := p.ails(pod) && p.ailing[pod.Name].certainty == 0"}},
		Test:  poolScenarios + "a-next-pod-that-lacks-a-claim-and-is-too-many-blocks-nothing", Rule: "DoubtKept",
	},
	{
		Name:  "recorded end that goes on although more are asked for",
		Edits: []Edit{{poolSurplus, "p.recordsReplicas() && lowered <= 0", "false"}},
		Test:  poolScenarios + "raising-again-cancels-although-a-surge-is-paused", Rule: "LoweredOnly",
	},
	{
		Name:  "template of an update that was taken back",
		Edits: []Edit{{poolRevision, "\t\treturn recorded\n", ""}},
		Test:  poolScenarios + "an-update-that-is-taken-back-does-not-return", Rule: "create 1 pods of web at 1",
	},
	{
		Name:  "claims of pods that were too many deleted by one policy",
		Edits: []Edit{{poolClaims, "isSurplus(c.Because) || c.Because == reason.HandoverUnneeded", "c.Because == reason.ScaledDown || c.Because == reason.HandoverUnneeded"}},
		Test:  poolScenarios + "claims-of-a-pod-that-was-too-many-need-both-policies", Rule: "delete 1 claims",
	},
	{
		Name:  "place that a terminating pod has lost while the hold cannot be read",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "exists && pod.Phase == plan.Terminating && !p.isAwaited(&pod) || !exists", "!exists && pod.Phase != plan.Terminating"}},
		Test:  poolScenarios + "no-pod-is-created-beside-one-that-perhaps-hands-over", Rule: "create 1 pods",
	},
}
