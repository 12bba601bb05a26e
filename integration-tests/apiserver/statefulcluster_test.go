package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var statefulClusters = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}

// pool is a StatefulCluster in a scene with an operator of its own.
type pool struct {
	*scene
	name string
}

// withPool starts an operator with the kind enabled, and creates a StatefulCluster with two claims for each identity.
func (s *scene) withPool(replicas int) pool {
	s.t.Helper()
	const name = "db"
	s.withRole()
	if err := s.world.cluster.ApplyIn(s.t.Context(), s.name, manifest+"statefulcluster/namespaced/role.yaml"); err != nil {
		s.t.Fatal(err)
	}
	s.schedules()
	s.startOperator("-statefulcluster.enabled")
	claim := func(name string) any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}}
	}
	_, err := s.resources(statefulClusters).Create(s.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "db", "image": "db:1", "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}, map[string]any{"name": "logs", "mountPath": "/logs"}},
			}}}},
			"volumeClaimTemplates": []any{claim("data"), claim("logs")},
		},
	}}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	return pool{s, name}
}

// schedules binds the pods of the scene to a node, as a scheduler does: never while a pod has a scheduling gate.
func (s *scene) schedules() {
	s.t.Helper()
	nodes, err := s.world.admin.CoreV1().Nodes().List(s.t.Context(), listOptions)
	if err != nil || len(nodes.Items) == 0 {
		s.t.Fatalf("find a node: %v", err)
	}
	node := nodes.Items[0].Name
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan struct{})
	s.t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			pods, err := s.world.admin.CoreV1().Pods(s.name).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
			for i := range pods.Items {
				if p := &pods.Items[i]; err == nil && len(p.Spec.SchedulingGates) == 0 && p.DeletionTimestamp == nil {
					binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
					_ = s.world.admin.CoreV1().Pods(s.name).Bind(ctx, binding, createOptions) // tried again
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}

// pods returns the pods of the pool that are not terminating, in the order of their names.
func (p pool) pods() []corev1.Pod {
	p.t.Helper()
	list, err := p.world.admin.CoreV1().Pods(p.scene.name).List(p.t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name})
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// claims returns the claims of an identity that are not marked, and those that are.
func (p pool) claims(id string) (living, retired []string) {
	p.t.Helper()
	list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/instance-id=" + id})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range list.Items {
		if c.Annotations["lockstep.dev/retired-at"] != "" {
			retired = append(retired, c.Name+" "+c.Annotations["lockstep.dev/retired-reason"])
		} else {
			living = append(living, c.Name)
		}
	}
	return living, retired
}

// settles waits until that many pods are Ready and the status says so.
func (p pool) settles(replicas int) []corev1.Pod {
	p.t.Helper()
	var pods []corev1.Pod
	p.eventually(fmt.Sprintf("%d pods are Ready, and the status says so", replicas), func(present) error {
		pods = p.pods()
		ready := 0
		for i := range pods {
			for _, c := range pods[i].Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		holder, _, _ := unstructured.NestedString(o.Object, "status", "holder")
		if len(pods) != replicas || ready != replicas || available != int64(replicas) || holder != "" {
			return fmt.Errorf("%d pods, %d of them Ready; the status has %d available and the holder %q", len(pods), ready, available, holder)
		}
		return nil
	})
	return pods
}

func TestStatefulClusterGivesEachPodAnIdentityOfItsOwn(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(3)
	drawn := regexp.MustCompile(`^db-[0-9a-f]{16}$`)
	for _, pod := range p.settles(3) {
		id := strings.TrimPrefix(pod.Name, "db-")
		living, retired := p.claims(id)
		if want := []string{"db-data-" + id, "db-logs-" + id}; !drawn.MatchString(pod.Name) || pod.Labels["lockstep.dev/instance-id"] != id || pod.Labels["app"] != "db" || !slices.Equal(living, want) || len(retired) > 0 {
			t.Errorf("pod %s has the labels %v, the claims %v and the retired claims %v", pod.Name, pod.Labels, living, retired)
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.Kind != "StatefulCluster" || len(pod.Spec.SchedulingGates) > 0 {
			t.Errorf("pod %s has the controller %v and the gates %v", pod.Name, owner, pod.Spec.SchedulingGates)
		}
	}
}

func TestStatefulClusterReplacesALostPodByANewIdentity(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(3)
	before := p.settles(3)
	lost := before[0]
	if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), lost.Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	after := p.settles(3)
	for _, pod := range after {
		if pod.Name == lost.Name {
			t.Errorf("the name %s was used again", lost.Name)
		}
	}
	id := strings.TrimPrefix(lost.Name, "db-")
	p.eventually("the claims of the lost pod are marked", func(present) error {
		if living, retired := p.claims(id); len(living) > 0 || !slices.Equal(retired, []string{"db-data-" + id + " IdentityLost", "db-logs-" + id + " IdentityLost"}) {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}

func TestStatefulClusterIsScaledDownByExactlyAsManyPods(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(4)
	before := p.settles(4)
	scale := []byte(`{"spec":{"replicas":1}}`)
	if _, err := p.resources(statefulClusters).Patch(t.Context(), p.name, types.MergePatchType, scale, metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	kept := p.settles(1)
	if !slices.ContainsFunc(before, func(pod corev1.Pod) bool { return pod.UID == kept[0].UID }) {
		t.Errorf("pod %s was not there before", kept[0].Name)
	}
	p.eventually("the Lease has no intents", func(present) error {
		lease, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Get(t.Context(), "lockstep-statefulcluster-db", getOptions)
		if err != nil {
			return err
		}
		if lease.Labels["lockstep.dev/hold"] != "statefulcluster" || lease.Annotations["lockstep.dev/intents"] != "" {
			return errors.New("it has")
		}
		return nil
	})
	deletes := 0
	for _, r := range p.requests() {
		if r.Verb == "delete" && r.Resource == "pods" && r.User == p.own.User {
			deletes++
		}
	}
	if deletes != 3 {
		t.Errorf("%d pods were deleted, want 3", deletes)
	}
}

func TestStatefulClusterKeepsItsPodsWhileAPersonHasTheHold(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	const seconds = 5
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "lockstep-statefulcluster-db", Labels: map[string]string{"lockstep.dev/hold": "statefulcluster"},
			Annotations: map[string]string{"lockstep.dev/statefulcluster": "db"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manual/backup"), LeaseDurationSeconds: new(int32(seconds)), RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}
	if _, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Create(t.Context(), lease, createOptions); err != nil {
		t.Fatal(err)
	}
	scale := []byte(`{"spec":{"replicas":1}}`)
	if _, err := p.resources(statefulClusters).Patch(t.Context(), p.name, types.MergePatchType, scale, metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	p.stays("both pods stay", aWhile, func(present) error {
		if now := p.pods(); len(now) != len(before) {
			return fmt.Errorf("%d pods", len(now))
		}
		return nil
	})
	p.settles(1) // once the hold has expired
	if held := time.Since(lease.Spec.RenewTime.Time); held < seconds*time.Second {
		t.Errorf("the pod was deleted %s after the hold was taken, which lasts %d s", held, seconds)
	}
}
