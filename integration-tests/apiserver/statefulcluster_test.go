package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
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
	s.withRoleForPools()
	return s.createPool(replicas, nil)
}

// withRoleForPools starts an operator of this namespace with the kind enabled, and a scheduler.
func (s *scene) withRoleForPools() {
	s.t.Helper()
	s.allowsPools()
	s.startOperator("-statefulcluster.enabled")
}

// allowsPools lets operators of this namespace work with the kind enabled, and starts a scheduler.
func (s *scene) allowsPools() {
	s.t.Helper()
	s.withRole()
	if err := s.world.cluster.ApplyIn(s.t.Context(), s.name, manifest+"statefulcluster/namespaced/role.yaml"); err != nil {
		s.t.Fatal(err)
	}
	s.schedulesOn(s.someNode())
}

// createPool creates a StatefulCluster with two claims for each identity, and more fields of its spec.
func (s *scene) createPool(replicas int, more map[string]any) pool {
	s.t.Helper()
	return s.createPoolNamed("db", replicas, more)
}

// createPoolNamed is createPool with a name, which is also the value of the label app in the selector.
func (s *scene) createPoolNamed(name string, replicas int, more map[string]any) pool {
	s.t.Helper()
	claim := func(name string) any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}}
	}
	spec := map[string]any{
		"replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template":             podTemplate(nil),
		"volumeClaimTemplates": []any{claim("data"), claim("logs")},
	}
	maps.Copy(spec, more)
	_, err := s.resources(statefulClusters).Create(s.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": map[string]any{"name": name}, "spec": spec,
	}}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	return pool{s, name}
}

// podTemplate returns a template whose container mounts two claims, with annotations.
func podTemplate(annotations map[string]any) map[string]any {
	container := map[string]any{
		"name": "db", "image": "db:1", "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}, map[string]any{"name": "logs", "mountPath": "/logs"}},
	}
	template := map[string]any{"spec": map[string]any{"containers": []any{container}}}
	if len(annotations) > 0 {
		template["metadata"] = map[string]any{"annotations": annotations}
	}
	return template
}

// sharedPool creates a StatefulCluster in a namespace of the shared operator.
func sharedPool(t *testing.T, replicas int, more map[string]any) pool {
	t.Helper()
	s := managed(t)
	s.schedulesOn(s.someNode())
	return s.createPool(replicas, more)
}

func (s *scene) someNode() string {
	s.t.Helper()
	nodes, err := s.world.admin.CoreV1().Nodes().List(s.t.Context(), listOptions)
	if err != nil || len(nodes.Items) == 0 {
		s.t.Fatalf("find a node: %v", err)
	}
	return nodes.Items[0].Name
}

// schedulesOn binds the pods of the scene to nodes in turn, as a scheduler does.
func (s *scene) schedulesOn(nodes ...string) {
	s.t.Helper()
	s.t.Cleanup(localcluster.Schedule(context.WithoutCancel(s.t.Context()), s.world.admin, s.name, nodes...))
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

// settles waits until that many pods are Ready, the status says so, and no operation has the hold.
func (p pool) settles(replicas int) []corev1.Pod {
	p.t.Helper()
	return p.settlesUnder(replicas, func(holder string) bool { return holder == "" })
}

// settlesExceptHold is settles while pods that are terminating have a record in the hold.
func (p pool) settlesExceptHold(replicas int) []corev1.Pod {
	p.t.Helper()
	return p.settlesUnder(replicas, func(string) bool { return true })
}

func (p pool) settlesUnder(replicas int, accepts func(holder string) bool) []corev1.Pod {
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
		if observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); observed != o.GetGeneration() {
			return fmt.Errorf("the status describes generation %d, not %d", observed, o.GetGeneration())
		}
		available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		holder, _, _ := unstructured.NestedString(o.Object, "status", "holder")
		judged, err := status.Compute(o)
		if err != nil {
			return err
		}
		if ready := conditionOf(o, "Ready"); !accepts("held") && (ready != "True" || judged.Status != status.CurrentStatus) {
			return fmt.Errorf("the condition Ready is %s; kstatus says %s: %s", ready, judged.Status, judged.Message)
		}
		if len(pods) != replicas || ready != replicas || available != int64(replicas) || !accepts(holder) {
			return fmt.Errorf("%d pods, %d of them Ready; the status has %d available and the holder %q", len(pods), ready, available, holder)
		}
		return nil
	})
	return pods
}

// progresses returns an error unless the condition Progressing has this status and reason.
func (p pool) progresses(is, why string) error {
	o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
	if err != nil {
		return err
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, isOne := item.(map[string]any); isOne && c["type"] == "Progressing" && c["status"] == is && c["reason"] == why {
			return nil
		}
	}
	return fmt.Errorf("the conditions are %v", list)
}

// conditionOf returns the status of a condition of an object.
func conditionOf(o *unstructured.Unstructured, kind string) string {
	status, _ := conditionNamed(o, kind)["status"].(string)
	return status
}

// conditionNamed returns a condition of an object, or nil.
func conditionNamed(o *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, is := item.(map[string]any); is && c["type"] == kind {
			return c
		}
	}
	return nil
}

func TestStatefulClusterGivesEachPodAnIdentityOfItsOwn(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	template := podTemplate(nil)
	template["spec"].(map[string]any)["volumes"] = []any{map[string]any{"name": "scratch", "emptyDir": map[string]any{"medium": "Memory"}}} //nolint:errcheck,forcetypeassert // podTemplate has it
	p := s.createPool(3, map[string]any{"template": template})
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
		if volumes, want := volumesOf(&pod), []string{"data db-data-" + id, "logs db-logs-" + id, "scratch Memory"}; !slices.Equal(volumes, want) {
			t.Errorf("pod %s has the volumes %v, want %v", pod.Name, volumes, want)
		}
	}
	p.isShownByThePlugin()
}

// volumesOf returns the volumes of a pod that have a claim or are empty at first, sorted, each with its claim or its medium.
func volumesOf(pod *corev1.Pod) (volumes []string) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			volumes = append(volumes, v.Name+" "+v.PersistentVolumeClaim.ClaimName)
		case v.EmptyDir != nil:
			volumes = append(volumes, v.Name+" "+string(v.EmptyDir.Medium))
		}
	}
	slices.Sort(volumes)
	return volumes
}

// isShownByThePlugin checks what a user sees who has only the roles of manifests/examples/kubectl.
func (p pool) isShownByThePlugin() {
	p.t.Helper()
	user := p.scene.person()
	if out := user.ends(0, "status", "stc/"+p.name); !strings.Contains(out, "/"+p.name+" Ready 3/3 available 3/3 updated\n") || strings.Count(out, "Available       yes      2/2")+strings.Count(out, "Available  yes      2/2") != 3 {
		p.t.Errorf("status shows\n%s", out)
	}
	if out := user.ends(0, "why", "stc/"+p.name); !strings.Contains(out, "Nothing waits.") {
		p.t.Errorf("why shows\n%s", out)
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
	names, _ := identities(after)
	p.updates(`{"spec": {"replicas": 2}}`)
	p.settles(2)
	p.updates(`{"spec": {"replicas": 3}}`)
	again, _ := identities(p.settles(3))
	all := append(names, again...)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != 4 || slices.Contains(all, lost.Name) {
		t.Errorf("from 3 replicas to 2 and back, the pods were %v and are %v; before that, %s was deleted", names, again, lost.Name)
	}
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
	if deletes := p.deletions(); deletes != 3 {
		t.Errorf("%d pods were deleted, want 3", deletes)
	}
}

func TestStatefulClusterKeepsItsPodsWhileAPersonHasTheHold(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	const lasts = 5 * time.Second
	lease := p.isHeldByHand(lasts)
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
	if held := time.Since(lease.Spec.RenewTime.Time); held < lasts {
		t.Errorf("the pod was deleted %s after the hold was taken, which lasts %s", held, lasts)
	}
}

// isHeldByHand gives a person the hold of the pool for that long.
func (p pool) isHeldByHand(lasts time.Duration) *coordinationv1.Lease {
	p.t.Helper()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "lockstep-statefulcluster-db", Labels: map[string]string{"lockstep.dev/hold": "statefulcluster"},
			Annotations: map[string]string{"lockstep.dev/statefulcluster": "db"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manual/backup"), LeaseDurationSeconds: new(int32(lasts.Seconds())), RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}
	if _, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Create(p.t.Context(), lease, createOptions); err != nil {
		p.t.Fatal(err)
	}
	return lease
}

// updates changes fields of the StatefulCluster by a merge patch.
func (p pool) updates(patch string) {
	p.t.Helper()
	if _, err := p.resources(statefulClusters).Patch(p.t.Context(), p.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// withContainer returns a patch of the template that has one container, with more fields as JSON.
func withContainer(image, more string) string {
	return fmt.Sprintf(`{"spec": {"template": {"spec": {"containers": [{"name": "db", "image": %q%s,
		"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "logs", "mountPath": "/logs"}]}]}}}}`, image, more)
}

// hasImage waits until all pods run an image, are Ready, and the StatefulCluster says that the update is complete.
func (p pool) hasImage(replicas int, image string) []corev1.Pod {
	p.t.Helper()
	var pods []corev1.Pod
	p.eventually(fmt.Sprintf("%d pods run %s", replicas, image), func(present) error {
		pods = p.settles(replicas)
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		current, _, _ := unstructured.NestedString(o.Object, "status", "currentRevision")
		update, _, _ := unstructured.NestedString(o.Object, "status", "updateRevision")
		for i := range pods {
			statuses := pods[i].Status.ContainerStatuses
			if len(statuses) != 1 || statuses[0].Image != image || pods[i].Labels["controller-revision-hash"] != update || current != update {
				return fmt.Errorf("pod %s runs %v at %s; the revisions are %s and %s", pods[i].Name, statuses, pods[i].Labels["controller-revision-hash"], current, update)
			}
		}
		return nil
	})
	return pods
}

// identities returns the names and UIDs of pods.
func identities(pods []corev1.Pod) (names, uids []string) {
	for i := range pods {
		names, uids = append(names, pods[i].Name), append(uids, string(pods[i].UID))
	}
	slices.Sort(uids)
	return names, uids
}
