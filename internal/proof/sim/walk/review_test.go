package walk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// A goroutine that does not end fails its bubble.
func TestReviewsEndWithTheirProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWalk(t.Context(), Draw(1))
		p, g := w.processes[0], w.groups[0]
		z := g.zones[0]
		request := group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: z.Replicas - 1}
		for range 2 { // the first locks the group, the second waits for the lock
			p.admit(g, request, func(answer) { t.Error("a process that has died answers") })
			w.waitForTasks()
		}
		if got := len(p.lifetime.pending); got != 1 {
			t.Fatalf("%d reviews wait for the API server, want only the review that has the turn of the group", got)
		}
		w.kill(p, time.Minute, 1)
		w.waitForTasks()
		if got := len(p.lifetime.pending); got != 0 {
			t.Errorf("%d reviews still wait for the API server", got)
		}
	})
}
