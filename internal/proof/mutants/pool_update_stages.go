package mutants

const (
	poolStages   = "internal/plan/pool/in_place_stages.go"
	poolService  = "internal/plan/pool/service.go"
	poolSurge    = "internal/plan/pool/surge.go"
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
		Edits: []Edit{{poolSurge, "known && !change.Equal && !pod.Asked", "known && (!change.Equal || true) && !pod.Asked"}},
		Test:  poolScenarios + "no-surge-for-pods-of-the-partition", Rule: "create 2 pods",
	},
	{
		Name:  "surge for pods of the partition",
		Edits: []Edit{{poolSurge, "replaced := -s.Partition.Of(p.Object.Replicas)", "replaced := 0"}},
		Test:  poolScenarios + "no-surge-for-pods-of-the-partition", Rule: "create 2 pods",
	},
	{
		Name:  "surge while updates are paused",
		Edits: []Edit{{poolSurge, "|| p.Object.Paused ||", "||"}},
		Test:  poolScenarios + "no-surge-while-updates-are-paused", Rule: "wait web because UpdatesPaused",
	},
	{
		Name:  "surge that is not available counted",
		Edits: []Edit{{poolSurge, "return max(0, p.countAvailable()-p.Object.Replicas)", "return max(0, len(p.staying)-p.Object.Replicas)"}},
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
		Edits: []Edit{{poolService, "look.Missing != \"\" && len(births) > 0", "false"}},
		Test:  poolScenarios + "a-service-that-was-missing-is-looked-up-with-the-next-birth", Rule: "create 1 pods",
	},
}
