package sim

// restoredWorlds are worlds that begin with a Lease that was restored from a backup.
var restoredWorlds = []*exploration{
	{name: "a Lease of another history beside a rollout of its zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod, Templates: []int{2, 1}, PodUpdates: 1,
	}},
	{name: "a Lease of another history beside a rollout of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod, Templates: []int{1, 2}, Crashes: 1,
	}},
	{name: "a Lease of another history for two operators", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Restored: AnotherPod, Templates: []int{1, 2},
	}},
	{name: "a Lease of another history with a pod that is there", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: SamePod, Templates: []int{2, 2}, PodUpdates: 1,
	}},
	{name: "a Lease of another history beside an eviction", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Restored: AnotherPod,
		Tracks: [][]Edit{{{Evict, 1, 0}}},
	}},
}
