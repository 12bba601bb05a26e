package sim

import "time"

// exploration is a world that is explored, with the results.
type exploration struct {
	name   string
	slow   bool  // takes long: only make explore visits it, and make mutants if a mutant needs it
	memory int64 // limit in bytes, if it needs more than other worlds
	config Config

	report   Report
	duration time.Duration
}

// worlds are explored with lockstep's own rules.
var worlds = []*exploration{
	{name: "a revert while the operator dies", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "a bad revision and then a good one while the operator dies", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Bad: []int{2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 3}}, {{Template, 1, 3}}},
	}},
	{name: "a pause while requests and replies are lost", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, LostRequests: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a pause while requests arrive late and the hold expires", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, LateRequests: 1, Expiries: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a crash while the operator dies and its hold expires", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 1}, Kills: 1, Crashes: 1, Expiries: 1,
	}},
	{name: "others delete and update pods", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, PodDeletes: 1, PodUpdates: 1,
	}},
	{name: "a pause and a crash", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Crashes: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a revert while requests arrive late", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Pods: [][]int{{1, 2}}, LateRequests: 1,
		Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "two pods at a time while the operator dies", config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Kills: 1,
	}},
	{name: "two pods at a time and a crash", config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Crashes: 1,
	}},
	{name: "scaling while the operator dies", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Kills: 1,
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "scaling down and up in one zone", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2},
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "scaling in two zones", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Scale, 0, 0}}},
	}},
	{name: "scaling up while the operator dies and requests arrive late", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, LateRequests: 1,
		Tracks: [][]Edit{{{Scale, 0, 2}, {Template, 0, 2}}},
	}},
	{name: "another update strategy for a while", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2},
		Tracks: [][]Edit{{{RollingUpdate, 1, 0}, {OnDelete, 1, 0}}},
	}},
	{name: "a user acquires the hold manually", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, ManualHolds: 1, Expiries: 1,
	}},
	{name: "stepwise caches and a crash", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Crashes: 1, StepwiseCaches: true,
	}},
	{name: "two operators", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},

	{name: "two downscales at once", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}, {{Downscale, 1, 0}}},
	}},
	{name: "a downscale during a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Downscale, 0, 0}}},
	}},
	{name: "an admitted downscale that is never carried out", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, LostRequests: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}},
	}},
	{name: "a downscale of a pod that is down while a user has the hold", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Crashes: 1, ManualHolds: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}},
	}},
	{name: "a downscale in the zone of a rollout", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2},
		Tracks: [][]Edit{{{Downscale, 0, 1}}},
	}},
	{name: "a downscale by lockstep during a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}},
	}},
	{name: "a downscale by lockstep and back while requests arrive late", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, LateRequests: 1,
		Tracks: [][]Edit{{{ForceReplicas, 0, 1}, {ForceReplicas, 0, 2}}},
	}},
	{name: "two downscales by lockstep while the operator dies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, LateRequests: 1,
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}, {{ForceReplicas, 1, 0}}},
	}},
	{name: "a downscale by lockstep and a crash", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1, Kills: 1,
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}},
	}},
	{name: "downscales by lockstep and by others", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, LostRequests: 1,
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}, {{Downscale, 1, 0}}},
	}},
	{name: "two operators and a downscale by lockstep", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{1, 2},
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}},
	}},

	{name: "two operators and a change of leader", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Handovers: 1, Templates: []int{2, 2},
	}},
	{name: "two rollouts and a downscale by lockstep in three zones, and a change of leader", slow: true, memory: 4 << 30, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 2, Handovers: 1, Templates: []int{1, 2, 2},
		Tracks: [][]Edit{{{ForceReplicas, 0, 0}}},
	}},

	{name: "three zones", slow: true, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2, 2},
		Kills: 1, OldCaches: true, Crashes: 1, Expiries: 1,
	}},
	{name: "two templates while the operator dies and requests arrive late", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, LateRequests: 1,
		Tracks: [][]Edit{{{Template, 0, 2}, {Template, 0, 3}}},
	}},
	{name: "a pause while the operator dies and requests arrive late", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, LateRequests: 1, Expiries: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "stepwise caches while the operator dies and its hold expires", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Kills: 1, Crashes: 1, Expiries: 1, StepwiseCaches: true,
	}},
	{name: "stepwise caches over two zones", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Crashes: 1, Expiries: 1, StepwiseCaches: true,
	}},
	{name: "scaling down and up", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "scaling up and down", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, Expiries: 1,
		Tracks: [][]Edit{{{Scale, 0, 2}, {Scale, 0, 1}}},
	}},
	{name: "two downscales at once while the operator dies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, LostRequests: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}, {{Downscale, 1, 0}}},
	}},
	{name: "a downscale during a rollout while the operator dies and its hold expires", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Kills: 1, OldCaches: true, LateRequests: 1, Expiries: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}},
	}},
	{name: "a downscale and back during a rollout", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Downscale, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "a downscale during a rollout and a crash", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1,
		Tracks: [][]Edit{{{Downscale, 0, 0}}},
	}},
	{name: "others delete and update pods while the operator dies", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, PodDeletes: 1, PodUpdates: 1,
	}},
	{name: "two pods at a time while others delete pods and replies are lost", slow: true, config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, PodDeletes: 1, LostRequests: 1,
	}},
	{name: "two pods at a time in two zones", slow: true, config: Config{
		Zones: 2, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2, 1}, Kills: 1, OldCaches: true, Crashes: 1, Expiries: 1,
	}},
	{name: "two operators and an expired hold", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Expiries: 1,
	}},
	{name: "two operators and two pods in each zone", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},
	{name: "two operators and a crash", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Crashes: 1,
	}},
	{name: "two operators and a crash and an expired hold", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 1}, Crashes: 1, Expiries: 1,
	}},
	{name: "two operators one of which dies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
	}},
	{name: "two operators and lost requests and replies", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, LostRequests: 1,
	}},
	{name: "two operators and a pause", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Tracks: [][]Edit{{{Pause, 0, 0}}},
	}},
	{name: "two operators and a revert", slow: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "two operators and two pods and a crash", slow: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2}, Crashes: 1,
	}},
}
