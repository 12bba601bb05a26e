package sim

// evictionWorlds are those in which pods are evicted, explored with lockstep's own
// rules.
var evictionWorlds = []*spot{
	{name: "an eviction and a crash", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction beside a rollout of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Queue: true, Lost: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction beside a rollout of its zone", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Lost: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction beside a rollout that is paused while the operator dies", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Pause, 0, 0}}},
	}},
	{name: "an eviction of a pod that crashes beside a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 1}, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction beside a rollout while requests come late", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 1}, Late: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "a PodDisruptionBudget refuses what was granted", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Vetoes: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "one pod is evicted twice", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 0}}},
	}},
	{name: "evictions of two pods of one zone and a crash", config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}},
	{name: "evictions of two pods and a rollout under one budget", config: Config{
		Zones: 1, Replicas: 3, Budget: 3, Limit: 2, Operators: 1, Templates: []int{2}, Pods: [][]int{{1, 2, 2}},
		Tracks: [][]Edit{{{Evict, 0, 1}}, {{Evict, 0, 2}}},
	}},
	{name: "evictions in two zones", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "an eviction beside a downscale of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Shrink, 1, 0}}},
	}},
	{name: "an eviction beside a downscale of its zone", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Shrink, 0, 1}}},
	}},
	{name: "an eviction of a pod that leaves by a downscale", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Shrink, 0, 0}}},
	}},
	{name: "an eviction beside a downscale of our own", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Force, 1, 0}}},
	}},
	{name: "an eviction beside a scaling nobody asked for", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Scale, 1, 0}}},
	}},
	{name: "evictions by partitions", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 1}}},
	}},
	{name: "evictions of one partition", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "an eviction by partitions beside a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Limit: 1, Partitions: true, Operators: 1, Templates: []int{1, 2}, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction answered by a process that stands by", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},

	{name: "evictions in two zones, answered by two processes", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
}
