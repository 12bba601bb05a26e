// Package judge has the laws that explorer and walk judge histories by. What is true
// as somebody is sent away is found out by whoever keeps the history: of the invented
// API server alone, never of what operators believe. The laws are the same for both.
package judge

// Deed is what is true as a pod has just been sent away that served, or as a zone has
// just shrunk by which pods leave that served.
type Deed struct {
	Strange   bool // it is not the very pod that was judged
	Elsewhere bool // pods of another zone are down by lockstep, or leave by a downscale
	Rest      int  // pods of other zones that are down, without those that nobody could know of
	Down      int  // pods of the zone that are down with this deed, without those
	Budget    int  // of the zone; 0: the deed is bound by none
	Unnoted   bool // the Lease does not note exactly this deed
}

// laws in the order in which the one is told that a deed breaks.
var laws = []struct {
	name   string
	broken func(Deed) bool
}{
	{"ExactTarget", func(d Deed) bool { return d.Strange }},
	{"OneZoneAtATime", func(d Deed) bool { return d.Elsewhere }},
	{"RestIsWhole", func(d Deed) bool { return d.Rest > 0 }},
	{"WithinBudget", func(d Deed) bool { return d.Budget > 0 && d.Down > d.Budget }},
	{"NotedFirst", func(d Deed) bool { return d.Unnoted }},
}

// Broken returns the first law that a deed breaks, of those that are judged; "" where
// it breaks none.
func (d Deed) Broken(judged func(law string) bool) string {
	for _, law := range laws {
		if law.broken(d) && judged(law.name) {
			return law.name
		}
	}
	return ""
}

// All judges every law.
func All(string) bool { return true }
