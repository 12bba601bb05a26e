// Package judge has the laws by which the explorer and the walk judge histories. The
// caller determines the facts of a disruption from the state of its simulated API server
// alone, never from what operators believe. The laws are the same for both.
package judge

// Disruption describes the state just after a pod that was up was deleted or evicted, or after
// a downscale of a zone that deletes pods that were up.
type Disruption struct {
	WrongTarget        bool // it is not the exact pod that was judged
	Paused             bool // it is a rollout of a zone that was paused, or in another group, before the operator read anything
	OtherZoneDisrupted bool // pods of another zone are down by lockstep, or leave by a downscale
	OtherZonesDown     int  // pods of other zones that are down, except those that no process could know
	Down               int  // pods of the zone that are down, including this one, with the same exception
	Budget             int  // of the zone; 0: no budget applies
	Unrecorded         bool // the Lease does not record exactly this disruption
}

// rules are in order of precedence: Broken returns the first that a disruption breaks.
var rules = []struct {
	name   string
	broken func(Disruption) bool
}{
	{"ExactTarget", func(d Disruption) bool { return d.WrongTarget }},
	{"StandStill", func(d Disruption) bool { return d.Paused }},
	{"OneZoneAtATime", func(d Disruption) bool { return d.OtherZoneDisrupted }},
	{"RestIsWhole", func(d Disruption) bool { return d.OtherZonesDown > 0 }},
	{"WithinBudget", func(d Disruption) bool { return d.Budget > 0 && d.Down > d.Budget }},
	{"NotedFirst", func(d Disruption) bool { return d.Unrecorded }},
}

// BrokenRule returns the first law that a disruption breaks, among the laws that are judged; "" if
// it breaks none.
func (d Disruption) BrokenRule(judged func(rule string) bool) string {
	for _, rule := range rules {
		if rule.broken(d) && judged(rule.name) {
			return rule.name
		}
	}
	return ""
}

// AllRules judges every law.
func AllRules(string) bool { return true }
