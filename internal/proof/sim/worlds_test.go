package sim

import "time"

// spot is a world that is explored, with the results.
type spot struct {
	name   string
	wide   bool  // takes long: only make explore visits it, and make mutants if a mutant needs it
	memory int64 // limit in bytes, if it needs more than other worlds
	config Config

	report Report
	took   time.Duration
}

// worlds are explored with lockstep's own rules.
var worlds = []*spot{
	{name: "a revert while the operator dies", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "a bad revision and then a good one while the operator dies", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Bad: []int{2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 3}}, {{Template, 1, 3}}},
	}},
	{name: "a pause while requests and replies get lost", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, Lost: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a pause while requests come late and the hold expires", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Late: 1, Minutes: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a crash while the operator dies and its hold expires", config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 1}, Kills: 1, Crashes: 1, Minutes: 1,
	}},
	{name: "others delete and touch pods", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Losses: 1, Churn: 1,
	}},
	{name: "a pause and a crash", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Crashes: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "a revert while requests come late", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Pods: [][]int{{1, 2}}, Late: 1,
		Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "two pods at a time while the operator dies", config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Kills: 1,
	}},
	{name: "two pods at a time and a crash", config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Crashes: 1,
	}},
	{name: "scaling while the operator dies", wide: true, config: Config{
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
	{name: "scaling up while the operator dies and requests come late", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, Late: 1,
		Tracks: [][]Edit{{{Scale, 0, 2}, {Template, 0, 2}}},
	}},
	{name: "another update strategy for a while", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2},
		Tracks: [][]Edit{{{RollingUpdate, 1, 0}, {OnDelete, 1, 0}}},
	}},
	{name: "somebody takes the hold by hand", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Maintenance: 1, Minutes: 1,
	}},
	{name: "caches that trickle and a crash", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Crashes: 1, Trickle: true,
	}},
	{name: "two operators", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},

	{name: "two downscales at once", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}, {{Shrink, 1, 0}}},
	}},
	{name: "a downscale beside a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Shrink, 0, 0}}},
	}},
	{name: "a downscale that never comes", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Lost: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}},
	}},
	{name: "a downscale of what is down while somebody has the hold", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Crashes: 1, Maintenance: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}},
	}},
	{name: "a downscale in the zone that rolls", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2},
		Tracks: [][]Edit{{{Shrink, 0, 1}}},
	}},
	{name: "a downscale of our own beside a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Force, 0, 0}}},
	}},
	{name: "a downscale of our own and back while requests come late", config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Late: 1,
		Tracks: [][]Edit{{{Force, 0, 1}, {Force, 0, 2}}},
	}},
	{name: "two downscales of our own while the operator dies", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, Late: 1,
		Tracks: [][]Edit{{{Force, 0, 0}}, {{Force, 1, 0}}},
	}},
	{name: "a downscale of our own and a crash", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1, Kills: 1,
		Tracks: [][]Edit{{{Force, 0, 0}}},
	}},
	{name: "downscales of our own and of others", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Lost: 1,
		Tracks: [][]Edit{{{Force, 0, 0}}, {{Shrink, 1, 0}}},
	}},
	{name: "two operators and a downscale of our own", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Force, 0, 0}}},
	}},

	{name: "two operators of which another one leads after a while", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Handovers: 1, Templates: []int{2, 2},
	}},
	{name: "two rollouts and a downscale of our own in three zones, and another leader", wide: true, memory: 4 << 30, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 2, Handovers: 1, Templates: []int{1, 2, 2},
		Tracks: [][]Edit{{{Force, 0, 0}}},
	}},

	{name: "three zones", wide: true, config: Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2, 2},
		Kills: 1, OldCaches: true, Crashes: 1, Minutes: 1,
	}},
	{name: "two templates while the operator dies and requests come late", config: Config{
		Zones: 1, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, Late: 1,
		Tracks: [][]Edit{{{Template, 0, 2}, {Template, 0, 3}}},
	}},
	{name: "a pause while the operator dies and requests come late", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, Late: 1, Minutes: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{name: "caches that trickle while the operator dies and its hold expires", wide: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Kills: 1, Crashes: 1, Minutes: 1, Trickle: true,
	}},
	{name: "caches that trickle over two zones", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Crashes: 1, Minutes: 1, Trickle: true,
	}},
	{name: "scaling down and up", wide: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "scaling up and down", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, Minutes: 1,
		Tracks: [][]Edit{{{Scale, 0, 2}, {Scale, 0, 1}}},
	}},
	{name: "two downscales at once while the operator dies", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, Lost: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}, {{Shrink, 1, 0}}},
	}},
	{name: "a downscale beside a rollout while the operator dies and its hold expires", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Kills: 1, OldCaches: true, Late: 1, Minutes: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}},
	}},
	{name: "a downscale and back beside a rollout", wide: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{1, 2},
		Tracks: [][]Edit{{{Shrink, 0, 1}, {Scale, 0, 2}}},
	}},
	{name: "a downscale beside a rollout and a crash", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1,
		Tracks: [][]Edit{{{Shrink, 0, 0}}},
	}},
	{name: "others delete and touch pods while the operator dies", wide: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Losses: 1, Churn: 1,
	}},
	{name: "two pods at a time while others delete pods and replies get lost", wide: true, config: Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2}, Losses: 1, Lost: 1,
	}},
	{name: "two pods at a time in two zones", wide: true, config: Config{
		Zones: 2, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2, 1}, Kills: 1, OldCaches: true, Crashes: 1, Minutes: 1,
	}},
	{name: "two operators and an expired hold", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Minutes: 1,
	}},
	{name: "two operators and two pods in each zone", wide: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},
	{name: "two operators and a crash", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Crashes: 1,
	}},
	{name: "two operators and a crash and an expired hold", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 1}, Crashes: 1, Minutes: 1,
	}},
	{name: "two operators one of which dies", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
	}},
	{name: "two operators and lost requests and replies", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Lost: 1,
	}},
	{name: "two operators and a pause", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Tracks: [][]Edit{{{Pause, 0, 0}}},
	}},
	{name: "two operators and a revert", wide: true, config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{name: "two operators and two pods and a crash", wide: true, config: Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2}, Crashes: 1,
	}},
}
