package plan

import (
	"maps"
	"slices"
	"strings"
	"unique"
)

// Labels are the labels of a pod but for those that every pod has of its own: its
// name, its ordinal and its revision. Pods with the same ones share them. The zero
// Labels are none.
type Labels struct {
	shared unique.Handle[string]
}

// Labels of which every pod has a value of its own, as the StatefulSet controller
// writes them.
const (
	podNameLabel  = "statefulset.kubernetes.io/pod-name"
	podIndexLabel = "apps.kubernetes.io/pod-index"
	revisionLabel = "controller-revision-hash"
)

// LabelsOf keeps labels of a pod.
func LabelsOf(labels map[string]string) Labels {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch key {
		case podNameLabel, podIndexLabel, revisionLabel:
			continue
		}
		text.WriteString(key + "=" + labels[key] + "\n") // neither a key nor a value has any of these two
	}
	if text.Len() == 0 {
		return Labels{}
	}
	return Labels{unique.Make(text.String())}
}

// Map returns the labels as they were kept.
func (l Labels) Map() map[string]string {
	labels := map[string]string{}
	if l == (Labels{}) {
		return labels
	}
	for line := range strings.Lines(l.shared.Value()) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		labels[key] = value
	}
	return labels
}

// Equal reports whether both are the same labels.
func (l Labels) Equal(other Labels) bool { return l == other }

// MarshalText writes the labels as a selector of them is written.
func (l Labels) MarshalText() ([]byte, error) {
	if l == (Labels{}) {
		return nil, nil
	}
	lines := strings.TrimSuffix(l.shared.Value(), "\n")
	return []byte(strings.ReplaceAll(lines, "\n", ",")), nil
}

// UnmarshalText reads what MarshalText writes.
func (l *Labels) UnmarshalText(text []byte) error {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(string(text), ",") {
		if key, value, _ := strings.Cut(pair, "="); key != "" {
			labels[key] = value
		}
	}
	*l = LabelsOf(labels)
	return nil
}
