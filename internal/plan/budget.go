package plan

import "strconv"

// Budget is how many pods of a zone may be down at a time: a number of pods, or a percentage of
// spec.replicas. The zero Budget means one pod.
type Budget struct {
	Pods    int
	Percent int
	Invalid string // the text that is not a budget; then the budget is one pod
}

// Of returns the budget as a number of pods, for a zone with that many replicas.
func (b Budget) Of(replicas int) int {
	if b.Percent > 0 {
		return PercentOf(replicas, b.Percent)
	}
	return max(1, b.Pods)
}

// PercentOf returns a percentage of the replicas, rounded down, but at least one.
func PercentOf(replicas, percent int) int {
	return max(1, int(int64(percent)*int64(replicas)/100))
}

// String returns the budget as a user writes it.
func (b Budget) String() string {
	if b.Percent > 0 {
		return strconv.Itoa(b.Percent) + "%"
	}
	return strconv.Itoa(max(1, b.Pods))
}
