package telemetry

// tallies count by two labels, of which a group has few values.
type tallies []tally

type tally struct {
	a, b string
	n    uint64
}

// add counts n more. What is counted for the first time begins to be shown.
func (all *tallies) add(n uint64, a, b string) {
	for i := range *all {
		if t := &(*all)[i]; t.a == a && t.b == b {
			t.n += n
			return
		}
	}
	*all = append(*all, tally{a, b, n})
}
