package plan

import (
	"maps"
	"slices"
	"strings"
	"unique"
)

// Labels are the labels of a pod without its name, ordinal and revision. Pods with
// equal labels share one copy in memory. The zero Labels are none.
type Labels struct {
	shared unique.Handle[string]
}

// Labels that the StatefulSet controller sets for each pod.
const (
	PodNameLabel  = "statefulset.kubernetes.io/pod-name"
	PodIndexLabel = "apps.kubernetes.io/pod-index"
	RevisionLabel = "controller-revision-hash"
)

// LabelsOf returns Labels with the labels of a pod.
func LabelsOf(labels map[string]string) Labels {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch key {
		case PodNameLabel, PodIndexLabel, RevisionLabel:
			continue
		}
		text.WriteString(key + "=" + labels[key] + "\n") // neither keys nor values contain an equals sign or a newline
	}
	if text.Len() == 0 {
		return Labels{}
	}
	return Labels{unique.Make(text.String())}
}

// Map returns the labels that LabelsOf kept.
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

// Equal reports whether both have the same labels.
func (l Labels) Equal(other Labels) bool { return l == other }

// MarshalText returns the labels in the notation of a label selector.
func (l Labels) MarshalText() ([]byte, error) {
	if l == (Labels{}) {
		return nil, nil
	}
	lines := strings.TrimSuffix(l.shared.Value(), "\n")
	return []byte(strings.ReplaceAll(lines, "\n", ",")), nil
}

// UnmarshalText parses the output of MarshalText.
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
