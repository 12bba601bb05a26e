package pool_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// A view of pods that is older than the record may show the pod as it was before its end.
func TestTheRecordOfAKeptIdentityOutlastsOlderViews(t *testing.T) {
	for name, pod := range map[string]string{
		"its pod terminates": "pod a terminating claims=data marked=a",
		"its pod has ended":  "pod a finished disrupted claims=data marked=a",
		"its pod is gone":    "claim a/data siblings=data from=a",
	} {
		t.Run(name, func(t *testing.T) {
			const object = "# An identity is kept.\npool web replicas=1 claims=data keepdeleted keepevicted\n"
			s := mustParse(t, object+"live\n"+pod)
			recorded := hold.Decide(&s, pool.Plan(s)).Record.Intents
			if len(recorded) != 1 || recorded[0].UID != "a" {
				t.Fatalf("the Lease records %+v", recorded)
			}
			older := mustParse(t, object+"at pods=9 claims=9\npod a ready version=9 claims=data marked=a")
			if status := older.IntentStatus(recorded[0]); !status.Counts() {
				t.Errorf("with an older view, the record at version %d does not count: its status is %v", recorded[0].Version, status)
			}
		})
	}
}
