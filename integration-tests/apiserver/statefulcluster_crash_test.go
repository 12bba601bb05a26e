package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// poolStory is an operation on a StatefulCluster with a number of pods, in which the operator is killed.
type poolStory struct {
	replicas int
	more     func(*scene) map[string]any    // further fields of the spec; nil: none
	begin    func(pool)                     // begins the operation; the StatefulCluster is complete
	after    int                            // the number of pods afterwards
	goal     func(pool, []corev1.Pod) error // what else must be so in the end; nil: nothing
}

// dropsClaims is a spec by which the claims of identities that have ended are deleted.
func dropsClaims(*scene) map[string]any {
	return map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete", "whenReplaced": "Delete"}}
}

// poolStories are the operations on StatefulClusters.
var poolStories = map[string]poolStory{
	"births": {begin: func(p pool) { p.scales(3) }, replicas: 1, after: 3},
	"a downscale": {
		begin: func(p pool) { p.scales(1) }, replicas: 3, after: 1,
		goal: func(p pool, _ []corev1.Pod) error { return p.hasDeleted(2) },
	},
	"the repair of a lost pod": {
		begin: func(p pool) { p.deletes(p.pods()[0].Name) }, replicas: 2, after: 2,
	},
	"the repair of a lost claim": {
		begin: func(p pool) { p.losesClaim(p.pods()[0]) }, replicas: 2, after: 2,
		goal: func(p pool, _ []corev1.Pod) error { return p.hasDeleted(1) },
	},
	"a hand-over": {
		begin: func(p pool) {
			p.updates(withContainer("db:1", `, "env": [{"name": "MODE", "value": "fast"}]`))
		},
		replicas: 2, after: 2,
		goal: func(p pool, pods []corev1.Pod) error { return errors.Join(p.hasDeleted(2), p.keepsIdentities(pods)) },
	},
	"the hand-over of a pod that another client deletes": {
		more:  func(*scene) map[string]any { return keeps("onDelete") },
		begin: func(p pool) { p.deletes(p.pods()[0].Name) }, replicas: 2, after: 2,
		goal: func(p pool, pods []corev1.Pod) error { return p.keepsIdentities(pods) },
	},
	"an update of an image in place": {
		begin: func(p pool) { p.updates(withContainer("db:2", "")) }, replicas: 2, after: 2,
		goal: func(p pool, pods []corev1.Pod) error {
			return errors.Join(p.hasDeleted(0), p.keepsIdentities(pods), p.hasRestartedOnce())
		},
	},
	// The API server refuses new resources if the kubelet has not reported those that count. Then the identity is handed over.
	"an update of resources and an image in place": {
		more:  func(*scene) map[string]any { return asksForCPU() },
		begin: func(p pool) { p.updates(withCPU("db:2", "200m")) }, replicas: 2, after: 2,
		goal: func(p pool, pods []corev1.Pod) error { return p.keepsIdentities(pods) },
	},
	"an update by new identities": {
		more: func(s *scene) map[string]any {
			policies := dropsClaims(s)
			maps.Copy(policies, map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "Recreate"}}})
			return policies
		},
		begin: func(p pool) { p.updates(withContainer("db:2", "")) }, replicas: 2, after: 2,
		goal: func(p pool, _ []corev1.Pod) error { return errors.Join(p.hasDeleted(2), p.hasClaims(4)) },
	},
	"the growth of claims": {
		more:  func(s *scene) map[string]any { return ofClass(s.growingClass(), s.growingClass(), "1Gi") },
		begin: func(p pool) { p.asks(); p.growsTo("2Gi") }, replicas: 2, after: 2,
		goal: func(p pool, _ []corev1.Pod) error { return p.asksFor("2Gi") },
	},
	"the deletion of claims": {
		more:  dropsClaims,
		begin: func(p pool) { p.scales(1) }, replicas: 3, after: 1,
		goal: func(p pool, _ []corev1.Pod) error { return errors.Join(p.hasDeleted(2), p.hasClaims(2)) },
	},
	"an adoption": {
		begin: func(p pool) { p.isAppliedAgain() }, replicas: 2, after: 2,
		goal: func(p pool, pods []corev1.Pod) error { return errors.Join(p.hasDeleted(0), p.keepsIdentities(pods)) },
	},
}

// storyOfPool is a story that was begun, with one operator behind a proxy.
type storyOfPool struct {
	poolStory
	pool
	proxy  *faultproxy.Proxy
	start  func() *operator
	before []corev1.Pod
	writes int // before its beginning
}

// tells prepares a story.
func (story poolStory) tells(t *testing.T) storyOfPool {
	t.Helper()
	s := unmanaged(t)
	s.rules.holes = patience / 2
	s.withRole()
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, manifest+"statefulcluster/namespaced/role.yaml"); err != nil {
		t.Fatal(err)
	}
	s.schedulesOn(s.someNode())
	proxy, kubeconfig := s.proxied()
	start := func() *operator { return s.startOperatorWith(kubeconfig, withoutElection, "-statefulcluster.enabled") }
	start()
	var more map[string]any
	if story.more != nil {
		more = story.more(s)
	}
	p := s.createPool(story.replicas, more)
	before := p.settles(story.replicas)
	return storyOfPool{story, p, proxy, start, before, len(proxy.Writes())}
}

// ends waits until the operation is complete, and every identity has its claims or has ended.
func (s storyOfPool) ends() {
	s.t.Helper()
	s.eventually("the operation is complete", func(present) error {
		pods := s.settles(s.after)
		if s.goal != nil {
			if err := s.goal(s.pool, s.before); err != nil {
				return err
			}
		}
		return s.claimsAreComplete(pods)
	})
}

// countsWrites returns the number of writes of a story without a crash.
func (story poolStory) countsWrites(t *testing.T) int {
	t.Helper()
	s := story.tells(t)
	s.begin(s.pool)
	s.ends()
	return len(s.proxy.Writes()) - s.writes
}

func TestStatefulClusterSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	const fewStories, few = 2, 2
	for _, name := range someOf(random, fewStories, slices.Sorted(maps.Keys(poolStories))) {
		story, dice := poolStories[name], random.Uint64()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var points []crashPoint
			for n := range story.countsWrites(t) {
				for _, after := range []bool{false, true} {
					points = append(points, crashPoint{faultproxy.Request{Kind: faultproxy.Write, Number: n + 1}, after})
				}
			}
			chosen := someOf(rand.New(rand.NewPCG(dice, 0)), few, points)
			t.Logf("it has %d crash points; %d of them are tried", len(points), len(chosen))
			for _, p := range chosen {
				t.Run(fmt.Sprintf("%d %t", p.write.Number, p.after), func(t *testing.T) {
					t.Parallel()
					s := story.tells(t)
					restarted := s.crashAt(s.proxy, s.writes+p.write.Number, p.after, s.start)
					s.begin(s.pool)
					restarted()
					s.ends()
				})
			}
		})
	}
}

// scales changes the number of pods.
func (p pool) scales(to int) {
	p.t.Helper()
	p.updates(fmt.Sprintf(`{"spec": {"replicas": %d}}`, to))
}

// losesClaim deletes a claim of a pod.
func (p pool) losesClaim(pod corev1.Pod) {
	p.t.Helper()
	name := "db-data-" + strings.TrimPrefix(pod.Name, "db-")
	if err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Delete(p.t.Context(), name, deleteOptions); err != nil {
		p.t.Fatal(err)
	}
}

// isAppliedAgain deletes the StatefulCluster without its pods, and creates one of the same name.
func (p pool) isAppliedAgain() {
	p.t.Helper()
	orphan := metav1.DeletePropagationOrphan
	objects := p.resources(statefulClusters)
	if err := objects.Delete(p.t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		p.t.Fatal(err)
	}
	p.eventually("the StatefulCluster is gone", func(present) error {
		if _, err := objects.Get(p.t.Context(), p.name, getOptions); !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	p.createPool(len(p.pods()), nil)
}

// growingClass returns a storage class whose volumes can grow.
func (s *scene) growingClass() string {
	s.t.Helper()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Provisioner: "lockstep.test/none", AllowVolumeExpansion: new(true)}
	if _, err := s.world.admin.StorageV1().StorageClasses().Create(s.t.Context(), class, createOptions); err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	return s.name
}

// growsTo changes how much storage the claim templates ask for.
func (p pool) growsTo(storage string) {
	p.t.Helper()
	text, err := json.Marshal(map[string]any{"spec": ofClass(p.growingClass(), p.growingClass(), storage)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.updates(string(text))
}

// asksFor returns an error unless all claims ask for so much storage.
func (p pool) asksFor(storage string) error {
	for name, asked := range p.asks() {
		if asked != storage {
			return fmt.Errorf("claim %s asks for %s", name, asked)
		}
	}
	return nil
}

// hasDeleted returns an error unless operators have deleted this number of pods.
func (p pool) hasDeleted(want int) error {
	p.t.Helper()
	deleted := map[string]bool{}
	for _, r := range p.requests() {
		if r.Verb == "delete" && r.Resource == "pods" && r.User == p.own.User && r.Code == 200 {
			deleted[r.UID] = true
		}
	}
	if len(deleted) != want {
		return fmt.Errorf("%d pods were deleted, want %d", len(deleted), want)
	}
	return nil
}

// hasRestartedOnce returns an error unless each container has restarted once.
func (p pool) hasRestartedOnce() error {
	for _, pod := range p.pods() {
		for _, s := range pod.Status.ContainerStatuses {
			if s.RestartCount != 1 {
				return fmt.Errorf("container %s of pod %s has restarted %d times", s.Name, pod.Name, s.RestartCount)
			}
		}
	}
	return nil
}

// hasClaims returns an error unless this number of claims exist.
func (p pool) hasClaims(want int) error {
	claims, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), listOptions)
	if err != nil || len(claims.Items) != want {
		return errors.Join(fmt.Errorf("%d claims exist, want %d", len(claims.Items), want), err)
	}
	return nil
}

// keepsIdentities returns an error unless the pods have the names that they had before.
func (p pool) keepsIdentities(before []corev1.Pod) error {
	was, _ := identities(before)
	if is, _ := identities(p.pods()); !slices.Equal(was, is) {
		return fmt.Errorf("the pods are %v and were %v", is, was)
	}
	return nil
}

// claimsAreComplete returns an error unless the identity of each pod has its claims, and all other claims say that their
// identity has ended.
func (p pool) claimsAreComplete(pods []corev1.Pod) error {
	claims, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), listOptions)
	if err != nil {
		return err
	}
	living := map[string]int{}
	for _, c := range claims.Items {
		if c.Annotations["lockstep.dev/retired-at"] == "" && c.DeletionTimestamp == nil {
			living["db-"+c.Labels["lockstep.dev/instance-id"]]++
		}
	}
	for _, pod := range pods {
		if living[pod.Name] != 2 {
			return fmt.Errorf("pod %s has %d living claims", pod.Name, living[pod.Name])
		}
		delete(living, pod.Name)
	}
	if len(living) > 0 {
		return fmt.Errorf("without a pod, these have living claims: %v", living)
	}
	return nil
}

// The Lease is deleted while it records nothing, and the status is emptied: neither decides anything.
func TestStatefulClusterMissesNeitherItsLeaseNorItsStatus(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.holes = patience / 2
	s.withRoleForPools()
	p := s.createPool(3, nil)
	p.settles(3)
	p.scales(2)
	before, uids := identities(p.settles(2))
	if err := s.world.admin.CoordinationV1().Leases(s.name).Delete(t.Context(), "lockstep-statefulcluster-db", deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the status is emptied", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		o.Object["status"] = map[string]any{}
		_, err = p.resources(statefulClusters).UpdateStatus(t.Context(), o, updateOptions)
		return err
	})
	p.updates(withContainer("db:2", ""))
	after, newUIDs := identities(p.hasImage(2, "db:2"))
	if !slices.Equal(before, after) || !slices.Equal(uids, newUIDs) {
		t.Errorf("the pods were %v %v and are %v %v", before, uids, after, newUIDs)
	}
}
