package apiserver_test

import "testing"

// The API server accepts the examples, and lockstep reaches their goal: local disks and network volumes differ for it in
// nothing but the spec.
func TestStatefulClustersOfTheExamplesReachTheirGoal(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	for name, replicas := range map[string]int{"store": 5, "queue": 3} {
		file := map[string]string{"store": "local-disks.yaml", "queue": "network-volumes.yaml"}[name]
		if err := s.world.cluster.ApplyIn(t.Context(), s.name, manifest+"examples/statefulcluster/"+file); err != nil {
			t.Fatal(err)
		}
		pool{s, name}.settles(replicas)
	}
}
