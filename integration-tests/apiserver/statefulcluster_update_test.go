package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

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
	after := p.handsOver(names, uids, "db:1")
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

// handsOver waits until identities have other pods with an image, and returns their names, which stay.
func (p pool) handsOver(names, uids []string, image string) (after []string) {
	p.t.Helper()
	p.eventually("all pods were replaced", func(present) error {
		for _, pod := range p.hasImage(len(names), image) {
			if slices.Contains(uids, string(pod.UID)) {
				return fmt.Errorf("pod %s was not", pod.Name)
			}
		}
		return nil
	})
	if after, _ = identities(p.pods()); !slices.Equal(names, after) {
		p.t.Errorf("the pods were %v and are %v", names, after)
	}
	return after
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
