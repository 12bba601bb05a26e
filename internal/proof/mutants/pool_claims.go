package mutants

const (
	poolClaims = "internal/plan/pool/claims.go"
	actClaims  = "internal/act/pool_claims.go"
	growClaims = "internal/plan/pool/grow_claims.go"
)

// claimsOfPools are mistakes in which claims lockstep deletes.
var claimsOfPools = []Mutant{
	{
		Name:  "claims of an identity that has a pod, deleted",
		Edits: []Edit{{poolClaims, "|| p.hasPod(c.ID) ||", "||"}},
		Test:  poolScenarios + "claims-of-a-terminating-pod-are-not-deleted", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims of a recorded identity, deleted",
		Edits: []Edit{{poolClaims, "|| p.openOf[PodName(p.Key.Name, c.ID)] {", "{"}},
		Test:  poolScenarios + "claims-of-a-recorded-identity-are-not-deleted", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims of an earlier object, deleted",
		Edits: []Edit{{poolClaims, "if c.Pool != p.Object.UID || !c.Retired ||", "if !c.Retired ||"}, {poolClaims, "return len(s.claims) < len(p.claimsOf(s.id))", "return len(s.claims) < 0"}},
		Test:  poolScenarios + "claims-of-an-earlier-object-are-never-deleted", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims deleted before all are marked",
		Edits: []Edit{{poolClaims, "return len(s.claims) < len(p.claimsOf(s.id))", "return len(s.claims) < 1"}},
		Test:  poolScenarios + "claims-that-are-not-all-marked-are-not-deleted", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims deleted on caches",
		Edits: []Edit{{poolClaims, "Visible: true, Read: plan.Always}", "Visible: true}"}},
		Test:  poolScenarios + "claims-of-identities-that-were-replaced-are-deleted", Rule: "hold: read live",
	},
	{
		Name:  "claim deleted that a person keeps",
		Edits: []Edit{{poolClaims, "if s.keep || policy == \"\" {", "if policy == \"\" {"}},
		Test:  poolScenarios + "a-claim-that-a-person-keeps-stays", Rule: "delete 2 claims of b",
	},
	{
		Name:  "claims deleted by the policy for other identities",
		Edits: []Edit{{poolClaims, "keepsScaled && !policy.DeleteWhenScaled ||", "keepsScaled && !policy.DeleteWhenScaled && !policy.DeleteWhenReplaced ||"}},
		Test:  poolScenarios + "claims-of-identities-that-were-replaced-are-deleted", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims deleted too early",
		Edits: []Edit{{poolClaims, "!p.Now.Before(s.ended.Add(policy.DeleteAfter))", "!s.ended.IsZero()"}},
		Test:  poolScenarios + "claims-are-deleted-by-age", Rule: "delete 1 claims of c",
	},
	{
		Name:  "claims of the latest identity deleted instead of the first one",
		Edits: []Edit{{poolClaims, "cmp.Or(-a.ended.Compare(b.ended),", "cmp.Or(a.ended.Compare(b.ended),"}},
		Test:  poolScenarios + "the-latest-ended-identities-keep-their-claims", Rule: "delete 1 claims of c",
	},
	{
		Name:  "claims deleted although a pod without labels exists",
		Edits: []Edit{{actClaims, "\tcase err == nil:\n", "\tcase err == nil && name == \"\":\n"}, {actClaims, "case !apierrors.IsNotFound(err):", "case err != nil && !apierrors.IsNotFound(err):"}},
		Test:  updatesOfPool + "claims of a pod that exists are not deleted", Rule: "DELETE persistentvolumeclaims",
	},
	{
		Name:  "pod whose claims stay, taken for one that cannot be read",
		Edits: []Edit{{actClaims, "\tcase err == nil:\n", "\tcase false:\n"}},
		Test:  "internal/act TestClaimsOfAPodThatExistsWaitForAPerson/the pod exists", Rule: "is of class again, want human",
		Remark: "the next case returns an error without a class, so the claims stay",
	},
	{
		Name:  "claims of one identity that ended at different times, deleted by the last one listed",
		Edits: []Edit{{poolClaims, "latest(s.ended, c.Ended), s.keep", "c.Ended, s.keep"}},
		Test:  poolScenarios + "claims-of-one-identity-that-ended-at-different-times-are-kept-from-the-latest-one", Rule: "delete 3 claims of b",
	},
	{
		Name:  "identities that a person keeps, not among those that keep their claims",
		Edits: []Edit{{poolClaims, "if s.keep || policy == \"\" {\n\t\t\tkept++\n", "if s.keep || policy == \"\" {\n\t\t\tkept += one(!s.keep)\n"}},
		Test:  poolScenarios + "an-identity-that-a-person-keeps-counts-among-those-that-keep-their-claims", Rule: "nothing",
	},
	{
		Name:  "identities that a person keeps, not counted if a policy would give them up",
		Edits: []Edit{{poolClaims, "if s.keep || policy == \"\" {\n\t\t\tkept++\n", "if s.keep || policy == \"\" {\n\t\t\tkept += one(policy == \"\")\n"}},
		Test:  poolScenarios + "an-identity-that-a-person-keeps-counts-among-those-that-keep-their-claims", Rule: "nothing",
	},
	{
		Name:  "claims of a hand-over whose record is lost deleted",
		Edits: []Edit{{poolClaims, "return lostInHandover(c) || keepsScaled", "return lostInHandover(c) && keepsScaled"}},
		Test:  poolScenarios + "claims-of-a-hand-over-whose-record-is-lost-are-not-deleted", Rule: "delete 1 claims of a",
	},
	{
		Name:  "claims of a hand-over whose record is lost deleted by their number",
		Edits: []Edit{{poolClaims, "\tcase slices.ContainsFunc(s.claims, lostInHandover):\n\t\treturn \"\"\n", ""}},
		Test:  poolScenarios + "claims-of-a-hand-over-whose-record-is-lost-stay-although-few-keep-claims", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claim that shrinks",
		Edits: []Edit{{growClaims, "case to.Bytes <= c.Storage.Bytes || pod.Gated:", "case to.Bytes == c.Storage.Bytes || pod.Gated:"}},
		Test:  poolScenarios + "claims-of-living-identities-grow", Rule: "grow web-data-c",
	},
	{
		Name:  "growth that is refused is asked for again at once",
		Edits: []Edit{{growClaims, "case was && refused.Until.After(p.Now):", "case was && false:"}},
		Test:  poolScenarios + "a-refused-growth-stops-nothing-else", Rule: "grow web-data-a",
	},
	{
		Name:  "growth that was refused for another size is not asked for",
		Edits: []Edit{{growClaims, "if r.Claim == claim && r.To == to {", "if r.Claim == claim {"}},
		Test:  poolScenarios + "a-refused-growth-is-asked-for-again", Rule: "ExpansionRefused",
	},
	{
		Name:  "claim that has more is asked to shrink",
		Edits: []Edit{{actClaims, "storage.Value() < a.To.Bytes {", "storage.Value() != a.To.Bytes {"}},
		Test:  updatesOfPool + "a claim that has more already is only noted", Rule: "spec",
	},
	{
		Name:  "growth that is refused stops the plan",
		Edits: []Edit{{actClaims, "if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {\n\t\te.Checks.GrowthRefused", "if apierrors.IsInvalid(err) {\n\t\te.Checks.GrowthRefused"}},
		Test:  updatesOfPool + "a claim that the API server does not let grow is passed on", Rule: "2Gi",
	},
	{
		Name:  "claim deleted that was created again",
		Edits: []Edit{{actClaims, "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: &metav1.Preconditions{ResourceVersion: &version},"}, {actClaims, "uid, version := types.UID(c.UID), c.Version.String()", "version := c.Version.String()"}},
		Test:  updatesOfPool + "claims are deleted as they were evaluated, once the pod is known to be gone", Rule: "sent",
	},
}
