package observe

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// selectorOf returns the selector of a StatefulSet in the form that a list of pods requires. The
// API server rejects StatefulSets with an invalid selector; selectorOf would return one that
// selects nothing.
func selectorOf(set *appsv1.StatefulSet) string {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		return noPods
	}
	return selector.String()
}

// noPods selects no pod, because a label cannot have two values.
const noPods = "lockstep.dev/no-pods=a,lockstep.dev/no-pods=b"

// question is the selector of one list of pods, and the selectors that the list answers.
type question struct {
	selector string
	answers  []string
}

// merge returns the fewest questions that answer all selectors. Zones usually differ in the value
// of a single label: then one question is enough.
func merge(selectors []string) []question {
	selectors = slices.Compact(slices.Sorted(slices.Values(selectors)))
	if all, ok := anyOf(selectors); ok {
		return []question{{all.String(), selectors}}
	}
	questions := make([]question, len(selectors))
	for i, selector := range selectors {
		questions[i] = question{selector, []string{selector}}
	}
	return questions
}

// anyOf returns one selector for exactly the objects that several selectors select. This requires
// that they ask for single values of the same labels and differ in only one of these.
func anyOf(selectors []string) (all labels.Selector, ok bool) {
	values := map[string]sets.Set[string]{} // requested values of each label
	for i, selector := range selectors {
		asked, err := labels.ConvertSelectorToLabelsMap(selector)
		if err != nil || asked.String() != selector || (i > 0 && len(asked) != len(values)) {
			return nil, false
		}
		for label, value := range asked {
			switch known := values[label]; {
			case i == 0:
				values[label] = sets.New(value)
			case known == nil:
				return nil, false
			default:
				known.Insert(value)
			}
		}
	}
	all, differ := labels.NewSelector(), 0
	for label, wanted := range values {
		r, err := labels.NewRequirement(label, selection.In, sets.List(wanted))
		if err != nil {
			return nil, false
		}
		if all = all.Add(*r); len(wanted) > 1 {
			differ++
		}
	}
	return all, differ == 1
}
