package sim

// evictionWorlds are worlds with evictions. They are explored with lockstep's own rules.
var evictionWorlds = []*exploration{
	{name: "an eviction and a crash", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, LostRequests: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout of its zone", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, LostRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout, and a crash", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 1}, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout while requests arrive late", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 1}, LateRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "a PodDisruptionBudget refuses a granted eviction", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Vetoes: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "one pod is evicted twice", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 0}}},
	}},
	{name: "evictions in two zones", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "evictions of two pods of one zone", config: Config{
		Zones: 2, Replicas: 2, Budget: 2, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}},
	{name: "an eviction during a downscale by lockstep", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{ForceReplicas, 1, 0}}},
	}},
	{name: "an eviction during a downscale without admission", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Scale, 1, 0}}},
	}},
	{name: "evictions of two partitions", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 1}}},
	}},
	{name: "evictions of one partition", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "an eviction by partitions during a rollout", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1, Templates: []int{1, 2}, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction that a standby process may answer", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Kills: 1, LostRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction and two operators", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, LostRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "evictions of two pods of a zone that is scaled up", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Scale, 0, 2}, {Evict, 0, 1}}},
	}},
	{name: "an eviction that is not bound to its pod, during a rollout of another zone", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, PodDeletes: 1, Unbound: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout of a zone that is scaled up", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2},
		Tracks: [][]Edit{{{Scale, 0, 3}, {Evict, 0, 2}}},
	}},

	{name: "two evictions during a rollout of a zone that is scaled up", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2},
		Tracks: [][]Edit{{{Scale, 0, 3}, {Evict, 0, 2}}, {{Evict, 0, 1}}},
	}},
	{name: "evictions of two pods of a zone that is scaled down and up again", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}, {{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}},
	{name: "evictions in two zones, answered by two processes", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "evictions in two zones during a rollout of both", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Vetoes: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "an eviction during a rollout, answered by two processes", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout, and a change of leader", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Handovers: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout of three zones, and a crash", slow: true, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2, 2}, Crashes: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout while the operator dies and requests arrive late", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, LateRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout while the hold expires, and a crash", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Crashes: 1, Expiries: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout that is paused while the operator dies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Pause, 0, 0}}},
	}},
	{name: "an eviction during a rollout that is reverted", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 1},
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Template, 0, 1}}, {{Template, 1, 2}}},
	}},
	{name: "an eviction during a rollout while others delete and update pods", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, PodDeletes: 1, PodUpdates: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout while a user acquires the hold manually", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, LostRequests: 1, Expiries: 1, ManualHolds: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "an eviction during a rollout with stepwise caches while requests arrive late", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, LostRequests: 1, LateRequests: 1, Queue: true, StepwiseCaches: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "one pod is evicted twice before a rollout of another zone", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, LostRequests: 1, Vetoes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 0}}, {{Template, 1, 2}}},
	}},
	{name: "evictions of two pods of one zone and a crash", slow: true, config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}},
	{name: "an eviction and a rollout of two pods at a time, and a crash", slow: true, config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "evictions of two pods and a rollout under one budget", slow: true, config: Config{
		Zones: 1, Replicas: 3, Budget: 3, Limit: 2, Operators: 1, Templates: []int{2}, Pods: [][]int{{1, 2, 2}},
		Tracks: [][]Edit{{{Evict, 0, 1}}, {{Evict, 0, 2}}},
	}},
	{name: "an eviction during a downscale of another zone", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Downscale, 1, 0}}},
	}},
	{name: "an eviction during a downscale of its zone", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Downscale, 0, 1}}},
	}},
	{name: "an eviction of a pod that a downscale deletes", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Downscale, 0, 0}}},
	}},
	{name: "an eviction during a downscale by lockstep while the operator dies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, LostRequests: 1, Queue: true,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{ForceReplicas, 1, 0}}},
	}},
	{name: "evictions of one partition, answered by two processes", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1, Standby: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "evictions of one partition and a crash", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1, Crashes: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "an eviction by partitions during a downscale", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Limit: 1, Partitions: true, Operators: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{Downscale, 1, 1}}},
	}},
	{name: "an eviction by partitions during a rollout while the operator dies, and a crash", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Limit: 1, Partitions: true, Operators: 1, Templates: []int{1, 2}, Crashes: 1, Kills: 1, LostRequests: 1,
		Tracks: [][]Edit{{{Evict, 0, 0}}},
	}},
	{name: "a rollout, a downscale by lockstep and an eviction in three zones, two processes", slow: true, memory: 4 << 30, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 1, Standby: 1, Templates: []int{1, 1, 2},
		Tracks: [][]Edit{{{Evict, 0, 0}}, {{ForceReplicas, 1, 0}}},
	}},
}
