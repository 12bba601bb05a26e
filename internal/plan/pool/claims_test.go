package pool_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// A metric counts deleted claims by the field of the policy that gives them up.
func TestADeletionOfClaimsNamesTheFieldOfThePolicy(t *testing.T) {
	for sentence, tc := range map[string]struct {
		policy, claims string
		want           pool.ClaimRule
	}{
		"fewer were asked for":                         {"whenscaled", "claim b/data retired because=ScaledDown", pool.WhenScaled},
		"fewer were asked for, and all leave at once":  {"whenscaled whenreplaced", "claim b/data retired because=ScaledDown", pool.WhenScaled},
		"the node is lost":                             {"whenscaled whenreplaced", "claim b/data retired because=NodeLost", pool.WhenReplaced},
		"too many, for which both fields say Delete":   {"whenscaled whenreplaced", "claim b/data retired because=ReplicasExceeded", pool.WhenReplaced},
		"claims that say both reasons":                 {"whenscaled whenreplaced", "claim b/data retired because=ScaledDown\nclaim b/logs retired because=NodeLost", pool.WhenReplaced},
		"by age":                                       {"ttl=1h", "claim b/data retired ago=2h because=ScaledDown", pool.RetiredTTLSeconds},
		"by age before their number":                   {"ttl=1h limit=0", "claim b/data retired ago=2h", pool.RetiredTTLSeconds},
		"by their number":                              {"ttl=3h limit=0", "claim b/data retired ago=2h", pool.RetiredLimit},
		"at once, although they are old and too many":  {"whenreplaced ttl=1h limit=0", "claim b/data retired ago=2h because=NodeLost", pool.WhenReplaced},
		"of another identity than the field speaks of": {"whenreplaced ttl=1h", "claim b/data retired ago=2h because=ScaledDown", pool.RetiredTTLSeconds},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := mustParse(t, "# promise\npool web replicas=1 claims=data "+tc.policy+"\npod a ready claims=data\n"+tc.claims)
			deletions := plan.Only[pool.DeleteClaims](pool.Plan(s))
			if len(deletions) != 1 || deletions[0].Policy != tc.want {
				t.Errorf("the plan has the deletions %+v, want one because of %s", deletions, tc.want)
			}
		})
	}
}
