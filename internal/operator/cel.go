package operator

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// celOf returns a CEL expression that is true for exactly the labels that the selector matches,
// and that never fails. of is the expression of the labels, a map from string to string;
// separator is placed between the requirements.
func celOf(selector labels.Selector, of, separator string) string {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return "false"
	}
	if len(requirements) == 0 {
		return "true"
	}
	var all []string
	for _, r := range requirements {
		all = append(all, celOfRequirement(r, of))
	}
	return strings.Join(all, " &&"+separator)
}

func celOfRequirement(r labels.Requirement, of string) string {
	has := fmt.Sprintf("%q in %s", r.Key(), of)
	value := fmt.Sprintf("%s[%q]", of, r.Key())
	switch r.Operator() {
	case selection.Exists:
		return has
	case selection.DoesNotExist:
		return "!(" + has + ")"
	case selection.Equals, selection.DoubleEquals, selection.In:
		return has + " && " + value + among(r)
	case selection.NotEquals, selection.NotIn:
		return "!(" + has + " && " + value + among(r) + ")"
	case selection.GreaterThan:
		return has + " && " + celInt64(value) + " && int(" + value + ") > " + bound(r)
	case selection.LessThan:
		return has + " && " + celInt64(value) + " && int(" + value + ") < " + bound(r)
	}
	return "false" // an unknown operator selects nothing
}

// among returns the comparison with the values of the requirement.
func among(r labels.Requirement) string {
	var quoted []string
	for _, v := range slices.Sorted(slices.Values(r.ValuesUnsorted())) {
		quoted = append(quoted, fmt.Sprintf("%q", v))
	}
	if len(quoted) == 1 {
		return " == " + quoted[0]
	}
	return " in [" + strings.Join(quoted, ", ") + "]"
}

// celInt64 returns an expression that is true for values that fit into an int64, so that int()
// does not fail. A label's value has no sign. All but the last 19 digits must be zeros; numbers
// of 19 digits compare as text.
func celInt64(value string) string {
	return value + `.matches("^0*[0-9]{1,19}$") && ` + value + `.find("[0-9]{19}$") <= "9223372036854775807"`
}

// bound returns the number to compare labels with, without leading zeros.
func bound(r labels.Requirement) string {
	digits := strings.TrimLeft(strings.Join(r.ValuesUnsorted(), ""), "0")
	if digits == "" {
		return "0"
	}
	return digits
}
