package plan_test

import (
	"sync"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// The budget covers orphans alone. Goroutines that share an Outlook must find their partitions counted: a write
// would end the process.
func TestGoroutinesShareAnOutlookOnOrphansOfAPartitionBudget(t *testing.T) {
	s := fixture.MustParse(`
live
zpdb store regex="zone-a-([0-9]+)"
zone-a rev=1 replicas=4
  orphan zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1
`)
	for range 500 {
		outlook := plan.OutlookOf(s)
		var all sync.WaitGroup
		for _, pod := range s.Zones[0].Orphans {
			all.Go(func() { outlook.Evict(plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}) })
		}
		all.Wait()
	}
}
