package pools

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// FuzzObjects checks that no spec of a StatefulCluster causes a panic, and that one that cannot be used asks for nothing.
func FuzzObjects(f *testing.F) {
	f.Add(`{"replicas": 3, "selector": {"matchLabels": {"app": "db"}}, "template": {"spec": {}}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}`)
	f.Add(`{"replicas": "3", "template": null}`)
	f.Add(`{"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "x%"}}}`)
	f.Add(`{"liveness": {"maxUnhealthy": -1}, "scaleStrategy": {"podsToDelete": [""]}, "volumeClaimTemplates": [null, {}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var spec any
		if json.Unmarshal([]byte(text), &spec) != nil {
			return
		}
		o := objectOf(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "db", "namespace": "team", "uid": "u", "resourceVersion": "7"}, "spec": spec}})
		if o.UID != "u" || o.Version != 7 {
			t.Errorf("its UID is %q, its version %d", o.UID, o.Version)
		}
		if o.Unreadable != "" && o.Replicas != 0 {
			t.Errorf("it cannot be read (%s) and asks for %d pods", o.Unreadable, o.Replicas)
		}
		if o.InvalidTemplate != "" && (o.Hash != "" || len(o.Pod) > 0) {
			t.Errorf("its template is invalid (%s) and has the hash %q", o.InvalidTemplate, o.Hash)
		}
		if matcher := SelectorOf(&o); o.Unreadable == "" && o.InvalidTemplate == "" && o.Selector == "" && !matcher(nil) {
			t.Error("an empty selector excludes a pod")
		}
	})
}

// FuzzAnnotations checks that no text in the labels and annotations of pods and claims causes a panic, and that a text that cannot
// be read counts as none.
func FuzzAnnotations(f *testing.F) {
	f.Add("3", `{"revision": "db-2", "version": "8", "since": "2026-01-05T12:00:00Z"}`, "2026-01-05T12:00:00Z", "1Gi", "data,logs")
	f.Add("x", `{`, "yesterday", "-1", ",")
	f.Add("99999999999999999999", `{"before": {"db": null}, "begun": 1}`, "", "1e400", "\x00")
	f.Fuzz(func(t *testing.T, cost, update, ended, storage, siblings string) {
		annotations := map[string]string{
			contract.DeletionCostAnnotation: cost, contract.InPlaceUpdateAnnotation: update, contract.WithdrawnAnnotation: update, contract.HandoverAnnotation: cost,
			contract.RetiredAtAnnotation: ended, contract.RetiredReasonAnnotation: cost, contract.StorageAnnotation: storage, contract.SiblingsAnnotation: siblings,
		}
		p := podOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-a", UID: "p", Annotations: annotations}})
		if p.Name != "db-a" || p.UID != "p" || p.Owner != "" {
			t.Errorf("the pod is %+v", p)
		}
		c := claimOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "db-data-a", UID: "c", Annotations: annotations}})
		if c.Storage.Bytes < 0 || c.Storage.Bytes == 0 && c.Storage != (pool.Storage{}) {
			t.Errorf("the claim asks for %+v", c.Storage)
		}
		if c.Retired != (ended != "") {
			t.Errorf("it says that its identity ended at %q, retired: %t", ended, c.Retired)
		}
	})
}
