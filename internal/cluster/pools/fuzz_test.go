package pools

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
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

// FuzzLabels checks that no text in the labels of pods and claims, and in their names, causes a panic, that a pod mounts only claims that
// show its identity, and that nothing happens to a pod or a claim whose labels do not show that it belongs to the object.
func FuzzLabels(f *testing.F) {
	f.Add("0123456789abcdef", "db", "data", "u", "db-0123456789abcdef", "db-data-0123456789abcdef", "true")
	f.Add("0", "db", "data", "u", "db-0", "data-db-0", "True")
	f.Add("", "", "", "", "db-", "db--", "")
	f.Add("a", "other", "-", "earlier", "other-a", "db-data-a", "x")
	f.Fuzz(func(t *testing.T, id, ofPool, template, uid, name, claim, wish string) {
		labels := map[string]string{
			contract.InstanceIDLabel: id, contract.PoolLabel: ofPool, contract.ClaimLabel: template, contract.PoolUIDLabel: uid,
			contract.RetainIdentityLabel: wish, contract.SpecifiedDeleteLabel: wish, contract.KeepAnnotation: wish,
		}
		volume := corev1.Volume{Name: template, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
		p := podOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "p", Labels: labels}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{volume}}})
		if isTrue := wish == "true"; string(p.ID) != id || p.Retain != isTrue || p.Asked != isTrue {
			t.Errorf("the pod has the identity %q, retain: %t, asked: %t", p.ID, p.Retain, p.Asked)
		}
		if shown := strings.HasSuffix(claim, "-"+id) || claim == template+"-"+name; len(p.Mounts) > 0 && !shown {
			t.Errorf("claim %q counts as one of the identity %q of pod %q", claim, id, name)
		}
		c := claimOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: claim, UID: "c", Labels: labels, Annotations: map[string]string{contract.RetiredAtAnnotation: "2026-01-05T12:00:00Z"}}})
		if string(c.ID) != id || c.Template != template || c.Pool != uid || c.Keep != (wish == "true") {
			t.Errorf("the claim is %+v", c)
		}
		s := pool.Snapshot{
			Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Live: true, Now: time.Date(2026, time.January, 6, 12, 0, 0, 0, time.UTC),
			Object: pool.Object{UID: "u", Hash: "1", Claim: pool.ClaimPolicy{DeleteWhenScaled: true, DeleteWhenReplaced: true, DeleteWithObject: true}},
			Pods:   []pool.Pod{p}, Claims: []pool.Claim{c}, PodsAt: 9, ClaimsAt: 9, ObjectsAt: 9, Revisions: []pool.Revision{{Name: "1", Hash: "1", Number: 1}},
		}
		for _, step := range pool.Plan(s) {
			switch step := step.(type) {
			case pool.AdoptPod:
				if step.Pod != "db-"+id {
					t.Errorf("pod %q is adopted as %q", step.Pod, id)
				}
			case pool.DeleteClaims, pool.OwnClaims, pool.RetireIdentity:
				if uid != "u" {
					t.Errorf("%s, and the claim belongs to %q", step, uid)
				}
			case plan.DeletePod, pool.ReleasePod, pool.HandOver, pool.CompletePod:
				t.Errorf("%s, and the pod has no owner", step)
			}
		}
	})
}
