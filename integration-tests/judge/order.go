package judge

import (
	"cmp"
	"fmt"
	"strings"
)

// OrderViolations returns the zones that were rolled out of natural order and the pods out of
// ascending order. It considers the first disruption of each ready pod. It is for histories that
// contain a single rollout.
func OrderViolations(disruptions []Disruption) []string {
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
	latest := map[group]string{} // to the zone that was rolled last
	var violations []string
	for _, t := range disruptions {
		g := group{t.Namespace, t.Group}
		z := zone{g, t.Zone}
		p := pod{z, t.Pod}
		if !t.WasServing || t.Evicted || seen[p] {
			continue
		}
		seen[p] = true
		_, ordinal, _ := ordinalOf(t.Pod)
		before, begun := highest[z]
		switch {
		case !begun && compareNaturally(t.Zone, latest[g]) < 0:
			violations = append(violations, fmt.Sprintf("zone %s began after zone %s", t.Zone, latest[g]))
		case begun && ordinal+t.Budget <= before: // concurrent deletions may arrive in any order
			violations = append(violations, fmt.Sprintf("%s was deleted after %s", t.Pod, podName(t.Zone, before)))
		}
		highest[z] = max(before, ordinal)
		if !begun {
			latest[g] = t.Zone
		}
	}
	return violations
}

// compareNaturally compares names of the form text-number by text and number.
func compareNaturally(a, b string) int {
	textA, n, aNumbered := ordinalOf(a)
	textB, m, bNumbered := ordinalOf(b)
	if aNumbered && bNumbered && textA == textB {
		return cmp.Compare(n, m)
	}
	return strings.Compare(a, b)
}
