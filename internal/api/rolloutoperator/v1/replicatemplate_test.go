package v1_test

import (
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
)

// definition is the part of a CRD on which clients rely: users who migrate bring their objects, and their
// autoscalers refer to them.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group string
		Scope string
		Names struct {
			Kind, ListKind, Plural, Singular string
			Categories                       []string
		}
		Versions []struct {
			Name             string
			Served, Storage  bool
			AdditionalColumn []struct{ Name, JSONPath string } `json:"additionalPrinterColumns"`
			Subresources     struct {
				Status *struct{}
				Scale  struct{ SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string }
			}
			Schema struct {
				OpenAPIV3Schema struct {
					Properties map[string]struct{ Properties map[string]property }
				}
			}
		}
	}
}

type property struct {
	Type, Format     string
	Minimum, Maximum *int64
	Default          *int
}

func TestTheCRDOfReplicaTemplatesIsThatOfThePredecessor(t *testing.T) {
	text, err := os.ReadFile("../../../../manifests/crds/rollout-operator.grafana.com_replicatemplates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Metadata.Name != "replicatemplates."+v1.GroupName || crd.Spec.Group != v1.GroupName || crd.Spec.Scope != "Namespaced" {
		t.Errorf("it is %+v", crd)
	}
	names := crd.Spec.Names
	if names.Kind != "ReplicaTemplate" || names.Plural != "replicatemplates" || names.Singular != "replicatemplate" || !cmp.Equal(names.Categories, []string{"all"}) {
		t.Errorf("names: %+v", names)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%d versions", len(crd.Spec.Versions))
	}
	version := crd.Spec.Versions[0]
	if version.Name != "v1" || !version.Served || !version.Storage || version.Subresources.Status == nil {
		t.Errorf("version: %+v", version)
	}
	scale := version.Subresources.Scale
	if scale.SpecReplicasPath != ".spec.replicas" || scale.StatusReplicasPath != ".status.replicas" || scale.LabelSelectorPath != ".spec.labelSelector" {
		t.Errorf("scale: %+v", scale)
	}
	columns := map[string]string{}
	for _, c := range version.AdditionalColumn {
		columns[c.Name] = c.JSONPath
	}
	if diff := cmp.Diff(map[string]string{"StatusReplicas": ".status.replicas", "SpecReplicas": ".spec.replicas"}, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	fields := version.Schema.OpenAPIV3Schema.Properties
	spec := map[string]property{
		"replicas":      {"integer", "int32", new(int64(0)), new(int64(math.MaxInt32)), new(1)}, // the scale subresource would truncate larger numbers
		"labelSelector": {Type: "string"},
	}
	if diff := cmp.Diff(spec, fields["spec"].Properties); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]property{"replicas": {Type: "integer"}}, fields["status"].Properties); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
