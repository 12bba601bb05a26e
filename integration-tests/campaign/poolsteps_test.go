package main

import (
	"strings"
	"testing"
)

// The goal asks for the final template in all pods, and as many pods as replicas.
func TestUpdatesOfPlanWithSurgeGoOnAtTheEnd(t *testing.T) {
	t.Parallel()
	surges, stops := 0, 0
	for seed := range uint64(1000) {
		p := newPlan(seed)
		strategy, changed := "", false
		for _, s := range p.steps() {
			if _, after, found := strings.Cut(s.what, "gets the update strategy "); found {
				strategy, changed = after, true
			}
		}
		surge := p.pool != nil && p.pool.surge
		if surge {
			surges++
		}
		if changed {
			stops++
		}
		if surge && !p.pool.recreates || changed && (!surge || strategy != "RollingUpdate") {
			t.Fatalf("a surge %t, and the update strategy %q at last in\n%s", surge, strategy, p)
		}
	}
	if surges < 30 || stops < 10 || stops == surges {
		t.Errorf("%d plans have a surge, and the updates of %d of them stop", surges, stops)
	}
}
