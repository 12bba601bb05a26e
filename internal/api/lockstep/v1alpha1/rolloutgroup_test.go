package v1alpha1_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// definition is the part of the CRD on which clients rely.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group, Scope string
		Names        struct {
			Kind, Plural string
			ShortNames   []string
		}
		Versions []struct {
			Name                     string
			Served, Storage          bool
			Subresources             struct{ Status *struct{} }
			AdditionalPrinterColumns []struct {
				Name     string
				Priority int
			}
			Schema struct{ OpenAPIV3Schema field }
		}
	}
}

type field struct {
	Type, Format        string
	MaxLength, MaxItems *int64
	Properties          map[string]field
	Items               *field
}

func read(t *testing.T) definition {
	t.Helper()
	text, err := os.ReadFile("../../../../manifests/crds/lockstep.dev_rolloutgroups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func TestTheCRDHasNamesThatPeopleAndScriptsUse(t *testing.T) {
	crd := read(t)
	v := crd.Spec.Versions[0]
	var columns []string
	for _, c := range v.AdditionalPrinterColumns {
		if c.Priority == 0 {
			columns = append(columns, c.Name)
		}
	}
	got := fmt.Sprintln(crd.Metadata.Name, crd.Spec.Names, crd.Spec.Scope, v.Name, v.Served, v.Storage, v.Subresources.Status != nil, columns)
	want := "rolloutgroups.lockstep.dev {RolloutGroup rolloutgroups [rg]} Namespaced v1alpha1 true true true [Activity Progress Holder Waiting On Age]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryTextAndListOfTheCRDIsBounded(t *testing.T) {
	schema := read(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	unbounded := slices.Concat(unboundedIn("spec", schema.Properties["spec"]), unboundedIn("status", schema.Properties["status"]))
	if len(unbounded) > 0 {
		t.Errorf("without a bound: %q", unbounded)
	}
}

func unboundedIn(name string, f field) []string {
	var found []string
	switch {
	case f.Type == "string" && f.Format == "" && f.MaxLength == nil && name != "status.conditions[].status": // an enum
		found = append(found, name)
	case f.Type == "array" && f.MaxItems == nil:
		found = append(found, name)
	}
	if f.Items != nil {
		found = append(found, unboundedIn(name+"[]", *f.Items)...)
	}
	for child, inner := range f.Properties {
		found = append(found, unboundedIn(name+"."+child, inner)...)
	}
	return found
}
