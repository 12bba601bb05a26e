package cli

import (
	"strings"
	"testing"
)

func TestHistoryShowsLostPods(t *testing.T) {
	withPool(t, func(s *scene) {
		for id, marks := range map[string][2]string{"gone": {"1999-12-31T23:58:00Z", "NodeLost"}, "old": {"1999-12-31T12:00:00Z", "IdentityLost"}} {
			s.server.put(claimsOfAPool+"db-data-"+id, object{"metadata": object{
				"name": "db-data-" + id, "namespace": "team", "annotations": object{"lockstep.dev/retired-at": marks[0], "lockstep.dev/retired-reason": marks[1]},
				"labels": object{"lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": id, "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u"},
			}})
		}
		const want = `team/db has no rollout in its Lease

Pods whose identities have ended:
  POD      ENDED                 BECAUSE       CLAIMS LEFT
  db-gone  1999-12-31T23:58:00Z  NodeLost      1
  db-old   1999-12-31T12:00:00Z  IdentityLost  1
`
		if out := s.succeeds("history", "stc/db"); out != want {
			s.Errorf("it says\n%s", out)
		}
		if out := s.succeeds("history", "stc/db", "-o", "json"); !strings.Contains(out, `"rollouts": []`) || !strings.Contains(out, `"because": "NodeLost"`) {
			s.Errorf("as JSON:\n%s", out)
		}
	})
}
