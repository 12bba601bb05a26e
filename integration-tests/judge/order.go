package judge

import (
	"cmp"
	"fmt"
	"strings"
)

// Order objects to zones out of natural order and ordinals that do not ascend, as
// far as pods that served were taken down for the first time. It is for histories
// in which nothing but one rollout goes on.
func Order(takedowns []Takedown) []string {
	type group struct{ namespace, name string }
	type zone struct {
		group
		name string
	}
	type pod struct {
		zone
		name string
	}
	highest := map[zone]int{}
	seen := map[pod]bool{}
	latest := map[group]string{} // zone
	var wrong []string
	for _, t := range takedowns {
		g := group{t.Namespace, t.Group}
		z := zone{g, t.Zone}
		p := pod{z, t.Pod}
		if !t.WasUp || t.Evicted || seen[p] {
			continue
		}
		seen[p] = true
		_, ordinal, _ := ordinalOf(t.Pod)
		before, begun := highest[z]
		switch {
		case !begun && naturally(t.Zone, latest[g]) < 0:
			wrong = append(wrong, fmt.Sprintf("zone %s began after zone %s", t.Zone, latest[g]))
		case begun && ordinal+t.Budget <= before: // what goes together arrives in any order
			wrong = append(wrong, fmt.Sprintf("%s was deleted after %s", t.Pod, podName(t.Zone, before)))
		}
		highest[z] = max(before, ordinal)
		if !begun {
			latest[g] = t.Zone
		}
	}
	return wrong
}

// naturally compares names of the form text-number, the number as a number.
func naturally(a, b string) int {
	textA, n, aNumbered := ordinalOf(a)
	textB, m, bNumbered := ordinalOf(b)
	if aNumbered && bNumbered && textA == textB {
		return cmp.Compare(n, m)
	}
	return strings.Compare(a, b)
}
