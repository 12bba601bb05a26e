package contract_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestTheAnnotationCountsForTheGroupAndThenTheLabel(t *testing.T) {
	type texts = map[string]string
	annotated := func(group string) texts { return texts{contract.RolloutGroupAnnotation: group} }
	ingester := texts{contract.GroupLabel: "ingester"}
	for sentence, tc := range map[string]struct {
		labels, annotations texts
		group               string
		grouped             bool
	}{
		"neither":                                {nil, nil, "", false},
		"the label":                              {ingester, nil, "ingester", true},
		"a label without a value":                {texts{contract.GroupLabel: ""}, nil, "", true},
		"the annotation":                         {nil, annotated("loki"), "loki", true},
		"both":                                   {ingester, annotated("loki"), "loki", true},
		"both, with the same value":              {ingester, annotated("ingester"), "ingester", true},
		"the longest name":                       {ingester, annotated(strings.Repeat("x", 63)), strings.Repeat("x", 63), true},
		"a name with a dot and capital letters":  {ingester, annotated("Loki.ingester_1"), "Loki.ingester_1", true},
		"an empty annotation":                    {ingester, annotated(""), "ingester", true},
		"an annotation that is too long":         {ingester, annotated(strings.Repeat("x", 64)), "ingester", true},
		"an annotation with a space":             {ingester, annotated("loki "), "ingester", true},
		"an annotation with a slash":             {ingester, annotated("team/loki"), "ingester", true},
		"an annotation that ends with a dash":    {ingester, annotated("loki-"), "ingester", true},
		"an annotation with a line break":        {ingester, annotated("loki\n"), "ingester", true},
		"an unusable annotation without a label": {nil, annotated("loki ingester"), "", false},
		"ignored":                                {ingester, texts{contract.IgnoreAnnotation: "true"}, "", false},
		"ignored in another group":               {ingester, texts{contract.IgnoreAnnotation: "true", contract.RolloutGroupAnnotation: "loki"}, "", false},
		"not ignored":                            {ingester, texts{contract.IgnoreAnnotation: "false"}, "ingester", true},
		"neither ignored nor not":                {ingester, texts{contract.IgnoreAnnotation: "yes"}, "ingester", true},
		"ignored in capital letters":             {ingester, texts{contract.IgnoreAnnotation: "True"}, "ingester", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if group, grouped := contract.Group(tc.labels, tc.annotations); group != tc.group || grouped != tc.grouped {
				t.Errorf("got %q, %t; want %q, %t", group, grouped, tc.group, tc.grouped)
			}
		})
	}
}

func TestAnAnnotationThatNamesNoGroupIsReported(t *testing.T) {
	for text, want := range map[string]string{
		"loki": "", "l": "", "": `""`, "loki ": `"loki "`, "-loki": `"-loki"`, "loki\n": `"loki\n"`,
		strings.Repeat("x", 64): `"` + strings.Repeat("x", 39) + "...",
	} {
		if got := contract.InvalidGroup(map[string]string{contract.RolloutGroupAnnotation: text}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := contract.InvalidGroup(nil); got != "" {
		t.Errorf("without the annotation: got %q", got)
	}
}

func TestAnIgnoredObjectHasNoLabelsForLockstep(t *testing.T) {
	labels := map[string]string{contract.NoDownscaleLabel: "true", contract.PrepareDownscaleLabel: "true"}
	for value, ignored := range map[string]bool{"true": true, "false": false, "": false, "yes": false} {
		annotations := map[string]string{contract.IgnoreAnnotation: value}
		if got := contract.Ignored(annotations); got != ignored {
			t.Errorf("%q: ignored is %t", value, got)
		}
		if contract.NoDownscale(labels, annotations) == ignored || contract.PrepareDownscale(labels, annotations) == ignored {
			t.Errorf("%q: the labels count although the object is ignored, or do not although it is not", value)
		}
	}
}

func TestAnIgnoreAnnotationWithAnotherValueIsReported(t *testing.T) {
	for value, want := range map[string]string{
		"true": "", "false": "", "": "",
		"yes": `annotation lockstep.dev/ignore is "yes": only true has an effect`,
	} {
		if got := contract.WithoutEffect(contract.Metadata{Annotations: map[string]string{contract.IgnoreAnnotation: value}}); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}
