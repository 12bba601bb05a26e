package pool_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// A live read may show an identity that waits for the place of a new one.
func TestPlacesAreFilledBeforeALiveReadIfTheCachesSuffice(t *testing.T) {
	for given, want := range map[string]string{
		"pool web replicas=2 claims=data\npod b ready claims=data":                      "create 1 pods of web at 2: web-new1",
		"pool web replicas=2 claims=data keepdeleted\npod b ready claims=data marked=b": "",
	} {
		s, err := parse("# .\n" + given)
		if err != nil {
			t.Fatal(err)
		}
		steps := pool.Plan(s.snapshot)
		if got := plan.Notation(pool.FillingPlaces(steps)); got != want || !plan.Has[pool.CreatePods](steps) {
			t.Errorf("with %q: %q of %q, want %q", given, got, plan.Notation(steps), want)
		}
	}
}
