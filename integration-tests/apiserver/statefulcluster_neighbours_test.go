package apiserver_test

import "testing"

// Pods of zones whose names begin with that of a StatefulCluster are evicted as before: it might have adopted such pods.
func TestStatefulClusterLeavesEvictionsOfItsNeighboursAlone(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.rules.evicting = true
	e.schedulesOn(e.someNode())
	e.create(zone("db-zone-a", 2), zone("db-zone-b", 2))
	p := e.createPool(2, nil)
	p.settles(2)
	e.mayEvict("db-zone-a-0")
	if err := e.evict("db-zone-a-0"); err != nil {
		t.Errorf("the pod of a zone is not evicted: %v", err)
	}
}
