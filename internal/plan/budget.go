package plan

import "strconv"

// Budget says how many pods of a zone may be down at a time: a number of pods,
// or a percentage of spec.replicas. The zero Budget means one pod.
type Budget struct {
	Pods    int
	Percent int
	Invalid string // what was written instead of a budget; one pod is used
}

// Of returns the budget as a number of pods of a zone with that many replicas.
func (b Budget) Of(replicas int) int {
	if b.Percent > 0 {
		return partOf(replicas, b.Percent)
	}
	return max(1, b.Pods)
}

// partOf returns a percentage of so many replicas, rounded down and never less than one.
func partOf(replicas, percent int) int {
	return max(1, int(int64(percent)*int64(replicas)/100))
}

// String returns the budget as a user would write it.
func (b Budget) String() string {
	if b.Percent > 0 {
		return strconv.Itoa(b.Percent) + "%"
	}
	return strconv.Itoa(max(1, b.Pods))
}
