package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// isLocal gives the claim named data of a pod a volume that can only be used on one node.
func (p pool) isLocal(pod, node string) {
	p.t.Helper()
	claim, name := "db-data-"+strings.TrimPrefix(pod, "db-"), p.scene.name+"-"+pod
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
	if _, err := p.world.admin.CoreV1().PersistentVolumes().Create(p.t.Context(), volume, createOptions); err != nil {
		p.t.Fatal(err)
	}
	bound := fmt.Appendf(nil, `{"spec": {"volumeName": %q}}`, name)
	if _, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Patch(p.t.Context(), claim, types.MergePatchType, bound, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func TestStatefulClusterReplacesAPodWhoseVolumeIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := managed(t)
	nodes, err := s.world.cluster.AddNodes(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	cordon := []byte(`{"spec": {"unschedulable": true}}`)
	if _, err := s.world.admin.CoreV1().Nodes().Patch(t.Context(), nodes[0], types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	stop := localcluster.Schedule(context.WithoutCancel(t.Context()), s.world.admin, s.name, s.someNode())
	p := s.createPool(3, map[string]any{"liveness": map[string]any{"startupSeconds": int64(5)}})
	serving, _ := identities(p.settles(3))
	stop()
	p.updates(`{"spec": {"replicas": 5}}`) // nothing schedules the two others
	var names []string
	p.eventually("both pods have their claims", func(present) error {
		names = nil
		for _, pod := range p.pods() {
			if len(pod.Spec.SchedulingGates) == 0 && !slices.Contains(serving, pod.Name) {
				names = append(names, pod.Name)
			}
		}
		if len(names) != 2 {
			return fmt.Errorf("the pods with claims are %v", names)
		}
		return nil
	})
	p.isLocal(names[0], s.name+"-no-such-node")
	p.isLocal(names[1], nodes[0])
	p.eventually("a new identity takes the place of the pod whose node does not exist, and the other one waits", func(present) error {
		now, _ := identities(p.pods())
		_, ended := p.claims(strings.TrimPrefix(names[0], "db-"))
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		waits, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		if len(now) != 5 || slices.Contains(now, names[0]) || !slices.Contains(now, names[1]) || len(ended) != 2 || !strings.HasSuffix(ended[0], " VolumeUnreachable") || waits != "VolumeWaitsForNode" {
			return errors.Join(fmt.Errorf("the pods are %v, were %v; the ended claims are %v; it waits because of %s", now, names, ended, waits), err)
		}
		return nil
	})
	if err := s.world.admin.CoreV1().Nodes().Delete(t.Context(), nodes[0], deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("a new identity takes the place of the other pod once its node does not exist", func(present) error {
		if now, _ := identities(p.pods()); len(now) != 5 || slices.Contains(now, names[1]) {
			return fmt.Errorf("the pods are %v, were %v", now, names)
		}
		return nil
	})
}
