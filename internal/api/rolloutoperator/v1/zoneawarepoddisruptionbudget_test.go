package v1_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
)

// budgets is the part of the budgets' CRD on which clients rely.
type budgets struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group, Scope string
		Names        struct {
			Kind, ListKind, Plural, Singular string
			ShortNames                       []string
		}
		Versions []struct {
			Name            string
			Served, Storage bool
			Subresources    struct{ Status *struct{} }
			Schema          struct {
				OpenAPIV3Schema struct {
					Required   []string
					Properties map[string]struct {
						Required   []string
						Properties map[string]field
					}
				}
			}
		}
	}
}

type field struct {
	Type                 string
	Minimum, Maximum     *int64
	MaxItems             *int64
	Enum                 []string
	Required             []string
	Properties           map[string]field
	AdditionalProperties *field
}

func readBudgets(t *testing.T) budgets {
	t.Helper()
	text, err := os.ReadFile("../../../../manifests/crds/rollout-operator.grafana.com_zoneawarepoddisruptionbudgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd budgets
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func TestTheCRDOfBudgetsIsThatOfThePredecessorAndMore(t *testing.T) {
	crd := readBudgets(t)
	if crd.Metadata.Name != "zoneawarepoddisruptionbudgets."+v1.GroupName || crd.Spec.Group != v1.GroupName || crd.Spec.Scope != "Namespaced" {
		t.Errorf("it is %+v", crd.Metadata)
	}
	names := crd.Spec.Names
	if names.Kind != "ZoneAwarePodDisruptionBudget" || names.ListKind != "ZoneAwarePodDisruptionBudgetList" || names.Plural != "zoneawarepoddisruptionbudgets" || !cmp.Equal(names.ShortNames, []string{"zpdb"}) {
		t.Errorf("names: %+v", names)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%d versions", len(crd.Spec.Versions))
	}
	version := crd.Spec.Versions[0]
	if version.Name != "v1" || !version.Served || !version.Storage || version.Subresources.Status == nil {
		t.Errorf("version: %+v", version)
	}
	schema := version.Schema.OpenAPIV3Schema
	if !cmp.Equal(schema.Required, []string{"spec"}) || !cmp.Equal(schema.Properties["spec"].Required, []string{"selector"}) {
		t.Errorf("required: %q and %q", schema.Required, schema.Properties["spec"].Required)
	}
	spec := schema.Properties["spec"].Properties
	matchLabels := spec["selector"].Properties["matchLabels"]
	if diff := cmp.Diff(field{Type: "object", AdditionalProperties: &field{Type: "string"}}, matchLabels); diff != "" {
		t.Errorf("matchLabels (-want +got):\n%s", diff)
	}
	delete(spec, "selector")
	want := map[string]field{
		"maxUnavailable":             {Type: "integer", Minimum: new(int64(0))},
		"maxUnavailablePercentage":   {Type: "integer", Minimum: new(int64(0)), Maximum: new(int64(100))},
		"podNamePartitionRegex":      {Type: "string"},
		"podNameRegexGroup":          {Type: "integer", Minimum: new(int64(1))},
		"crossZoneEvictionDelay":     {Type: "string"},
		"unhealthyPodEvictionPolicy": {Type: "string", Enum: []string{"IfHealthyBudget", "AlwaysAllow"}},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// A status is written repeatedly, so its size must not depend on the size of the group.
func TestTheListsInTheStatusOfABudgetAreBounded(t *testing.T) {
	crd := readBudgets(t)
	lists := 0
	for name, f := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties {
		if f.Type != "array" {
			continue
		}
		lists++
		if f.MaxItems == nil || *f.MaxItems > 100 {
			t.Errorf("%s may have %v entries", name, f.MaxItems)
		}
	}
	if lists != 3 {
		t.Errorf("%d lists", lists)
	}
}
