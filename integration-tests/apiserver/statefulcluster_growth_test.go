package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ofClass is a spec whose claims named data are of a storage class, and whose claims named logs of another one.
func ofClass(data, logs, storage string) map[string]any {
	claim := func(name, class string) any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "storageClassName": class, "resources": map[string]any{"requests": map[string]any{"storage": storage}},
		}}
	}
	return map[string]any{"volumeClaimTemplates": []any{claim("data", data), claim("logs", logs)}}
}

// asks returns for how much storage the claims of the pool ask, and binds those that are not bound, as a provisioner does.
func (p pool) asks() map[string]string {
	p.t.Helper()
	claims := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name)
	list, err := claims.List(p.t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name})
	if err != nil {
		p.t.Fatal(err)
	}
	asked := map[string]string{}
	for i := range list.Items {
		c := &list.Items[i]
		asked[c.Name] = c.Spec.Resources.Requests.Storage().String()
		if c.Status.Phase != corev1.ClaimBound {
			bound := fmt.Sprintf(`{"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": %q}}}`, asked[c.Name])
			if _, err := claims.Patch(p.t.Context(), c.Name, types.MergePatchType, []byte(bound), metav1.PatchOptions{}, "status"); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return asked
}

func TestStatefulClusterGrowsClaimsWhereTheirClassAllowsIt(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	grows, stays := s.name+"-grows", s.name+"-stays"
	for name, allows := range map[string]bool{grows: true, stays: false} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "lockstep.test/none", AllowVolumeExpansion: &allows}
		if _, err := s.world.admin.StorageV1().StorageClasses().Create(t.Context(), class, createOptions); err != nil {
			t.Fatal(err)
		}
	}
	s.withRoleForPools()
	p := s.createPool(2, ofClass(grows, stays, "1Gi"))
	names, uids := identities(p.settles(2))
	p.asks() // which binds them
	larger, err := json.Marshal(map[string]any{"spec": ofClass(grows, stays, "2Gi")})
	if err != nil {
		t.Fatal(err)
	}
	p.updates(string(larger))
	p.eventually("the claims named data have grown, the others say why not, and no pod was touched", func(present) error {
		var errs []error
		for name, storage := range p.asks() {
			if want := map[bool]string{true: "2Gi", false: "1Gi"}[strings.HasPrefix(name, "db-data-")]; storage != want {
				errs = append(errs, fmt.Errorf("claim %s asks for %s", name, storage))
			}
		}
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		waits, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		if waits != "ExpansionRefused" || conditionOf(o, "VolumesResizing") != "True" || conditionOf(o, "Available") != "True" {
			errs = append(errs, fmt.Errorf("it waits because of %q, and its conditions are %v", waits, o.Object["status"]))
		}
		return errors.Join(append(errs, err)...)
	})
	if after, now := identities(p.pods()); fmt.Sprint(after, now) != fmt.Sprint(names, uids) {
		t.Errorf("the pods were %v %v and are %v %v", names, uids, after, now)
	}
	p.updates(`{"spec": {"replicas": 3}}`)
	p.eventually("a new identity has the larger claims", func(present) error {
		larger := 0
		for _, storage := range p.asks() {
			if storage == "2Gi" {
				larger++
			}
		}
		if larger != 4 {
			return fmt.Errorf("%d claims ask for 2Gi", larger)
		}
		return nil
	})
}
