package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
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
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, is := item.(map[string]any); is && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
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

func TestStatefulClusterUpdatesImagesInPlace(t *testing.T) {
	t.Parallel()
	for sentence, start := range map[string]func(*testing.T) pool{
		"by the operator of the namespace": func(t *testing.T) pool { t.Helper(); return unmanaged(t).withPool(3) },
		"by the operator of the cluster":   func(t *testing.T) pool { t.Helper(); p, _ := onNodes(t, nil); return p },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			updatesImagesInPlace(t, start(t))
		})
	}
}

func updatesImagesInPlace(t *testing.T, p pool) {
	t.Helper()
	names, uids := identities(p.settles(3))
	p.updates(withContainer("db:2", ""))
	after := p.hasImage(3, "db:2")
	newNames, newUIDs := identities(after)
	if !slices.Equal(names, newNames) || !slices.Equal(uids, newUIDs) {
		t.Errorf("the pods were %v %v and are %v %v", names, uids, newNames, newUIDs)
	}
	p.updates(withContainer("db:3", ""))
	p.hasImage(3, "db:3")
	p.updates(withContainer("db:2", "")) // an earlier revision becomes the newest one again
	p.hasImage(3, "db:2")
	p.updates(`{"spec": {"revisionHistoryLimit": 2, "paused": true}}`)
	for i := range 6 {
		p.updates(withContainer(fmt.Sprintf("db:2%d", i), ""))
		p.hasRevisions(fmt.Sprintf("db:2%d", i), "db:2", 4) // both of these, and two that no pod has any more
	}
	p.updates(`{"spec": {"revisionHistoryLimit": 0}}`)
	p.hasRevisions("db:25", "db:2", 2)
}

// hasRevisions waits until the StatefulCluster has that many revisions, among them the newest one and that of its pods.
func (p pool) hasRevisions(newest, ofPods string, want int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("there are %d revisions, among them that of %s", want, newest), func(present) error {
		list, err := p.world.admin.AppsV1().ControllerRevisions(p.scene.name).List(p.t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name})
		if err != nil {
			return err
		}
		has := func(image string) bool {
			return slices.ContainsFunc(list.Items, func(r appsv1.ControllerRevision) bool {
				return strings.Contains(string(r.Data.Raw), fmt.Sprintf("%q", image))
			})
		}
		if len(list.Items) != want || !has(newest) || !has(ofPods) {
			return fmt.Errorf("%d revisions; the newest one is there: %t, that of the pods: %t", len(list.Items), has(newest), has(ofPods))
		}
		return nil
	})
}

func TestStatefulClusterCreatesNewIdentitiesBeforeOthersLeave(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(2, map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{
		"podUpdatePolicy": "Recreate", "maxUnavailable": int64(0), "maxSurge": int64(1),
	}}})
	before, _ := identities(p.settles(2))
	least, most := p.counts(2)
	p.updates(withContainer("db:2", ""))
	after, _ := identities(p.hasImage(2, "db:2"))
	for _, name := range before {
		if slices.Contains(after, name) {
			t.Errorf("pod %s was not replaced", name)
		}
	}
	if least() < 2 || most() != 3 {
		t.Errorf("at least %d pods were Ready and at most %d existed, want 2 and 3", least(), most())
	}
}

// counts watches the pods of the pool, of which so many are Ready. The results return how many were Ready at least, and how many
// existed at most.
func (p pool) counts(ready int) (least, most func() int) {
	p.t.Helper()
	var mu sync.Mutex
	fewest, highest := ready, 0
	watch, err := p.world.admin.CoreV1().Pods(p.scene.name).Watch(p.t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(watch.Stop)
	go func() {
		pods := map[string]*corev1.Pod{}
		began := false // the watch begins with the pods that exist, one after the other
		for event := range watch.ResultChan() {
			pod, is := event.Object.(*corev1.Pod)
			if !is {
				continue
			}
			if pods[pod.Name] = pod; event.Type == apiwatch.Deleted || pod.DeletionTimestamp != nil {
				delete(pods, pod.Name)
			}
			serving := 0
			for _, pod := range pods {
				if isReady(pod) {
					serving++
				}
			}
			mu.Lock()
			began = began || serving == ready
			if began {
				fewest = min(fewest, serving)
			}
			highest = max(highest, len(pods))
			mu.Unlock()
		}
	}()
	of := func(n *int) func() int { return func() int { mu.Lock(); defer mu.Unlock(); return *n } }
	return of(&fewest), of(&highest)
}

func TestStatefulClusterKeepsClaimsWhenAPodIsReplacedForAnUpdate(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	names, uids := identities(p.settles(2))
	p.updates(withContainer("db:1", `, "env": [{"name": "MODE", "value": "fast"}]`))
	p.eventually("both pods were replaced", func(present) error {
		for _, pod := range p.hasImage(2, "db:1") {
			if slices.Contains(uids, string(pod.UID)) {
				return fmt.Errorf("pod %s was not", pod.Name)
			}
		}
		return nil
	})
	after, _ := identities(p.pods())
	if !slices.Equal(names, after) {
		t.Errorf("the pods were %v and are %v", names, after)
	}
	for _, name := range after {
		id := strings.TrimPrefix(name, "db-")
		if living, retired := p.claims(id); len(living) != 2 || len(retired) > 0 {
			t.Errorf("identity %s has the claims %v and the retired claims %v", id, living, retired)
		}
	}
	p.updates(`{"spec": {"replicas": 3, "volumeClaimTemplates": [
		{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
		{"metadata": {"name": "logs"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
		{"metadata": {"name": "more"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}`)
	p.eventually("all identities have three claims, those of before and a new one", func(present) error {
		var errs []error
		all := p.settles(3)
		for i := range all {
			id := strings.TrimPrefix(all[i].Name, "db-")
			want := []string{"db-data-" + id, "db-logs-" + id, "db-more-" + id}
			if living, retired := p.claims(id); !slices.Equal(living, want) || len(retired) > 0 || len(volumesOf(&all[i])) != len(want) {
				errs = append(errs, fmt.Errorf("identity %s has the claims %v and the retired claims %v, and its pod the volumes %v", id, living, retired, volumesOf(&all[i])))
			}
		}
		return errors.Join(errs...)
	})
	if now, _ := identities(p.pods()); !slices.Contains(now, after[0]) || !slices.Contains(now, after[1]) {
		t.Errorf("the pods were %v and are %v", after, now)
	}
}

func TestStatefulClusterDisruptsNoMorePodsThanItsBudgetForABadImage(t *testing.T) {
	t.Parallel()
	const replicas = 5
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(replicas, map[string]any{"progressDeadlineSeconds": int64(2)})
	before := p.settles(replicas)
	p.breaksOne()
	p.eventually("the status says that the deadline is over", func(present) error { return p.progresses("False", "ProgressDeadlineExceeded") })
	p.updates(withContainer("db:1", ""))
	p.hasStayed(before, p.hasImage(replicas, "db:1"))
	broken := p.breaksOne()
	whole := slices.DeleteFunc(p.pods(), func(pod corev1.Pod) bool { return pod.Name == broken.Name })
	for i := range whole[:3] {
		p.deletes(whole[i].Name)
	}
	p.eventually("three new identities take the places of the deleted pods, and the two others stay", func(present) error {
		_, uids := identities(p.pods())
		for _, kept := range []corev1.Pod{broken, whole[3]} {
			if !slices.Contains(uids, string(kept.UID)) {
				t.Fatalf("pod %s was not deleted by the test and is gone", kept.Name)
			}
		}
		if len(uids) != replicas {
			return fmt.Errorf("%d pods exist", len(uids))
		}
		return nil
	})
	for _, pod := range p.pods() {
		if pod.UID == broken.UID && isReady(&pod) {
			t.Error("the pod with the bad image is Ready, so it held up nothing")
		}
	}
	before = p.pods()
	p.updates(withContainer("db:3", ""))
	p.hasStayed(before, p.hasImage(replicas, "db:3"))
}

// breaksOne changes the image to one that cannot be pulled, and waits until one pod has it. The other pods must not get it.
func (p pool) breaksOne() corev1.Pod {
	p.t.Helper()
	var broken []corev1.Pod
	isOne := func(present) error {
		broken = slices.DeleteFunc(p.pods(), func(pod corev1.Pod) bool {
			return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Image == "db:broken" })
		})
		if len(broken) != 1 {
			return fmt.Errorf("%d have it", len(broken))
		}
		return nil
	}
	p.updates(withContainer("db:broken", ""))
	p.eventually("one pod has the bad image", isOne)
	p.stays("no other pod gets it", aWhile, isOne)
	return broken[0]
}

// hasStayed checks that pods have their names and UIDs.
func (p pool) hasStayed(before, after []corev1.Pod) {
	p.t.Helper()
	names, uids := identities(before)
	newNames, newUIDs := identities(after)
	if !slices.Equal(names, newNames) || !slices.Equal(uids, newUIDs) {
		p.t.Errorf("the pods were %v %v and are %v %v", names, uids, newNames, newUIDs)
	}
}

func TestStatefulClusterChangesNoPodForATemplateThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	_, uids := identities(before)
	p.refuses("a third claim without access modes", `{"spec": {"volumeClaimTemplates": [
		{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
		{"metadata": {"name": "logs"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
		{"metadata": {"name": "more"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]}}`, "accessModes")
	p.refuses("a misspelt field", withContainer("db:2", `, "imagePullPolcy": "Always"`), "imagePullPolcy")
	p.refuses("a mount without a volume", strings.Replace(withContainer("db:2", ""), `"name": "logs"`, `"name": "cache"`, 1), "cache")
	p.refuses("a label that contradicts the selector", `{"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}}`, "spec.selector excludes")
	const most = 256 << 10 // bytes of all annotations
	p.refuses("annotations that leave no room for those of the next pod of an identity",
		fmt.Sprintf(`{"spec": {"template": {"metadata": {"labels": null, "annotations": {"notes": %q}}}}}`, strings.Repeat("x", most-len("notes"))), "annotations: Too long")
	p.hasStayed(before, p.pods())
	if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), p.pods()[0].Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the hole is filled from the accepted revision", func(present) error {
		pods := p.pods()
		if len(pods) != 2 || pods[0].Spec.Containers[0].Image != "db:1" || pods[1].Spec.Containers[0].Image != "db:1" {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	p.updates(`{"spec": {"template": {"metadata": null}, "volumeClaimTemplates": [
		{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
		{"metadata": {"name": "logs"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}`)
	p.updates(withContainer("db:2", ""))
	p.hasImage(2, "db:2")
	if _, after := identities(p.pods()); !slices.Contains(after, uids[0]) && !slices.Contains(after, uids[1]) {
		t.Errorf("the pods were %v and are %v", uids, after)
	}
}

// refuses waits until the status says why a patch of the templates cannot be used.
func (p pool) refuses(what, patch, why string) {
	p.t.Helper()
	p.updates(patch)
	p.eventually("the status names "+what, func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		code, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		message, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "message")
		if valid := conditionOf(o, "SpecValid"); code != "TemplateInvalid" || !strings.Contains(message, why) || valid != "False" {
			return fmt.Errorf("it says %s: %s; the condition SpecValid is %s", code, message, valid)
		}
		return nil
	})
}

func TestStatefulClusterRestartsNothingForDefaultsThatAreSpelledOut(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	names, uids := identities(p.settles(2))
	p.updates(withContainer("db:1", `, "terminationMessagePath": "/dev/termination-log"`))
	newNames, newUIDs := identities(p.hasImage(2, "db:1"))
	if !slices.Equal(names, newNames) || !slices.Equal(uids, newUIDs) {
		t.Errorf("the pods were %v %v and are %v %v", names, uids, newNames, newUIDs)
	}
	for _, pod := range p.pods() {
		if pod.Annotations["lockstep.dev/inplace-update"] != "" {
			t.Errorf("pod %s was updated", pod.Name)
		}
	}
}

// onNodes returns a StatefulCluster of the shared operator, with one pod on each of three nodes of its own.
func onNodes(t *testing.T, more map[string]any) (p pool, nodes []string) {
	t.Helper()
	const replicas = 3
	s := managed(t)
	nodes = s.ownNodes(replicas)
	s.schedulesOn(nodes...)
	return s.createPool(replicas, more), nodes
}

// falls makes a node silent, and returns since when it is.
func (p pool) falls(node string) (since time.Time) {
	p.t.Helper()
	p.isLost(node, `"true"`)
	since = time.Now().Truncate(time.Second)
	silent := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": %q}]}}`, since.UTC().Format(time.RFC3339))
	if _, err := p.world.admin.CoreV1().Nodes().Patch(p.t.Context(), node, types.StrategicMergePatchType, silent, metav1.PatchOptions{}, "status"); err != nil {
		p.t.Fatal(err)
	}
	return since
}

// rises makes a silent node report again.
func (p pool) rises(node string) { p.t.Helper(); p.isLost(node, "null") }

// isLost sets the label of a node whose kubelet has stopped, as JSON.
func (p pool) isLost(node, value string) {
	p.t.Helper()
	label := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %s}}}`, localcluster.Lost, value)
	if _, err := p.world.admin.CoreV1().Nodes().Patch(p.t.Context(), node, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// on returns the name of the pod on a node.
func (p pool) on(node string) string {
	p.t.Helper()
	for _, pod := range p.pods() {
		if pod.Spec.NodeName == node {
			return pod.Name
		}
	}
	p.t.Fatalf("no pod is on node %s", node)
	return ""
}

func TestStatefulClusterReplacesThePodsOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	p, nodes := onNodes(t, nil)
	p.settles(3)
	gone := []string{p.on(nodes[0]), p.on(nodes[1])}
	for _, node := range nodes[:2] {
		if err := p.world.admin.CoreV1().Nodes().Delete(t.Context(), node, deleteOptions); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("new identities take the places of both pods", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, gone[0]) || slices.Contains(names, gone[1]) || len(names) != 3 {
			return fmt.Errorf("the pods are %v, were %v", names, gone)
		}
		return nil
	})
	p.settlesExceptHold(3)
	for _, name := range gone { // as the garbage collection of pods does, after a while
		force := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), name, force); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		p.endsAs(name, "NodeGone")
	}
	p.settles(3)
}

// deletionOf returns when a pod that terminates was deleted.
func (p pool) deletionOf(name string) time.Time {
	p.t.Helper()
	pod, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions)
	if err != nil || pod.DeletionTimestamp == nil {
		p.t.Fatalf("pod %s does not terminate: %v", name, err)
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
}

// endsAs waits until a pod that terminates has ended, and checks why the claims of its identity are former ones.
func (p pool) endsAs(name, why string) {
	p.t.Helper()
	p.eventually("pod "+name+" has ended", func(present) error {
		if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is read with the error %w", err)
		}
		return nil
	})
	id := strings.TrimPrefix(name, "db-")
	p.eventually("its claims say why", func(present) error {
		if living, retired := p.claims(id); len(living) > 0 || !slices.Equal(retired, []string{"db-data-" + id + " " + why, "db-logs-" + id + " " + why}) {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}

// keepsInDoubt waits until the status says that pods are kept because too many are unavailable, and checks that these stay.
func (p pool) keepsInDoubt(names []string) {
	p.t.Helper()
	p.eventually("the status says that too many are unavailable", func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if why, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason"); why != "TooManyUnhealthy" {
			return fmt.Errorf("it says %s", why)
		}
		return nil
	})
	p.stays("no pod is deleted", aWhile, func(present) error {
		if now, _ := identities(p.pods()); !slices.Equal(now, names) {
			return fmt.Errorf("the pods are %v, were %v", now, names)
		}
		return nil
	})
}

func TestStatefulClusterGivesUpTheIdentityOfALostNodeOnlyIfTheOthersAreAvailable(t *testing.T) {
	t.Parallel()
	const lost = 3 * time.Second
	p, nodes := onNodes(t, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(lost.Seconds())}})
	p.settles(3)
	first := p.on(nodes[0])
	since := p.falls(nodes[0])
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, first) || len(names) != 3 {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	after := p.settlesExceptHold(3)
	names, _ := identities(after)
	if deleted := p.deletionOf(first); deleted.Before(since.Add(lost)) {
		t.Errorf("the pod was deleted %s after its node fell silent", deleted.Sub(since))
	}
	p.rises(nodes[0])
	p.endsAs(first, "NodeLost")
	p.hasStayed(after, p.settles(3))
	onLost := []string{p.on(nodes[1]), p.on(nodes[2])}
	p.falls(nodes[1])
	p.falls(nodes[2])
	p.keepsInDoubt(names)
	if err := p.world.admin.CoreV1().Nodes().Delete(t.Context(), nodes[1], deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the pod of the node that is gone is replaced, and the other one stays", func(present) error {
		now, _ := identities(p.pods())
		if slices.Contains(now, onLost[0]) || !slices.Contains(now, onLost[1]) || len(now) != 3 {
			return fmt.Errorf("the pods are %v", now)
		}
		return nil
	})
}

func TestStatefulClusterReplacesAPodThatLostItsClaim(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before, _ := identities(p.settles(2))
	id := strings.TrimPrefix(before[0], "db-")
	claims := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name)
	removed := []byte(`{"metadata": {"labels": {"lockstep.dev/statefulcluster": null}}}`)
	if _, err := claims.Patch(t.Context(), "db-logs-"+strings.TrimPrefix(before[1], "db-"), types.MergePatchType, removed, metav1.PatchOptions{}); err != nil {
		t.Fatal(err) // a claim that only lost its label is not lost
	}
	if err := claims.Delete(t.Context(), "db-data-"+id, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.settles(2)); slices.Contains(names, before[0]) || !slices.Contains(names, before[1]) {
			return fmt.Errorf("the pods are %v, were %v", names, before)
		}
		return nil
	})
	p.stays("the claim is not created again", aWhile, func(present) error {
		if n := p.creationsOf("db-data-" + id); n != 1 {
			return fmt.Errorf("it was created %d times", n)
		}
		return nil
	})
}

// creationsOf returns how often operators have created a claim.
func (p pool) creationsOf(claim string) (n int) {
	p.t.Helper()
	for _, r := range p.requests() {
		if r.Verb == "create" && r.Resource == "persistentvolumeclaims" && r.User == p.own.User && r.Name == claim {
			n++
		}
	}
	return n
}

func TestStatefulClusterDeletesTheClaimsThatItsPolicyGivesUp(t *testing.T) {
	t.Parallel()
	for sentence, start := range map[string]func(*testing.T, map[string]any) pool{
		"by the operator of the namespace": func(t *testing.T, more map[string]any) pool {
			t.Helper()
			s := unmanaged(t)
			s.withRoleForPools()
			return s.createPool(3, more)
		},
		"by the operator of the cluster": func(t *testing.T, more map[string]any) pool { t.Helper(); p, _ := onNodes(t, more); return p },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			givesUpClaims(t, start(t, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete", "whenDeleted": "Delete"}}))
		})
	}
}

func givesUpClaims(t *testing.T, p pool) {
	t.Helper()
	before := p.settles(3)
	lost := strings.TrimPrefix(before[0].Name, "db-")
	if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), before[0].Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the claims of the lost pod are marked", func(present) error {
		if living, retired := p.claims(lost); len(living) > 0 || len(retired) != 2 {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
	p.settles(3)
	p.updates(`{"spec": {"replicas": 1}}`)
	kept := strings.TrimPrefix(p.settles(1)[0].Name, "db-")
	claims := func() (names []string) {
		list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(t.Context(), listOptions)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}
	want := []string{"db-data-" + kept, "db-data-" + lost, "db-logs-" + kept, "db-logs-" + lost}
	slices.Sort(want)
	p.eventually("only the claims of the lost pod and of the one that stays exist", func(present) error {
		if got := claims(); !slices.Equal(got, want) {
			return fmt.Errorf("the claims are %v, want %v", got, want)
		}
		return nil
	})
	p.updates(`{"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}`)
	p.eventually("the claims do not belong to the object any more", func(present) error {
		for _, name := range want {
			claim, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Get(t.Context(), name, getOptions)
			if err != nil || len(claim.OwnerReferences) > 0 {
				return errors.Join(fmt.Errorf("%s has %d owners", name, len(claim.OwnerReferences)), err)
			}
		}
		return nil
	})
}
