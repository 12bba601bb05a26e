package plan

import (
	"strconv"
	"strings"
)

// OrdinalOf returns the ordinal in the name of a StatefulSet's pod. The second
// result is false for a name that the StatefulSet controller does not give.
func OrdinalOf(set, pod string) (int, bool) {
	digits, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return 0, false
	}
	ordinal, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || ordinal < 0 || strconv.FormatInt(ordinal, 10) != digits {
		return 0, false
	}
	return int(ordinal), true
}

// ParentOf returns the name of the StatefulSet that gave a pod its name, and its ordinal
// there. The last result is false for a name that no StatefulSet gives.
func ParentOf(pod string) (set string, ordinal int, ok bool) {
	dash := strings.LastIndexByte(pod, '-')
	if dash < 1 {
		return "", 0, false
	}
	ordinal, ok = OrdinalOf(pod[:dash], pod)
	return pod[:dash], ordinal, ok
}

// PodName returns the name that the StatefulSet controller gives to an ordinal.
func PodName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// CompareNatural compares names and treats runs of digits as numbers, so zone-2 comes
// before zone-10.
func CompareNatural(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		partA, partB := leadingRun(restA), leadingRun(restB)
		if c := compareRuns(partA, partB); c != 0 {
			return c
		}
		restA, restB = restA[len(partA):], restB[len(partB):]
	}
	if c := len(restA) - len(restB); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// leadingRun returns the longest prefix of s that has only digits, or none.
func leadingRun(s string) string {
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) != isDigit(s[0]) {
			return s[:i]
		}
	}
	return s
}

func compareRuns(a, b string) int {
	if !isDigit(a[0]) || !isDigit(b[0]) {
		return strings.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
