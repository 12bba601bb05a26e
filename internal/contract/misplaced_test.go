package contract_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// written returns a StatefulSet with one name in one place.
func written(place, name, value string) contract.Metadata {
	entry := map[string]string{name: value}
	switch place {
	case "annotation":
		return contract.Metadata{Annotations: entry}
	case "label":
		return contract.Metadata{Labels: entry}
	case "annotation of the pod template":
		return contract.Metadata{PodAnnotations: entry}
	}
	return contract.Metadata{PodLabels: entry}
}

var places = []string{"annotation", "label", "annotation of the pod template", "label of the pod template"}

// forUsers returns the words that users write, by whether they write them on StatefulSets.
func forUsers(onStatefulSets bool) []contract.Word {
	var words []contract.Word
	for _, w := range contract.Words() {
		if w.Writer == "you" && strings.Contains(w.On, "StatefulSet") == onStatefulSets {
			words = append(words, w)
		}
	}
	return words
}

// misplaced returns the message about a word in the wrong place.
func misplaced(place string, w contract.Word) string {
	kind, template, _ := strings.Cut(place, " ")
	return strings.TrimSpace(kind+" "+w.Name+" "+template) + " has no effect: it has an effect only as " + w.As + " on " + w.On
}

func TestEveryMisplacedNameIsReported(t *testing.T) {
	for _, w := range forUsers(true) {
		for _, place := range places {
			got := contract.WithoutEffect(written(place, w.Name, "true"))
			right := !strings.Contains(place, " ") && strings.Contains(w.As, place)
			if want := misplaced(place, w); strings.Contains(got, want) == right || right && strings.Contains(got, "it has an effect only as") {
				t.Errorf("%s as %s, which is right: %t: got %q", w.Name, place, right, got)
			}
		}
	}
	for _, w := range forUsers(false) {
		for _, place := range places {
			if got, want := contract.WithoutEffect(written(place, w.Name, "x")), misplaced(place, w); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		}
	}
}

func TestAnEffectiveAnnotationIsNotReported(t *testing.T) {
	type texts = map[string]string
	for sentence, m := range map[string]contract.Metadata{
		"a label that all objects of a chart have": {Labels: texts{contract.NoDownscaleLabel: "true"}, PodLabels: texts{contract.NoDownscaleLabel: "true"}},
		"an annotation next to its label":          {Labels: texts{contract.NoDownscaleLabel: "true"}, Annotations: texts{contract.NoDownscaleLabel: "true"}},
		"pods with a group of their own":           {Labels: texts{contract.GroupLabel: "store"}, PodLabels: texts{contract.GroupLabel: "store-zone"}},
		"pods of a group that an annotation names": {Annotations: texts{contract.RolloutGroupAnnotation: "store"}, PodLabels: texts{contract.GroupLabel: "chart"}},
		"a time as label, as it used to be":        {Labels: texts{contract.MinBetweenName: "1h"}},
		"a switch that is off":                     {Annotations: texts{contract.NoDownscaleLabel: "false", contract.PrepareDownscaleLabel: ""}},
		"an annotation that lockstep writes":       {Annotations: texts{contract.DownscaledAnnotation: "x", contract.VoidedAnnotation: "x"}, PodLabels: texts{contract.RevisionLabel: "x", contract.ManagedByLabel: "Helm"}},
	} {
		if got := contract.WithoutEffect(m); got != "" {
			t.Errorf("%s: got %q", sentence, got)
		}
	}
	half := contract.Metadata{Labels: texts{contract.NoDownscaleLabel: "false"}, PodLabels: texts{contract.NoDownscaleLabel: "true"}}
	if got := contract.WithoutEffect(half); got == "" {
		t.Error("no remark about a label that differs from the StatefulSet's")
	}
}
