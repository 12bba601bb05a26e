package telemetry

// tallies are counts with two labels. A group has few values of each.
type tallies []tally

type tally struct {
	a, b string
	n    uint64
}

// add adds n to a count. Its series exists from the first call on.
func (all *tallies) add(n uint64, a, b string) {
	for i := range *all {
		if t := &(*all)[i]; t.a == a && t.b == b {
			t.n += n
			return
		}
	}
	*all = append(*all, tally{a, b, n})
}
