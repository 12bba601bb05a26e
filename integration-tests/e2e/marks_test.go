package e2e_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// mark is a label, an annotation or a finalizer.
type mark struct {
	name  string
	where string // "annotation on StatefulSet", as in docs/contract.md
}

func (m mark) String() string { return m.where + " " + m.name }

// contractPage documents all labels and annotations.
var contractPage = filepath.Join(repository, "docs", "contract.md")

// contractRow is a row of its tables.
var contractRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|")

// documentedMarks returns the marks that lockstep writes according to the contract.
func documentedMarks(t *testing.T) map[mark]bool {
	t.Helper()
	documented := map[mark]bool{}
	for _, row := range contractRow.FindAllStringSubmatch(section(t, contractPage, "What lockstep writes"), -1) {
		documented[mark{row[1], row[2]}] = true
	}
	return documented
}

// wantMarks fails the test if lockstep left undocumented marks on zones that were created like this
// one, or on their members.
func (s *scene) wantMarks(documented map[mark]bool, made *appsv1.StatefulSet) {
	s.t.Helper()
	for mark := range s.marks(made) {
		if !documented[mark] {
			s.t.Errorf("%s has the %s, and %s does not mention that lockstep writes it", s.name, mark, contractPage)
		}
	}
}

// marks returns the marks on zones and members that lockstep wrote, and those with names of its
// contract with which no zone was created.
func (s *scene) marks(made *appsv1.StatefulSet) map[mark]bool {
	s.t.Helper()
	client, err := metadata.NewForConfig(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[mark]bool{}
	for _, kind := range []struct {
		name string
		schema.GroupVersionResource
		made metav1.ObjectMeta
	}{
		{"StatefulSet", appsv1.SchemeGroupVersion.WithResource("statefulsets"), made.ObjectMeta},
		{"Pod", corev1.SchemeGroupVersion.WithResource("pods"), made.Spec.Template.ObjectMeta},
	} {
		objects, err := client.Resource(kind.GroupVersionResource).Namespace(s.name).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, object := range objects.Items {
			of, err := ofLockstepOn(kind.name, object.ObjectMeta, kind.made)
			if err != nil {
				s.t.Fatal(err)
			}
			maps.Copy(found, of)
		}
	}
	return found
}

// ofLockstepOn returns the marks on an object that lockstep wrote, and those with names of its
// contract with which the object was not created.
func ofLockstepOn(kind string, object, made metav1.ObjectMeta) (map[mark]bool, error) {
	written, err := writtenBy(account, kind, object.ManagedFields)
	if err != nil {
		return nil, err
	}
	given := marksOf(kind, made)
	marks := marksOf(kind, object)
	maps.DeleteFunc(marks, func(m mark, _ bool) bool { return !written[m] && (given[m] || !m.isOfContract()) })
	return marks, nil
}

// isOfContract reports whether lockstep reads or writes marks with this name.
func (m mark) isOfContract() bool {
	for _, prefix := range []string{"lockstep.dev/", "grafana.com/", "rollout-"} {
		if strings.HasPrefix(m.name, prefix) {
			return true
		}
	}
	return false
}

func marksOf(kind string, object metav1.ObjectMeta) map[mark]bool {
	marks := map[mark]bool{}
	for name := range object.Labels {
		marks[mark{name, "label on " + kind}] = true
	}
	for name := range object.Annotations {
		marks[mark{name, "annotation on " + kind}] = true
	}
	for _, name := range object.Finalizers {
		marks[mark{name, "finalizer on " + kind}] = true
	}
	return marks
}

// writtenBy returns the marks that a field manager owns.
func writtenBy(manager, kind string, entries []metav1.ManagedFieldsEntry) (map[mark]bool, error) {
	marks := map[mark]bool{}
	for _, entry := range entries {
		if entry.Manager != manager || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Labels      map[string]any `json:"f:labels"`
				Annotations map[string]any `json:"f:annotations"`
				Finalizers  map[string]any `json:"f:finalizers"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, err
		}
		for what, written := range map[string]map[string]any{
			"label": fields.Metadata.Labels, "annotation": fields.Metadata.Annotations, "finalizer": fields.Metadata.Finalizers,
		} {
			for field := range written {
				if _, name, named := strings.Cut(field, ":"); named { // f:name, v:"name"
					marks[mark{strings.Trim(name, `"`), what + " on " + kind}] = true
				}
			}
		}
	}
	return marks, nil
}

func TestOnlyObjectsOfLockstepCountAsTraces(t *testing.T) {
	t.Parallel()
	made := metav1.ObjectMeta{Labels: map[string]string{"rollout-group": group}}
	left := metav1.ObjectMeta{
		Labels:      map[string]string{"rollout-group": group, "controller-revision-hash": "1"},
		Annotations: map[string]string{lastDownscale: "", "odd": "", "of-another": ""},
		Finalizers:  []string{"example.com/odd"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl-patch", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:of-another":{},"f:grafana.com/last-downscale":{}}}}`)},
			{Manager: account, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:odd":{}},"f:finalizers":{".":{},"v:\"example.com/odd\"":{}}},"f:spec":{"f:replicas":{}}}`)},
		},
	}
	got, err := ofLockstepOn("Pod", left, made)
	want := map[mark]bool{
		{lastDownscale, "annotation on Pod"}: true, {"odd", "annotation on Pod"}: true, {"example.com/odd", "finalizer on Pod"}: true,
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestTheContractListsAnnotationsThatRemain(t *testing.T) {
	t.Parallel()
	documented := documentedMarks(t)
	if !documented[mark{lastDownscale, "annotation on StatefulSet"}] || documented[mark{"rollout-group", "label on StatefulSet"}] {
		t.Errorf("of lockstep's marks, %s names %v", contractPage, documented)
	}
}
