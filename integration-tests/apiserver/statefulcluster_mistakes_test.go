package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// A template may be as large as the API server allows.
func TestStatefulClusterWithATemplateOfAMegabyteIsCreatedAndUpdated(t *testing.T) {
	t.Parallel()
	large := fmt.Sprintf(`, "env": [{"name": "TABLE", "value": %q}]`, strings.Repeat("0123456789abcdef", 1<<20/16))
	p := sharedPool(t, 2, nil)
	names, _ := identities(p.settles(2))
	p.updates(withContainer("db:1", large))
	p.eventually("all pods have the large template", func(present) error {
		for _, pod := range p.settles(2) {
			if env := pod.Spec.Containers[0].Env; len(env) != 1 || len(env[0].Value) != 1<<20 {
				return fmt.Errorf("pod %s has %d variables", pod.Name, len(env))
			}
		}
		return nil
	})
	p.updates(withContainer("db:2", large))
	if after, _ := identities(p.hasImage(2, "db:2")); !slices.Equal(names, after) {
		t.Errorf("the pods were %v and are %v", names, after)
	}
}

// The API server refuses a deletion cost that is no number, so a template with one changes no pod. Costs that are numbers count, but
// a pod that is not Ready leaves before, and among others the youngest.
func TestStatefulClusterHasNoPodWhoseDeletionCostIsNoNumber(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 3, nil)
	before := p.settles(3)
	costs := func(pod, cost string) error {
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, corev1.PodDeletionCost, cost)
		_, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	if err := costs(before[0].Name, "much"); !apierrors.IsInvalid(err) {
		t.Errorf("the answer is %v", err)
	}
	p.refuses("the deletion cost", fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {%q: "much"}}}}}`, corev1.PodDeletionCost), corev1.PodDeletionCost)
	p.hasStayed(before, p.pods())
	p.updates(`{"spec": {"template": {"metadata": null}}}`)
	p.scales(4)
	all := p.settles(4)
	youngest := slices.IndexFunc(all, func(pod corev1.Pod) bool {
		return !slices.ContainsFunc(before, func(other corev1.Pod) bool { return other.UID == pod.UID })
	})
	if err := errors.Join(costs(before[0].Name, "5"), costs(before[1].Name, "-1")); err != nil {
		t.Fatal(err)
	}
	p.containerWaits(before[0].Name, "CrashLoopBackOff", time.Now())
	p.eventually("the status says that a pod is not Ready", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas"); ready != 3 {
			return fmt.Errorf("%d are Ready", ready)
		}
		return nil
	})
	for _, leaves := range []corev1.Pod{before[0], before[1], all[youngest]} {
		all = slices.DeleteFunc(all, func(pod corev1.Pod) bool { return pod.UID == leaves.UID })
		p.scales(len(all))
		p.hasStayed(all, p.settles(len(all)))
	}
}

// The first refusal ends the births of a plan, and the next plan waits. Once the number is lowered again, the pods leave that no
// node runs.
func TestStatefulClusterOfTenThousandPodsByMistakeIsLoweredAgain(t *testing.T) {
	t.Parallel()
	const replicas, most = 2, 12
	s := managed(t)
	stop := localcluster.Schedule(t.Context(), s.world.admin, s.name, s.someNode())
	p := s.createPool(replicas, nil)
	before := p.settles(replicas)
	stop()
	s.quota(corev1.ResourcePods, fmt.Sprint(most))
	p.scales(10_000)
	p.isRefused("pods", "exceeded quota: most-pods")
	p.eventually("there are as many pods as the quota allows", func(present) error {
		if n := len(p.pods()); n != most {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	p.stays("few pods are asked for", 5*time.Second, func(present) error {
		asked := slices.DeleteFunc(p.writesOf(p.operator.user, time.Time{}), func(r judge.Request) bool { return r.Verb != "create" || r.Resource != "pods" })
		if len(asked) > 10*most {
			return fmt.Errorf("%d are", len(asked))
		}
		return nil
	})
	p.scales(replicas)
	p.hasStayed(before, p.settles(replicas))
}

// A namespace is deleted while its StatefulCluster is updated.
func TestStatefulClusterOfADeletedNamespaceIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unasked, s.rules.contested = true, true
	s.schedulesOn(s.someNode())
	slowly := podTemplate(map[string]any{localcluster.ReadyAfter: "1s", localcluster.GoneAfter: (2 * underWay).String()}) // so that there are objects to write to
	p := s.createPool(3, map[string]any{"template": slowly})
	p.settles(3)
	p.updates(withContainer("db:2", ""))
	p.eventually("a pod has the new image", func(present) error {
		if !slices.ContainsFunc(p.pods(), func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image == "db:2" }) {
			return errors.New("none has")
		}
		return nil
	})
	if err := s.world.admin.CoreV1().Namespaces().Delete(t.Context(), s.name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	s.awaitOptOut()
	noticed := time.Now()
	s.eventually("the pods are gone", func(now present) error {
		if len(now.pods) > 0 {
			return fmt.Errorf("there are %d", len(now.pods))
		}
		return nil
	})
	if since := time.Since(noticed); since < underWay {
		t.Errorf("the pods were gone %s after the deletion was noticed, so nothing is shown", since)
	}
	for _, r := range s.writesOf(s.operator.user, noticed.Add(underWay)) {
		t.Errorf("%s after the deletion was noticed: %s", r.At.Sub(noticed), r)
	}
}

// A finalizer keeps an object that is deleted. A status that says nothing about that would show a rollout without end.
func TestStatefulClusterWhoseDeletionIsHeldUpSaysSo(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	p := s.createPool(2, nil)
	before := p.settles(2)
	p.updates(`{"metadata": {"finalizers": ["example.com/backup"]}}`)
	background := metav1.DeletePropagationBackground
	if err := p.resources(statefulClusters).Delete(t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	p.waitsBecause("ObjectDeleting", "is being deleted")
	p.deletes(before[0].Name)
	p.eventually("the pod is gone", func(now present) error {
		if now.pods[before[0].Name] != nil {
			return errors.New("it is still there")
		}
		return nil
	})
	p.waitsBecause("ObjectDeleting")
	if pods := p.pods(); len(pods) != 1 {
		t.Errorf("%d pods exist", len(pods))
	}
	p.updates(`{"metadata": {"finalizers": null}}`)
}
