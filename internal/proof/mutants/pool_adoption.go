package mutants

const (
	poolAdopt   = "internal/plan/pool/adopt.go"
	actAdoption = "internal/act/pool_adoption.go"
	ofUpdates   = "internal/act TestUpdatesOfAStatefulCluster/"
)

// adoptions are mistakes in how StatefulClusters adopt pods.
var adoptions = []Mutant{
	{
		Name:  "orphan that is adopted beside a copy of it",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "other.ID == id && other.UID != o.UID", "other.ID == id && other.UID != o.UID && !o.Labelled"}},
		Test:  poolScenarios + "a-pod-that-lost-its-owner-waits-while-a-copy-has-its-identity", Rule: "another pod has its identity",
	},
	{
		Name:  "adopted pod with two places",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "pod.Owner == \"\" || pod.Owner == p.Object.UID", "pod.Owner == \"\" || p.owns(&pod)"}},
		Test:  poolScenarios + "an-adopted-pod-that-does-not-match-any-more-has-one-place", Rule: "create 1 pods",
	},
	{
		Name:  "pod that is released counts on",
		Edits: []Edit{{"internal/plan/pool/workload.go", " && !p.Unmatched\n", "\n"}},
		Test:  poolScenarios + "a-pod-that-the-selector-does-not-match-any-more-is-released", Rule: "create 1 pods",
	},
	{
		Name:  "pod that was released adopted again",
		Edits: []Edit{{"internal/plan/pool/adopt.go", " && !pod.Unmatched && pod.Active()", " && pod.Active()"}},
		Test:  poolScenarios + "a-released-pod-keeps-its-claims", Rule: "adopt web-a",
	},
	{
		Name:  "pod that the selector matches released",
		Edits: []Edit{{"internal/plan/pool/release_pod.go", " && pod.Unmatched && ", " && "}},
		Test:  poolScenarios + "a-finished-pod-is-replaced", Rule: "release web-a of web",
	},
	{
		Name:  "trace that stays open for a successor that was released",
		Edits: []Edit{{"internal/lock/history/successor.go", " || !o.belongs(unit, p.Successor):", ":"}},
		Test:  "internal/lock/history TestAReplacementEndsIfTheSuccessorIsReleased", Rule: "-want +got",
	},
	{
		Name:  "pods born before orphans are looked for",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "\tif p.looks() || p.moves() {", "\tif false {"}},
		Test:  poolScenarios + "orphans-are-looked-for-before-pods-are-created", Rule: "create 2 pods of web",
	},
	{
		Name:  "pods born in the places of orphans",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "max(0, p.missing()-len(p.orphans()))", "p.missing()"}},
		Test:  poolScenarios + "orphans-take-the-places-of-missing-pods", Rule: "create 3 pods of web",
	},
	{
		Name:  "look for orphans that counts for ever",
		Edits: []Edit{{poolAdopt, "!p.lookIsDue().After(p.Now)", "p.Orphans.At.IsZero()"}},
		Test:  poolScenarios + "a-look-for-orphans-does-not-last", Rule: "create 1 pods of web",
	},
	{
		Name:  "pod of a StatefulSet that is adopted",
		Edits: []Edit{{poolAdopt, "\tcase o.Controller != \"\":\n\t\twait", "\tcase o.Controller == \"?\":\n\t\twait"}},
		Test:  poolScenarios + "pods-of-a-statefulset-are-waited-for", Rule: "adopt web-0 of web",
	},
	{
		Name:  "pod that is adopted although no person asked for it",
		Edits: []Edit{{poolAdopt, "(p.Object.Adopt || o.Labelled && o.Controller == \"\")", "(p.Object.Adopt || o.Controller == \"\")"}},
		Test:  poolScenarios + "a-pod-is-not-adopted-without-the-annotation", Rule: "adopt web-0 of web",
	},
	{
		Name:  "claim that is labelled although its StatefulSet may delete it",
		Edits: []Edit{{poolAdopt, "case j >= 0 && p.Unlabelled[j].Owner != \"\":", "case j >= 0 && p.Unlabelled[j].Owner == \"?\":"}},
		Test:  poolScenarios + "a-claim-of-a-statefulset-waits-for-its-end", Rule: "OwnClaimsOnly",
	},
	{
		Name:  "pod updated while its claims lack labels",
		Edits: []Edit{{"internal/plan/pool/plan.go", "len(births)+len(adoptions)+len(ends) > 0", "len(births)+len(ends) > 0"}},
		Test:  poolScenarios + "a-pod-is-not-updated-before-its-claims-have-labels", Rule: "delete web-0",
	},
	{
		Name:  "adopted pod that is replaced without a comparison",
		Edits: []Edit{{"internal/plan/pool/change.go", "change, known = p.Changes[pod.UID]", "change, known = p.Changes[pod.UID], true"}},
		Test:  poolScenarios + "an-adopted-pod-is-compared", Rule: "delete web-0",
	},
	{
		Name:  "adoption of another version of a pod",
		Edits: []Edit{{actAdoption, "a.Version.String(),\n\t\t\"labels\"", "\"8\" + \"0\",\n\t\t\"labels\""}},
		Test:  ofUpdates + "a pod is adopted as it was evaluated", Rule: "resourceVersion",
	},
	{
		Name:  "labels written on another version of a claim",
		Edits: []Edit{{actAdoption, "changedMetadata{UID: c.UID, ResourceVersion: c.Version.String(),", "changedMetadata{UID: c.UID,"}},
		Test:  ofUpdates + "a claim is labelled as it was evaluated", Rule: "resourceVersion",
	},
	{
		Name:  "next pod of an adopted identity with a new claim",
		Edits: []Edit{{"internal/render/render.go", "cmp.Or(b.Claims[t.Name], pool.ClaimName(name, t.Name, b.ID))", "cmp.Or(pool.ClaimName(name, t.Name, b.ID))"}},
		Test:  ofUpdates + "the next pod of an adopted identity mounts its claim", Rule: "data-db-0",
	},
	{
		Name:  "eviction of an adopted pod that no hold records",
		Edits: []Edit{{"internal/cluster/pools/pods.go", "return namesPod.MatchString(name) || slices", "return namesPod.MatchString(name) || false && slices"}},
		Test:  "internal/cluster/pools TestPodsOfStatefulClustersAreLookedUpByName/a pod that was adopted, which only the cache of groups shows", Rule: "known: true",
	},
	{
		Name:  "claim of an earlier object that its pod does not mount, left without labels",
		Edits: []Edit{{poolAdopt, "range p.formerClaims(pod) {", "range p.formerClaims(pod)[:0] {"}},
		Test:  poolScenarios + "a-claim-of-a-former-object-that-its-pod-does-not-mount-is-labelled", Rule: "label web-logs",
	},
	{
		Name:  "claim of an earlier object that a new pod takes",
		Edits: []Edit{{poolAdopt, "pod.Gated && pod.From == \"\" {", "pod.Gated && pod.From == \"?\" {"}},
		Test:  poolScenarios + "a-new-pod-leaves-the-claim-of-a-former-object-alone", Rule: "label web-logs",
	},
	{
		Name:  "handed-over pod given up before its claims have labels",
		Edits: []Edit{{"internal/plan/pool/repair.go", " && len(p.formerClaims(pod)) == 0 && len(p.retired", " && len(p.retired"}},
		Test:  poolScenarios + "the-claims-of-a-handed-over-pod-under-a-former-object-are-labelled", Rule: "because HandoverFailed",
	},
	{
		Name:  "handed-over pod that is never completed once another owner had its claim",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "return !p.complete(pod.ID, pod.From)", "return !p.complete(pod.ID, pod.From) || p.Taken[pod.ID]"}},
		Test:  poolScenarios + "a-handed-over-identity-is-completed-although-a-claim-was-taken", Rule: "wait web because PodStarting web-a",
	},
	{
		Name:  "eviction of a pod whose identity is kept and whose claims belong to an earlier object",
		Edits: []Edit{{"internal/plan/pool/keep_identity.go", "case slices.ContainsFunc(p.Claims, ofFormer):", "case slices.ContainsFunc(p.Claims[:0], ofFormer):"}},
		Test:  "internal/plan/pool TestEvict/the claims of a pod whose identity is kept belong to an earlier object", Rule: "want \"AdoptionWaits web-a\"",
	},
	{
		Name:  "rule that lets a claim of another identity get labels",
		Edits: []Edit{{"internal/lock/invariant/pools/adoption.go", "seen.ID == p.ID && seen.Pool", "seen.Pool"}},
		Test:  rulesOfPlans + "a claim of another identity gets labels", Rule: `want "OwnClaimsOnly"`,
	},
	withoutRule("OwnPodsOnly", "a pod of a StatefulSet is adopted"),
	withoutRule("OwnClaimsOnly", "a claim of a StatefulSet gets labels"),
	{
		Name:  "births that pods of a Job stop",
		Edits: []Edit{{"internal/act/pool_adoption.go", "!slices.Contains(neverMoved, controller.Kind) &&", "!slices.Contains(neverMoved, controller.Name) &&"}},
		Test:  "internal/act TestWhichPodsAreOrphans", Rule: "it_belongs_to_a_Job",
	},
	{
		Name:  "births that pods of another StatefulCluster stop",
		Edits: []Edit{{"internal/act/pool_adoption.go", "!strings.HasPrefix(controller.APIVersion, \"lockstep.dev/\")", "!strings.HasPrefix(controller.APIVersion, \"none/\")"}},
		Test:  "internal/act TestWhichPodsAreOrphans", Rule: "it_belongs_to_another_StatefulCluster",
	},
	{
		Name:  "births that a pod stops which is never adopted",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "return o.Controller != \"\" && named", "return o.Controller != \"\" && (named || !named)"}},
		Test:  poolScenarios + "a-pod-of-another-controller-and-name-keeps-one-place", Rule: "create 1 pods",
	},
}
