// Package judge has the rules that the explorer and the walk apply to each disruption. The caller
// describes a disruption by the state of its simulated API server alone, never by the knowledge of
// an operator.
package judge

// Disruption describes the state just after a pod that was up was deleted or evicted, or after
// a downscale of a zone that deletes pods that were up.
type Disruption struct {
	WrongTarget        bool // the pod is not exactly the one of the decision
	Paused             bool // a rollout, and the zone was paused, or was not in the group, before the operator read anything
	OtherZoneDisrupted bool // lockstep disrupted pods of another zone that are still down, or a downscale of another zone deletes pods
	OtherZonesDown     int  // number of pods of other zones that are down, without those that no process could know to be down
	Down               int  // number of pods of the zone that are down, this one included, with the same exception
	Budget             int  // of the zone; 0: no budget applies
	Unrecorded         bool // the Lease does not record exactly this disruption
}

// rules are in order of precedence.
var rules = []struct {
	name   string
	broken func(Disruption) bool
}{
	{"ExactTarget", func(d Disruption) bool { return d.WrongTarget }},
	{"NotPaused", func(d Disruption) bool { return d.Paused }},
	{"OneZoneAtATime", func(d Disruption) bool { return d.OtherZoneDisrupted }},
	{"OtherZonesAvailable", func(d Disruption) bool { return d.OtherZonesDown > 0 }},
	{"WithinBudget", func(d Disruption) bool { return d.Budget > 0 && d.Down > d.Budget }},
	{"RecordedFirst", func(d Disruption) bool { return d.Unrecorded }},
}

// BrokenRule returns the first rule that a disruption breaks, among the rules that are checked; "" if
// it breaks none.
func (d Disruption) BrokenRule(checked func(rule string) bool) string {
	for _, rule := range rules {
		if rule.broken(d) && checked(rule.name) {
			return rule.name
		}
	}
	return ""
}

// AllRules makes BrokenRule check every rule.
func AllRules(string) bool { return true }
