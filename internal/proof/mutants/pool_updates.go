package mutants

const (
	poolUpdate    = "internal/plan/pool/update.go"
	poolInPlace   = "internal/plan/pool/in_place_update.go"
	poolHandOver  = "internal/plan/pool/hand_over.go"
	poolState     = "internal/plan/pool/pool_state.go"
	poolRevision  = "internal/plan/pool/revision.go"
	poolChange    = "internal/plan/pool/change.go"
	compare       = "internal/render/compare.go"
	compareTest   = "internal/render TestCompare/"
	actUpdates    = "internal/act/pool_updates.go"
	actRevisions  = "internal/act/pool_revisions.go"
	poolRuns      = "internal/proof/sim/pools TestRuns"
	updatesOfPool = "internal/act TestUpdatesOfAStatefulCluster/"
)

// poolUpdates are mistakes in how lockstep updates StatefulClusters.
var poolUpdates = []Mutant{
	{
		Name:  "pause of a StatefulCluster that does not end",
		Edits: []Edit{{"internal/plan/pool/snapshot.go", "return o.Paused && o.PausedUntil.PausesAt(now)", "return o.Paused"}},
		Test:  poolScenarios + "updates-go-on-once-a-pause-is-over", Rule: "wait web because UpdatesPaused",
	},
	{
		Name:  "pause of a StatefulCluster that delays missing pods' template beyond its end",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "case p.newest.Name == \"\", p.paused():", "case p.newest.Name == \"\", p.Object.Paused:"}},
		Test:  poolScenarios + "missing-pods-get-the-newest-template-once-a-pause-is-over", Rule: "create 1 pods of web at 1",
	},
	{
		Name:  "pause of a StatefulCluster whose end triggers no reconcile",
		Edits: []Edit{{"internal/plan/pool/workload.go", "s.Object.Paused && end.After(s.Now)", "false && end.After(s.Now)"}},
		Test:  "internal/plan/pool TestAPlanIsMadeAgainWhenSomethingIsDue", Rule: "a_pause_ends",
	},
	{
		Name:  "pause of a StatefulCluster whose end is ignored",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "o.PausedUntil = contract.PausedUntil(u.GetAnnotations())", "o.PausedUntil = plan.Moment{}"}},
		Test:  "internal/cluster/pools TestThePauseAndTheAnnotationsOfAnObjectAreConverted", Rule: "paused true until",
	},
	{
		Name:  "pause whose end was moved during a live read",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "o.Paused, o.PausedUntil, o.Replicas", "o.Paused, plan.Moment{}, o.Replicas"}},
		Test:  "internal/cluster/pools TestSameDesiredStateComparesWhatDisruptionsDependOn", Rule: "its_end",
	},
	{
		Name:  "surge that keeps the places of pods that are to be scaled down",
		Edits: []Edit{{poolSurge, "\tcase lowered > 0:\n\t\treturn max(0, min(most, toCreate, existing))\n", ""}},
		Test:  poolScenarios + "lowering-before-a-surge-begins-takes-exactly-as-many", Rule: "create 1 pods",
	},
	{
		Name:  "surge although no pods are asked for",
		Edits: []Edit{{poolSurge, "s.OnDelete || p.Object.Replicas == 0", "s.OnDelete"}, {poolSurge, "\tcase lowered > 0:\n\t\treturn max(0, min(most, toCreate, existing))\n", ""}},
		Test:  poolScenarios + "scaling-to-none-during-a-surge-updates-no-pod", Rule: "LoweredFirst",
	},
	{
		Name:  "surge of pods that are too many although no pods are asked for",
		Edits: []Edit{{poolSurge, "s.OnDelete || p.Object.Replicas == 0", "s.OnDelete"}},
		Test:  poolScenarios + "pods-that-are-too-many-leave-as-such-if-none-is-asked-for", Rule: "LoweredFirst",
	},
	{
		Name:  "downscale that takes the pods which a partition holds back",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "earlier[max(0, len(earlier)-kept):]", "earlier[:0*kept]"}},
		Test:  poolScenarios + "a-held-back-revision-stays-when-replicas-are-lowered", Rule: "delete web-b of web because ScaledDown",
	},
	{
		Name:  "downscale that takes the pods which a pause holds back",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "kept = len(p.staying)", "kept += 0"}},
		Test:  poolScenarios + "a-paused-revision-stays-when-replicas-are-lowered", Rule: "delete web-b of web because ScaledDown",
	},
	{
		Name:  "downscale that takes all earlier pods if there are more than the partition keeps",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "earlier[max(0, len(earlier)-kept):]", "earlier[:len(earlier)*one(len(earlier) <= kept)]"}},
		Test:  poolScenarios + "lowering-keeps-as-many-earlier-pods-as-the-partition-says", Rule: "delete web-b of web because ScaledDown",
	},
	{
		Name:  "downscale that keeps the earlier pods which would be updated first",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "earlier[max(0, len(earlier)-kept):]", "earlier[:min(len(earlier), kept)]"}},
		Test:  poolScenarios + "a-percentage-of-the-partition-counts-of-the-lowered-replicas", Rule: "delete web-a of web because ScaledDown",
	},
	{
		Name:  "update that takes the place of a pod which has to leave",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "return (p.excess() > 0 || p", "return (p.excess() < 0 || p"}},
		Test:  poolScenarios + "without-a-record-no-pod-leaves-for-an-update-while-others-have-to-leave", Rule: "UpdatedByNewIdentity",
	},
	{
		Name:  "update that takes the place of a pod which has to leave, without a record",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "(p.toScaleDown() > 0 || !p.recordsReplicas())", "p.toScaleDown() > 0"}},
		Test:  poolScenarios + "without-a-record-no-pod-leaves-for-an-update-while-others-have-to-leave", Rule: "UpdatedByNewIdentity",
	},
	{
		Name:  "template that is complete because replicas are lowered",
		Edits: []Edit{{"internal/plan/pool/revision.go", "s.atNewest() >= s.Object.Replicas && !s.hasEarlier()", "s.atNewest() >= s.Object.Replicas"}},
		Test:  "internal/plan/pool TestTheTemplateThatIsHeldBackStaysTheCurrentOne", Rule: "the current revision is",
	},
	{
		Name:  "only copy that leaves as one of too many",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "|| unknown) && isCopy", "|| unknown && false) && isCopy"}},
		Test:  poolScenarios + "the-only-copy-on-a-silent-node-stays-beside-one-that-is-not-ready", Rule: "ScaledDown",
	},
	{
		Name:  "order that ends at once without a time to start",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "late := startup > 0 && ", "late := "}},
		Test:  poolScenarios + "ordered-pods-wait-without-end-if-no-time-is-given", Rule: "create 1 pods",
	},
	{
		Name:  "births that ignore how many pods may be unavailable",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "-p.starting()", ""}},
		Test:  poolScenarios + "no-more-pods-are-created-than-may-be-unavailable", Rule: "create 2 pods",
	},
	{
		Name:  "births that wait for a pod that never becomes Ready",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "return pod.Active() && !p.available(pod) && !late", "return pod.Active() && !p.available(pod) && (!late || p.Object.ScaleMaxUnavailable != Share{})"}},
		Test:  poolScenarios + "a-pod-that-never-starts-does-not-keep-others-from-being-created", Rule: "PodStarting",
	},
	{
		Name:  "update in place that is not recorded",
		Edits: []Edit{{poolInPlace, "func (a UpdateInPlace) Disruption() plan.Disruption { return a.Of }", "func (a UpdateInPlace) disruption() plan.Disruption { return a.Of }"}},
		Test:  poolScenarios + "an-image-is-updated-in-place", Rule: "hold: read live",
	},
	{
		Name:  "update in place that is complete once the pod is Ready",
		Edits: []Edit{{poolInPlace, "restarted = restarted || c.Name == name && c.Running && c.ID != before", "restarted = restarted || c.Name == name && before != \"\""}},
		Test:  poolScenarios + "one-pod-is-updated-at-a-time", Rule: "update web-b of web in place",
	},
	{
		Name:  "update in place that is complete before the kubelet has seen it",
		Edits: []Edit{{poolInPlace, "if p.Observed > 0 && p.Observed < p.Generation {", "if false {"}},
		Test:  poolScenarios + "an-update-that-the-kubelet-has-not-seen-is-not-complete", Rule: "hold: write free",
	},
	{
		Name:  "update in place that counts only while an intent says so",
		Edits: []Edit{{poolState, "pod.Available(s.Object.MinReady, s.Now) && !pod.updating()", "pod.Available(s.Object.MinReady, s.Now)"}},
		Test:  poolScenarios + "an-update-without-a-record-counts-as-well", Rule: "update web-b of web in place",
	},
	{
		Name:  "intents not counted as unavailable",
		Edits: []Edit{{poolState, "return p.openOf[pod.Name] || p.unwell(pod)", "return p.unwell(pod)"}},
		Test:  poolScenarios + "a-recorded-update-is-repeated", Rule: "update web-b of web in place",
	},
	{
		Name:  "missing pods not counted as unavailable",
		Edits: []Edit{{poolState, "return max(0, p.Object.Replicas-p.countAvailable())", "return max(0, len(p.staying)-p.countAvailable())"}},
		Test:  poolScenarios + "a-pod-that-terminates-uses-up-the-budget", Rule: "update web-a of web in place",
	},
	{
		Name:  "pod updated in a plan that creates pods",
		Edits: []Edit{{poolUpdate, "pod.Up() && (busy || givesUpCopy || after > most)", "pod.Up() && (givesUpCopy || after > most)"}},
		Test:  poolScenarios + "no-update-beside-a-birth", Rule: "update web-a of web in place",
	},
	{
		Name:  "pod that is down not updated beyond the budget",
		Edits: []Edit{{poolUpdate, "pod.Up() && (busy || givesUpCopy || after > most)", "(busy || givesUpCopy || after > most)"}},
		Test:  poolScenarios + "a-pod-that-is-down-is-updated-beyond-the-budget", Rule: "wait web",
	},
	{
		Name:  "maxUnavailable rounded down",
		Edits: []Edit{{"internal/plan/pool/strategy.go", "*int64(s.Percent) + 99) / 100)", "*int64(s.Percent)) / 100)"}},
		Test:  poolScenarios + "the-budget-is-rounded-up", Rule: "update web-b",
	},
	{
		Name:  "partition ignored",
		Edits: []Edit{{poolUpdate, "return pods[:max(0, len(pods)-p.Object.Strategy.Partition.Of(p.Object.Replicas))]", "return pods"}},
		Test:  poolScenarios + "the-partition-stays", Rule: "update web-b",
	},
	{
		Name:  "missing pods below the partition at the newest revision",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "p.Object.Strategy.Partition.Of(p.Object.Replicas)-earlier", "0-earlier"}},
		Test:  poolScenarios + "missing-pods-below-the-partition-get-the-current-revision", Rule: "create 3 pods",
	},
	{
		Name:  "recorded update that a pause does not cancel",
		Edits: []Edit{{poolUpdate, "\tif objection.None() {\n\t\tpods = append", "\tif objection.Code != reason.TemplateUnchecked {\n\t\tpods = append"}},
		Test:  poolScenarios + "a-recorded-update-is-cancelled-by-a-pause", Rule: "cancel deletion of web-a",
	},
	{
		Name:  "image that another client changed, updated in place",
		Edits: []Edit{{poolChange, "!change.Equal && change.From[c.Name] != c.Image", "false && c.Name != c.Image"}},
		Test:  poolScenarios + "an-image-that-another-client-changed-is-not-updated-in-place", Rule: "update web-a of web in place",
	},
	{
		Name:  "hand-over whose claims are not read",
		Edits: []Edit{{poolHandOver, "\t\tnext.Had = p.handedOver(h.ID, next.From)\n", ""}},
		Test:  "internal/plan/pool TestAHandOverDependsOnTheClaimsThatTheIdentityHad", Rule: "the plan hands over",
	},
	{
		Name:  "hand-over with a claim that has changed",
		Edits: []Edit{{"internal/act/pools.go", "string(now.UID) != c.UID || now.ResourceVersion != c.Version.String()", "string(now.UID) != c.UID"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/no next pod is created if a claim has changed", Rule: "POST pods",
	},
	{
		Name:  "hand-over with a claim that exists again",
		Edits: []Edit{{"internal/act/pools.go", "string(now.UID) != c.UID || now.ResourceVersion != c.Version.String()", "now.ResourceVersion != c.Version.String()"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/no next pod is created if a claim was created again", Rule: "POST pods",
	},
	{
		Name:  "handed-over identity, given up because of marks that came at the same time",
		Edits: []Edit{{"internal/plan/pool/repair.go", "len(p.formerClaims(pod)) == 0 && len(p.retired(pod.ID)) == 0:", "len(p.formerClaims(pod)) == 0:"}},
		Test:  poolScenarios + "a-successor-whose-claims-say-that-the-identity-has-ended-keeps-it", Rule: "because HandoverFailed",
	},
	{
		Name:  "hand-over beside the former pod",
		Edits: []Edit{{poolHandOver, "handover{ID: id, Intent: i, Overdue: s.overdue(pod)}", "handover{ID: id, Intent: i, Over: true, Overdue: s.overdue(pod)}"}},
		Test:  poolScenarios + "a-hand-over-waits-for-the-former-pod", Rule: "hand over a of web",
	},
	{
		Name:  "hand-over with a claim missing",
		Edits: []Edit{{poolHandOver, "return c.Template == sibling }) {\n\t\t\t\treturn false", "return c.Template == sibling }) {\n\t\t\t\treturn true"}},
		Test:  poolScenarios + "a-hand-over-without-a-claim-is-given-up", Rule: "hand over a of web",
	},
	{
		Name:  "hand-over of an identity whose claims are marked",
		Edits: []Edit{{poolHandOver, "!c.Retired && !c.Deleting && c.From == from })", "!c.Deleting && c.From == from })"}},
		Test:  poolScenarios + "a-hand-over-with-a-marked-claim-is-given-up", Rule: "hand over a of web",
	},
	{
		Name:  "hand-over that waits for its former pod without end",
		Edits: []Edit{{poolState, "return h.Overdue && p.mayGiveUpInDoubt(nil) }", "return h.Overdue && p.Now.IsZero() }"}},
		Test:  poolScenarios + "a-hand-over-that-takes-too-long-is-given-up", Rule: "create 1 pods",
	},
	{
		Name:  "hand-over that was given up and gets the place of another one",
		Edits: []Edit{{poolState, "recorded[len(recorded)-earlier:]", "recorded[:earlier]"}},
		Test:  poolScenarios + "a-hand-over-that-was-given-up-takes-no-place-of-another", Rule: "hand over a of web",
	},
	{
		Name:  "hand-over that was given up and gets the place of a pod that was deleted",
		Edits: []Edit{{poolState, "unrecorded = unrecorded[:min(len(unrecorded), places)]\n\tearlier := min(len(recorded), places-len(unrecorded))", "earlier := min(len(recorded), places)\n\tunrecorded = unrecorded[:min(len(unrecorded), places-earlier)]"}},
		Test:  poolScenarios + "a-hand-over-that-was-given-up-takes-no-place-of-a-deleted-pod", Rule: "keep identity of web-b",
	},
	{
		Name:  "hand-over that has ended once its next pod exists",
		Edits: []Edit{{poolStatus, "if (i.Cause == reason.IdentityHandover ||", "if i.Pod == \"\" && (i.Cause == reason.IdentityHandover ||"}},
		Test:  poolScenarios + "a-hand-over-lasts-until-the-next-pod-is-available", Rule: "hold: write free",
	},
	{
		Name:  "claim that an identity had, created again",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "return !p.complete(pod.ID, pod.From)", "return false"}, {poolRepair, "pod.From != \"\" && pod.Gated && !p.complete(pod.ID, pod.From)", "false"}},
		Test:  poolScenarios + "a-claim-is-never-created-again", Rule: "complete web-a with data",
	},
	{
		Name:  "identity with data given up for a pod without",
		Edits: []Edit{{poolState, "if !p.hasNoData(&p.staying[i]) {", "if p.staying[i].Name != \"\" {"}},
		Test:  poolScenarios + "a-pod-without-data-makes-room-for-a-hand-over", Rule: "retire a of web",
	},
	{
		Name:  "claims marked of an identity that waits for its next pod",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", " || p.isHandedOver(c.ID)", ""}},
		Test:  poolScenarios + "an-identity-is-handed-over-once-its-pod-is-gone", Rule: "retire a of web",
	},
	{
		Name:  "pods of a template that the API server refuses",
		Edits: []Edit{{actRevisions, "\t\te.Checks.Refused(s.Key, a.Hash, apiMessage(err))\n\t\treturn nil\n", "\t\terr = nil\n"}},
		Test:  updatesOfPool + "a template that is refused becomes none", Rule: "POST controllerrevisions",
	},
	{
		Name:  "template recorded without a dry run",
		Edits: []Edit{{actRevisions, "Param(\"dryRun\", metav1.DryRunAll).", ""}},
		Test:  updatesOfPool + "a template becomes a revision once a dry run has accepted it", Rule: "POST pods",
	},
	{
		Name:  "update in place of another version of the pod",
		Edits: []Edit{{actUpdates, "UID: a.Of.UID, ResourceVersion: a.Of.Version.String(),", "UID: a.Of.UID,"}},
		Test:  updatesOfPool + "a pod is updated by one patch that requires its version", Rule: "sent",
	},
	{
		Name:  "next pod that does not say that it is one",
		Edits: []Edit{{"internal/render/render.go", "if b.From != \"\" {", "if false {"}},
		Test:  "internal/render TestAPodIsItsTemplateWithAnIdentity/the next pod of an identity names the one before", Rule: "handover-from",
	},
	{
		Name:  "label that a container reads, changed in place",
		Edits: []Edit{{compare, "samePod && !nothing && !readByEnvironment(to, change)", "samePod && !nothing"}},
		Test:  compareTest + "a label that a container reads", Rule: "InPlace",
	},
	{
		Name:  "any change made in place",
		Edits: []Edit{{compare, "samePod := reflect.DeepEqual(from[\"spec\"], to[\"spec\"])", "samePod := reflect.DeepEqual(from[\"kind\"], to[\"kind\"])"}},
		Test:  compareTest + "another field of a container", Rule: "Equal",
	},
	{
		Name:  "revisions that pods have, deleted",
		Edits: []Edit{{poolRevision, "return pod.Revision == r.Name })\n\t})\n\tslices.SortFunc(unused", "return false })\n\t})\n\tslices.SortFunc(unused"}},
		Test:  poolScenarios + "revisions-beyond-the-history-are-deleted", Rule: "delete revision 1",
	},
	{
		Name:  "hand-over without a write of the Lease",
		Edits: []Edit{{poolHandOver, "Order: plan.UnderHold, Visible: true, Records: true}", "Order: plan.WithoutHold, Visible: true}"}},
		Test:  poolScenarios + "an-identity-is-handed-over-once-its-pod-is-gone", Rule: "hold: write",
	},
	{
		Name:  "hand-over with a claim that was created again",
		Edits: []Edit{{poolHandOver, "!c.Retired && !c.Deleting && c.From == from })", "!c.Retired && !c.Deleting && from != \"\" })"}},
		Test:  poolScenarios + "a-claim-that-was-created-again-is-not-handed-over", Rule: "hand over a of web",
	},
	{
		Name:  "claims not marked before a hand-over",
		Edits: []Edit{{poolHandOver, "return prepare, len(prepare.Claims) == 0", "return prepare, pod.Name != \"\""}},
		Test:  poolScenarios + "claims-are-marked-before-a-hand-over", Rule: "delete web-a",
	},
	{
		Name:  "disruption of a pool by a plan that was made long ago",
		Edits: []Edit{{"internal/control/pools/controller.go", "began.Add(hold.ConfirmedFor)", "began.Add(2 * hold.ConfirmedFor)"}},
		Test:  "internal/control/pools TestNoDisruptionBeginsLongAfterTheFirstRead", Rule: "after",
	},
	{
		Name:  "intents of a pool that no process repeats or withdraws",
		Edits: []Edit{{poolStatus, "case pod.Version == i.Version:\n\t\treturn plan.Pending", "case pod.Version == i.Version:\n\t\treturn plan.Open"}},
		Test:  poolRuns, Rule: "goal missed",
	},
	{
		Name:  "intents of a pool that end while a request is under way",
		Edits: []Edit{{poolStatus, "case pod.Version == i.Version:\n\t\treturn plan.Pending", "case pod.Version == i.Version:\n\t\treturn plan.Obsolete"}},
		Test:  poolRuns, Rule: "RecordKept",
	},
	{
		Name:  "update in place that is complete at once, in the simulation",
		Edits: []Edit{{poolInPlace, "if p.Update.Revision == \"\" {", "if p.Update.Revision != \"no\" {"}},
		Test:  poolRuns, Rule: "RecordKept",
	},
	{
		Name:  "births that forget the pods that are recorded to leave",
		Edits: []Edit{{poolState, "p.surge - len(p.staying) - len(p.leaving) - len", "p.surge - len(p.staying) - len"}},
		Test:  poolScenarios + "raising-beyond-cancels-and-creates", Rule: "create 3 pods",
	},
	{
		Name:  "pod that a person names and that serves, replaced beyond the budget",
		Edits: []Edit{{poolUpdate, "disrupts && pod.Up() && (busy || givesUpCopy || after > most)", "disrupts && pod.Up() && !pod.Asked && (busy || givesUpCopy || after > most)"}},
		Test:  poolScenarios + "a-pod-that-a-person-names-waits-for-the-budget", Rule: "delete web-a",
	},
	{
		Name:  "another pod leaves than the one that a person names",
		Edits: []Edit{{poolSurplus, "\t\tfirst(a.Asked, b.Asked),\n", ""}},
		Test:  poolScenarios + "who-is-asked-to-leave-leaves-first", Rule: "delete web-b",
	},
	{
		Name:  "replacement that is carried out although it is no longer asked for",
		Edits: []Edit{{poolUpdate, "reason.UpdatedByNewIdentity, reason.ReplacementAsked}", "reason.UpdatedByNewIdentity}"}},
		Test:  poolScenarios + "a-replacement-that-is-no-longer-asked-for-is-cancelled", Rule: "cancel deletion",
	},
	{
		Name:  "replacement during a pause",
		Edits: []Edit{{poolUpdate, "\tif p.paused() {\n\t\treturn nil\n\t}\n", ""}},
		Test:  poolScenarios + "a-pause-stops-replacements", Rule: "delete web-a",
	},
	{
		Name:  "ordered pods created all at once",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "\t\tmissing = one(p.inOrder())\n", "\t\tmissing = max(missing, one(p.inOrder()))\n"}},
		Test:  poolScenarios + "ordered-pods-are-born-one-at-a-time", Rule: "create 2 pods",
	},
	{
		Name:  "ordered birth that waits permanently",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "!p.available(pod) && !late", "!p.available(pod) && (!late || true)"}},
		Test:  poolScenarios + "an-ordered-birth-does-not-wait-permanently", Rule: "wait web",
	},
	{
		Name:  "ordered pod that is too many and waits for itself",
		Edits: []Edit{{poolSurplus, "len(p.neededIf(p.starts)) > 0", "p.starting() > 0"}},
		Test:  poolScenarios + "an-ordered-pod-that-never-starts-leaves-if-it-is-too-many", Rule: "wait web because PodStarting web-c",
	},
	{
		Name:  "ordered pod that leaves before those that stay have started",
		Edits: []Edit{{poolSurplus, " || len(p.neededIf(p.starts)) > 0 {", " {"}},
		Test:  poolScenarios + "an-ordered-pod-waits-until-a-pod-that-stays-has-started", Rule: "delete web-c",
	},
	{
		Name:  "ordered pod that leaves while another one terminates",
		Edits: []Edit{{poolSurplus, " || slices.ContainsFunc(p.Pods, p.terminatesInTime)", ""}},
		Test:  poolScenarios + "an-ordered-pod-leaves-once-the-one-before-has-ended", Rule: "delete web-c",
	},
	{
		Name:  "ordered pods that leave all at once",
		Edits: []Edit{{poolSurplus, "\treturn min(p.excess(), 1)\n", "\treturn p.excess()\n"}},
		Test:  poolScenarios + "ordered-pods-leave-one-at-a-time", Rule: "delete web-c",
	},
	{
		Name:  "last copy given up because its hand-over takes long",
		Edits: []Edit{{poolState, "return h.Overdue && p.mayGiveUpInDoubt(nil) }", "return h.Overdue }"}},
		Test:  poolScenarios + "the-last-copy-is-waited-for-in-a-hand-over", Rule: "create 1 pods",
	},
	{
		Name:  "copies that are down, all given up by an update",
		Edits: []Edit{{poolUpdate, "case endsCopy && !p.mayGiveUpInDoubt(pod):", "case endsCopy && pod.Name == \"\":"}},
		Test:  poolScenarios + "copies-that-are-down-are-not-given-up-at-once", Rule: "delete web-a",
	},
	{
		Name:  "hand-over from a silent node",
		Edits: []Edit{{poolUpdate, "case policy != Recreate && !pod.Node.Silent.IsZero():", "case policy != Recreate && pod.Name == \"\":"}},
		Test:  poolScenarios + "no-hand-over-from-a-silent-node", Rule: "prepare hand-over of a",
	},
	{
		Name:  "identity that seems to lack a claim, given up by an update",
		Edits: []Edit{{poolUpdate, "case policy != Recreate && len(pod.Mounts) > 0:", "case policy != Recreate && pod.Name == \"\":"}},
		Test:  poolScenarios + "a-pod-that-lacks-a-claim-is-not-updated", Rule: "delete web-a",
	},
	{
		Name:  "another image for a container that still has to restart",
		Edits: []Edit{{poolUpdate, "pod.runsAsBefore():", "pod.runsAsBefore() && pod.Name == \"\":"}},
		Test:  poolScenarios + "an-update-waits-until-the-kubelet-has-acted", Rule: "update web-a",
	},
	{
		Name:  "claims that are to stay, owned under a hold",
		Edits: []Edit{{"internal/plan/pool/plan.go", "births, adoptions, p.ownership())", "births, adoptions)"}},
		Test:  poolScenarios + "claims-are-disowned-under-any-hold", Rule: "disown 1 claims",
	},
	{
		Name:  "plan for an object that cannot be read",
		Edits: []Edit{{"internal/plan/pool/plan.go", "if s.Object.Unreadable != \"\" {", "if s.Object.Unreadable == \"never\" {"}},
		Test:  poolScenarios + "an-object-that-cannot-be-read-changes-nothing", Rule: "delete web-",
	},
	{
		Name:  "object that cannot be read, taken for one that asks for nothing",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "Unreadable: err.Error(),", "Unreadable: err.Error()[:0],"}},
		Test:  "internal/cluster/pools TestAnObjectThatCannotBeReadHarmsNoOther", Rule: "the cache shows",
	},
	{
		Name:  "births that a live read which fails prevents",
		Edits: []Edit{{"internal/control/pools/controller.go", "if len(steps) == 0 {", "if len(steps) >= 0 {"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/missing pods are created before a live read", Rule: "create 1 pods",
	},
	{
		Name:  "birth that is refused is sent twice in a plan",
		Edits: []Edit{{"internal/control/pools/controller.go", "if unfilled != nil {", "if false {"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/a birth that is refused delays nothing else", Rule: "create 1 pods",
	},
	{
		Name:  "pods that wait for their claims kept waiting by a live read that fails",
		Edits: []Edit{{"internal/control/pools/controller.go", "slices.DeleteFunc(onCaches(t.steps), pool.FillsPlace), hold.Decision{}", "nil, hold.Decision{}"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/what the caches suffice for is done although the live read fails", Rule: "record revision 2",
	},
	{
		Name:  "pods that wait for their claims kept waiting by a live read",
		Edits: []Edit{{"internal/plan/pool/fill_places.go", "case CreatePods, CompletePod:", "case CreatePods:"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/pods are completed before a live read", Rule: "complete db-new",
	},
	{
		Name:  "births that are sent before the live read that they need",
		Edits: []Edit{{"internal/plan/pool/fill_places.go", "!FillsPlace(a) || a.Effect().Read != plan.OnCaches", "!FillsPlace(a)"}},
		Test:  "internal/plan/pool TestPlacesAreFilledBeforeALiveReadIfTheCachesSuffice", Rule: "keepdeleted",
	},
	{
		Name:  "places filled before a live read without a check of the invariants",
		Edits: []Edit{{"internal/control/pools/controller.go", "invariants.Check(*seen, steps, hold.Decision{})", "invariants.Check(*seen, nil, hold.Decision{})"}},
		Test:  "internal/control/pools TestBirthsBeforeALiveReadThatViolateAnInvariantAreNotCarriedOut", Rule: "error <nil>, carried out",
	},
	{
		Name:  "live read that pods which end again and again put off",
		Edits: []Edit{{"internal/control/pools/controller.go", "\treturn !was\n", "\treturn !was || was\n"}},
		Test:  "internal/control/pools TestALiveReadIsPutOffOnceAfterBirths", Rule: "turn 1",
	},
	{
		Name:  "new pods that wait for the live read of the plan that created them",
		Edits: []Edit{{"internal/control/pools/controller.go", "createsPods(t.filled) && c.putsOff(seen.Key)", "createsPods(t.filled) && false"}},
		Test:  "internal/control/pools TestALiveReadIsPutOffOnceAfterBirths", Rule: "turn 0",
	},
	{
		Name:  "what admission draws for a pod, written to all pods",
		Edits: []Edit{{actRevisions, "if !drawn.Equal {", "if !drawn.Equal && r.Name == \"\" {"}},
		Test:  "internal/act TestRevisionsOfWhichAPartIsDrawnAreNotChangedInPlace", Rule: "in place",
	},
	{
		Name:  "recorded update that is repeated beyond the budget",
		Edits: []Edit{{poolUpdate, "case p.pending(pod) && pod.Up() && unavailable > most && ", "case p.pending(pod) && pod.Up() && unavailable < 0 && "}},
		Test:  poolScenarios + "a-recorded-update-waits-for-the-budget", Rule: "update web-a",
	},
	{
		Name:  "recorded end of the last copy that is repeated",
		Edits: []Edit{{poolUpdate, "case endsCopy && !p.mayGiveUpInDoubt(pod):", "case endsCopy && !p.pending(pod) && !p.mayGiveUpInDoubt(pod):"}},
		Test:  poolScenarios + "a-recorded-update-waits-for-the-breaker", Rule: "delete web-a",
	},
}
