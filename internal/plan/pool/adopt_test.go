package pool_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func TestStatusSaysHowManyPodsAreToBeAdopted(t *testing.T) {
	orphans := func(names ...string) string {
		return "pool web replicas=7 adopt\nlooked ago=1s\norphan web-" + strings.Join(names, " of=StatefulSet/web\norphan web-") + " of=StatefulSet/web"
	}
	for sentence, tc := range map[string]struct{ pool, want string }{
		"one pod":  {orphans("0"), "AdoptionWaits web-0 (it belongs to StatefulSet/web)"},
		"few pods": {orphans("0", "1", "2"), "AdoptionWaits web-0 (it belongs to StatefulSet/web; 3 pods wait: web-0, web-1, web-2)"},
		"many pods": {
			orphans("0", "1", "2", "3", "4", "5", "6"),
			"AdoptionWaits web-0 (it belongs to StatefulSet/web; 7 pods wait: web-0, web-1, web-2, web-3, web-4 and 2 more)",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := parse("# " + sentence + ".\n" + tc.pool)
			if err != nil {
				t.Fatal(err)
			}
			if got := pool.Describe(s.snapshot, pool.Plan(s.snapshot)).Waiting.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
