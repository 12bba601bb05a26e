package apiserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const poolGuide = repository + "/docs/statefulcluster-migrate.md"

// ordinals creates a StatefulSet with the template of the guide, and returns its pods when they are Ready.
func (s *scene) ordinals(replicas int) []corev1.Pod {
	s.t.Helper()
	labels := map[string]string{"app": "db"}
	set := zone("db", int32(replicas), func(set *appsv1.StatefulSet) {
		set.Labels = nil
		set.Spec.ServiceName, set.Spec.Selector = "db", &metav1.LabelSelector{MatchLabels: labels}
		set.Spec.Template = corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "db", Image: "db:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}}},
		}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}}
	})
	if _, err := s.world.admin.AppsV1().StatefulSets(s.name).Create(s.t.Context(), set, createOptions); err != nil {
		s.t.Fatal(err)
	}
	var pods []corev1.Pod
	s.eventually("the pods of the StatefulSet are Ready", func(present) error {
		list, err := s.world.admin.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app=db"})
		if err != nil {
			return err
		}
		pods = list.Items
		ready := 0
		for i := range pods {
			if slices.ContainsFunc(pods[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				ready++
			}
		}
		if ready != replicas {
			return fmt.Errorf("%d of %d are Ready", ready, replicas)
		}
		return nil
	})
	return pods
}

// followsOrdinals deletes the StatefulSet without its pods, and applies the StatefulCluster of the guide with other text in it.
func (s *scene) followsOrdinals(replaced ...string) pool {
	s.t.Helper()
	orphan := metav1.DeletePropagationOrphan
	if err := s.world.admin.AppsV1().StatefulSets(s.name).Delete(s.t.Context(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "db.yaml")
	guide := strings.NewReplacer(replaced...).Replace(blocks(s.t, poolGuide, "From a StatefulSet", "yaml")[0])
	if err := os.WriteFile(file, []byte(guide), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := s.world.cluster.ApplyIn(s.t.Context(), s.name, file); err != nil {
		s.t.Fatal(err)
	}
	return pool{s, "db"}
}

// The commands of the guide move a StatefulSet without a restart. Then its pods end like any others.
func TestStatefulClusterTakesOverAStatefulSet(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	before := s.ordinals(3)
	h, p := s.shell(), pool{s, "db"}
	file := filepath.Join(t.TempDir(), "db.yaml")
	if err := os.WriteFile(file, []byte(blocks(t, poolGuide, "From a StatefulSet", "yaml")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	h.types("kubectl -n mimir apply --dry-run=server -f " + file)
	commands := blocks(t, poolGuide, "From a StatefulSet", "sh")
	h.types(commands[0])
	h.types(commands[1])
	apply, move, _ := strings.Cut(commands[2], "\n")
	h.types(apply)
	s.eventually("it waits for the pods of the StatefulSet", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), "db", getOptions)
		if err != nil {
			return err
		}
		if shown := fmt.Sprint(o.Object["status"]); !strings.Contains(shown, "AdoptionWaits") || !strings.Contains(shown, "StatefulSet/db") {
			return fmt.Errorf("the status is %s", shown)
		}
		return nil
	})
	if created := p.pods(); len(created) > 0 {
		t.Errorf("%d pods were created beside those of the StatefulSet", len(created))
	}
	h.types(move)
	after := p.settles(3)
	for i, pod := range after {
		if pod.Name != before[i].Name || pod.UID != before[i].UID || pod.Spec.NodeName != before[i].Spec.NodeName {
			t.Errorf("pod %s (%s) is %s (%s) now", before[i].Name, before[i].UID, pod.Name, pod.UID)
		}
	}
	s.eventually("the claims have the labels of the identities", func(present) error {
		for id := range 3 {
			want := fmt.Sprintf("data-db-%d", id)
			if living, retired := p.claims(fmt.Sprint(id)); !slices.Equal(living, []string{want}) || len(retired) > 0 {
				return fmt.Errorf("identity %d has the claims %v and the retired claims %v", id, living, retired)
			}
		}
		return nil
	})
	h.types(commands[3])
	p.deletes("db-1")
	p.eventually("the claim of the deleted pod is marked", func(present) error {
		if living, retired := p.claims("1"); len(living) > 0 || !slices.Equal(retired, []string{"data-db-1 IdentityLost"}) {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
	for _, pod := range p.settles(3) {
		if pod.Name == "db-1" {
			t.Error("the ordinal was used again")
		}
	}
}

// The commands of the guide give the pods back to the StatefulSet, and none of them restarts.
func TestStatefulClusterGivesItsPodsBackToAStatefulSet(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	before := s.ordinals(2)
	h, p := s.shell(), pool{s, "db"}
	there := blocks(t, poolGuide, "From a StatefulSet", "sh")
	h.types(there[0] + "\n" + there[2])
	p.settles(2)
	back := blocks(t, poolGuide, "Back to a StatefulSet", "sh")[0]
	h.types(back)
	s.eventually("the StatefulSet has its pods", func(present) error {
		set, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(t.Context(), "db", getOptions)
		if err == nil && (set.Status.ObservedGeneration != set.Generation || set.Status.ReadyReplicas != 2) {
			err = fmt.Errorf("its status is %+v", set.Status)
		}
		return err
	})
	for _, former := range before {
		pod, err := s.world.admin.CoreV1().Pods(s.name).Get(t.Context(), former.Name, getOptions)
		switch owner := metav1.GetControllerOf(pod); {
		case err != nil:
			t.Error(err)
		case pod.UID != former.UID || owner == nil || owner.Kind != "StatefulSet":
			t.Errorf("pod %s (%s) is %s now, and belongs to %v", former.Name, former.UID, pod.UID, owner)
		}
	}
}

// An adopted identity keeps its name and its claims when its pod gets another template that cannot be applied in place.
func TestStatefulClusterHandsOverAnAdoptedIdentity(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	before := s.ordinals(2)
	p := s.followsOrdinals("replicas: 3", "replicas: 2", "/data\n", "/elsewhere\n")
	for i, pod := range p.settles(2) {
		claim := fmt.Sprintf("data-db-%d", i)
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == "data" && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
		})
		if pod.Name != before[i].Name || pod.UID == before[i].UID || !mounts || pod.Spec.Containers[0].VolumeMounts[0].MountPath != "/elsewhere" {
			t.Errorf("pod %s (%s) is %s (%s) now, and mounts %s: %t", before[i].Name, before[i].UID, pod.Name, pod.UID, claim, mounts)
		}
	}
}

// Pods that a StatefulCluster left behind belong to the next one of its name, with their claims.
func TestStatefulClusterThatIsAppliedAgainKeepsItsPods(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.withPool(3)
	before, objects := p.settles(3), p.resources(statefulClusters)
	orphan := metav1.DeletePropagationOrphan
	if err := objects.Delete(t.Context(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the StatefulCluster is gone", func(present) error {
		if _, err := objects.Get(t.Context(), "db", getOptions); !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	p = s.createPool(3, nil)
	for i, pod := range p.settles(3) {
		if pod.Name != before[i].Name || pod.UID != before[i].UID {
			t.Errorf("pod %s (%s) is %s (%s) now", before[i].Name, before[i].UID, pod.Name, pod.UID)
		}
	}
	revisions, err := s.world.admin.AppsV1().ControllerRevisions(s.name).List(t.Context(), listOptions)
	if err != nil || len(revisions.Items) != 1 {
		t.Errorf("there are %d revisions, want that of the former object: %v", len(revisions.Items), err)
	}
	object, err := objects.Get(t.Context(), "db", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("the claims belong to the new object", func(present) error {
		claims, err := s.world.admin.CoreV1().PersistentVolumeClaims(s.name).List(t.Context(), listOptions)
		if err != nil {
			return err
		}
		for _, c := range claims.Items {
			if c.Labels["lockstep.dev/pool-uid"] != string(object.GetUID()) || c.Annotations["lockstep.dev/retired-at"] != "" {
				return fmt.Errorf("claim %s has the labels %v and the annotations %v", c.Name, c.Labels, c.Annotations)
			}
		}
		if len(claims.Items) != 6 {
			return fmt.Errorf("%d claims", len(claims.Items))
		}
		return nil
	})
}

// The pods of a Job stay after their end, and those of another StatefulCluster have an owner of their own.
func TestStatefulClusterWaitsForNoPodsThatOthersKeep(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	other := s.createPoolNamed("db-other", 1, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}})
	other.settles(1)
	p := s.createPool(2, nil)
	before := p.settles(2)
	p.updates(`{"metadata": {"annotations": {"lockstep.dev/adopt": "true"}}}`)
	p.deletes(before[0].Name)
	p.eventually("the hole is filled", func(now present) error {
		if now.pods[before[0].Name] != nil || len(p.pods()) < 2 {
			return fmt.Errorf("%d pods of db", len(p.pods()))
		}
		return nil
	})
	p.settles(2)
}

// Pods lose their owners by a restore, or by a client that removes the references.
func TestStatefulClusterAdoptsPodsThatLoseTheirOwnersOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(3)
	before := p.settles(3)
	for i := range before {
		none := []byte(`[{"op": "remove", "path": "/metadata/ownerReferences"}]`)
		if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), before[i].Name, types.JSONPatchType, none, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("all of them belong to it again, and to no other pod", func(present) error {
		pods := p.pods()
		if _, was := identities(before); len(pods) != 3 || slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return metav1.GetControllerOf(&pod) == nil || !slices.Contains(was, string(pod.UID))
		}) {
			_, uids := identities(pods)
			return fmt.Errorf("the pods were %v and are %v", was, uids)
		}
		return nil
	})
}

func TestStatefulClusterFillsAHoleAlthoughItsRevisionLostItsLabel(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	revisions := p.world.admin.AppsV1().ControllerRevisions(p.scene.name)
	list, err := revisions.List(t.Context(), listOptions)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d revisions, %v", len(list.Items), err)
	}
	if _, err := revisions.Patch(t.Context(), list.Items[0].Name, types.MergePatchType, []byte(`{"metadata": {"labels": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p.deletePod(before[0].Name)
	p.settles(2)
}

// A person takes a pod out of its StatefulCluster, to look at it, and gives it back.
func TestStatefulClusterReleasesAPodThatItsSelectorDoesNotMatch(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	released := p.settles(2)[0]
	relabel := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata": {"labels": {"app": %q}}}`, value)
		if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), released.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	relabel("db-debug")
	p.eventually("the pod runs on beside two others", func(present) error {
		pods := p.pods()
		i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == released.UID })
		if len(pods) != 3 || i < 0 || len(pods[i].OwnerReferences) > 0 {
			return fmt.Errorf("%d pods; the released one is at %d", len(pods), i)
		}
		return nil
	})
	if living, retired := p.claims(strings.TrimPrefix(released.Name, "db-")); len(living) != 2 || len(retired) > 0 {
		t.Errorf("the pod that was released has the claims %v, and %v say that they have none", living, retired)
	}
	relabel("db")
	p.settles(2) // one of three leaves, by a record
}

// An adopted pod is evicted under the hold, like any other.
func TestStatefulClusterGuardsTheEvictionOfAnAdoptedPod(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.rules.evicting = true
	e.schedulesOn(localcluster.NodeName(0))
	before := e.ordinals(2)
	p := e.followsOrdinals("replicas: 3", "replicas: 2")
	p.settles(2)
	e.eventually("the first pod is evicted", func(present) error { return e.evict("db-0") })
	e.refused(e.evict("db-1"), "eviction of db-1 in db is refused", "1 of at most 1 down")
	for _, pod := range p.settles(2) {
		if pod.Name == before[0].Name {
			t.Errorf("the name %s was used again", pod.Name)
		}
	}
}

// The Node of an adopted pod falls silent. Then a random identity takes the place of its ordinal.
func TestStatefulClusterGivesUpTheOrdinalOfALostNode(t *testing.T) {
	t.Parallel()
	const replicas = 5
	s := managed(t)
	nodes := s.ownNodes(replicas)
	s.schedulesOn(nodes...)
	before := s.ordinals(replicas)
	p := s.followsOrdinals("replicas: 3", "replicas: 5\n  liveness:\n    nodeLostSeconds: 3")
	adopted := p.settles(replicas)
	p.hasStayed(before, adopted)
	for i, pod := range adopted {
		if was, is := before[i].Status.ContainerStatuses, pod.Status.ContainerStatuses; !equality.Semantic.DeepEqual(was, is) {
			t.Errorf("the containers of pod %s were %v and are %v", pod.Name, was, is)
		}
	}
	lost := p.on(nodes[0])
	p.falls(nodes[0])
	p.eventually("another pod takes the place of "+lost, func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, lost) || len(names) != replicas {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	for _, pod := range p.settlesExceptHold(replicas) {
		stayed := slices.ContainsFunc(adopted, func(other corev1.Pod) bool { return other.UID == pod.UID })
		if drawn := regexp.MustCompile(`^db-[0-9a-f]{16}$`).MatchString(pod.Name); stayed == drawn {
			t.Errorf("pod %s was there before: %t; its identity is random: %t", pod.Name, stayed, drawn)
		}
	}
}
