package sim

// absenceWorlds are worlds in which a zone leaves its group for a time. They are explored with
// lockstep's own rules.
var absenceWorlds = []*exploration{
	{name: "a zone is orphaned and applied again during a rollout", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2},
		Tracks: [][]Edit{{{Orphan, 0, 0}, {Recreate, 0, 0}}},
	}},
	{name: "a zone is orphaned and applied again while a pod of it crashes", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1,
		Tracks: [][]Edit{{{Orphan, 0, 0}, {Recreate, 0, 0}}},
	}},
	{name: "a zone loses the label of its group for a while, and a pod of it crashes", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, Crashes: 1,
		Tracks: [][]Edit{{{Unlabel, 0, 0}, {Relabel, 0, 0}}},
	}},
	{name: "a zone is orphaned and applied again during evictions in both zones", config: Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1,
		Tracks: [][]Edit{{{Orphan, 0, 0}, {Recreate, 0, 0}}, {{Evict, 0, 0}}, {{Evict, 1, 0}}},
	}},
	{name: "a zone of two pods is orphaned and applied again during a rollout", slow: true, config: Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2},
		Tracks: [][]Edit{{{Orphan, 0, 0}, {Recreate, 0, 0}}},
	}},
}
