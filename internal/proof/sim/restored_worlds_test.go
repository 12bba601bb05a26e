package sim

// restoredWorlds are worlds that begin with a Lease that was restored from a backup.
var restoredWorlds = []*exploration{
	{name: "a restored Lease and a rollout of its zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod, Templates: []int{2, 1}, PodUpdates: 1,
	}},
	{name: "a restored Lease and a rollout of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod, Templates: []int{1, 2}, Crashes: 1,
	}},
	{name: "a restored Lease for two operators", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Restored: AnotherPod, Templates: []int{1, 2},
	}},
	{name: "a restored Lease with the UID of the pod", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: SamePod, Templates: []int{2, 2}, PodUpdates: 1,
	}},
	{name: "a restored Lease and an eviction", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod,
		Tracks: [][]Edit{{{Evict, 1, 0}}},
	}},
}
