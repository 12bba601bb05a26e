package apiserver_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// quota allows so many objects of a resource in the namespace. The result removes the quota.
func (s *scene) quota(of corev1.ResourceName, most string) (lift func()) {
	s.t.Helper()
	quotas, name := s.world.admin.CoreV1().ResourceQuotas(s.name), "most-"+string(of)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(most)}}}
	if _, err := quotas.Create(s.t.Context(), quota, createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the quota counts", func(present) error {
		q, err := quotas.Get(s.t.Context(), name, getOptions)
		if _, counted := q.Status.Used[of]; err == nil && !counted {
			err = errors.New("it has no status")
		}
		return err
	})
	return func() {
		s.t.Helper()
		if err := quotas.Delete(s.t.Context(), name, deleteOptions); err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
	}
}

// isRefused waits until the status shows that the API server refuses an object, with each part of its message.
func (p pool) isRefused(parts ...string) {
	p.t.Helper()
	p.waitsBecause("RequestForbidden", parts...)
}

// waitsBecause waits until the status shows what is waited for, with each part of its message.
func (p pool) waitsBecause(why string, parts ...string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the status says %s %q", why, parts), func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		code, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		message, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "message")
		if code != why || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(message, part) }) {
			return fmt.Errorf("it says %s: %s", code, message)
		}
		return nil
	})
}

func TestStatefulClusterGoesOnOnceAQuotaAllowsItsPodsAndClaims(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, nil)
	before := p.settles(2)
	lift := p.quota(corev1.ResourcePods, "2")
	p.updates(`{"spec": {"replicas": 3}}`)
	p.isRefused("pods", "exceeded quota: most-pods")
	p.stays("no claim exists without a pod", aWhile, func(present) error {
		if claims := p.asks(); len(p.pods()) != 2 || len(claims) != 4 {
			return fmt.Errorf("%d pods and the claims %v", len(p.pods()), claims)
		}
		return nil
	})
	lift()
	three := p.settles(3)
	lift = p.quota(corev1.ResourcePersistentVolumeClaims, "7") // one of the two claims is created
	p.updates(`{"spec": {"replicas": 4}}`)
	p.isRefused(`persistentvolumeclaims "db-`, "exceeded quota: most-persistentvolumeclaims")
	var gated corev1.Pod
	p.stays("the fourth pod keeps its scheduling gate", aWhile, func(present) error {
		waiting := slices.DeleteFunc(p.pods(), func(pod corev1.Pod) bool { return len(pod.Spec.SchedulingGates) == 0 })
		if len(waiting) != 1 || gated.UID != "" && waiting[0].UID != gated.UID {
			return fmt.Errorf("%d pods have a gate", len(waiting))
		}
		gated = waiting[0]
		return nil
	})
	lift()
	four := p.settles(4)
	_, uids := identities(four)
	for _, pod := range slices.Concat(before, three, []corev1.Pod{gated}) {
		if !slices.Contains(uids, string(pod.UID)) {
			t.Errorf("pod %s has been replaced", pod.Name)
		}
	}
	for _, pod := range four {
		if living, retired := p.claims(strings.TrimPrefix(pod.Name, "db-")); len(living) != 2 || len(retired) > 0 {
			t.Errorf("pod %s has the claims %v and the retired claims %v", pod.Name, living, retired)
		}
	}
	if claims := p.asks(); len(claims) != 8 {
		t.Errorf("the claims are %v", claims)
	}
}

// claimTemplates returns a patch of an object that sets its claim templates.
func claimTemplates(names ...string) string {
	templates := []string{}
	for _, name := range names {
		templates = append(templates, fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}`, name))
	}
	return `{"spec": {"volumeClaimTemplates": [` + strings.Join(templates, ", ") + `]}}`
}

// A template that asks for claims which a quota refuses is taken back without the loss of an identity, and so is one of which
// only some claims came into being.
func TestStatefulClusterTakesBackClaimsThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, nil)
	names, uids := identities(p.settles(2))
	ofTwo := p.uidsOfClaims("")
	p.quota(corev1.ResourcePersistentVolumeClaims, "5") // one of the new claims is created
	p.updates(claimTemplates("data", "logs", "cache", "index"))
	p.isRefused(`persistentvolumeclaims "db-index-`, "exceeded quota: most-persistentvolumeclaims")
	p.stays("the next pod of an identity waits, and the other pod serves", aWhile, func(present) error {
		var gated, served int
		for _, pod := range p.pods() {
			switch {
			case !slices.Contains(names, pod.Name):
				return fmt.Errorf("pod %s has a new identity", pod.Name)
			case len(pod.Spec.SchedulingGates) > 0:
				gated++
			case slices.Contains(uids, string(pod.UID)):
				served++
			}
		}
		if gated != 1 || served != 1 {
			return fmt.Errorf("%d pods wait, and %d serve", gated, served)
		}
		return nil
	})
	p.updates(claimTemplates("data", "logs"))
	after, _ := identities(p.settles(2))
	if !slices.Equal(names, after) {
		t.Errorf("the identities were %v, and are %v", names, after)
	}
	now := p.uidsOfClaims("")
	maps.DeleteFunc(now, func(name string, _ types.UID) bool { return ofTwo[name] == "" }) // one of the refused template exists
	if err := sameClaims(ofTwo, now); err != nil {
		t.Error(err)
	}
}

// The object is applied again while the only copy of the data waits for another claim. The identity lacks none that it had.
func TestStatefulClusterKeepsTheLastCopyThatWaitsForAClaimUnderAnotherObject(t *testing.T) {
	t.Parallel()
	dropped := map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenReplaced": "Delete"}}
	p := sharedPool(t, 1, dropped)
	names, _ := identities(p.settles(1))
	before := p.uidsOfClaims("")
	lift := p.quota(corev1.ResourcePersistentVolumeClaims, "2")
	p.updates(claimTemplates("data", "logs", "cache"))
	p.isRefused("exceeded quota: most-persistentvolumeclaims")
	orphan := metav1.DeletePropagationOrphan
	objects := p.resources(statefulClusters)
	former, err := objects.Get(t.Context(), p.name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	if err := objects.Delete(t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	p.eventually("the object is gone", func(present) error {
		if _, err := objects.Get(t.Context(), p.name, getOptions); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is read with the error %w", err)
		}
		return nil
	})
	next := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": former.GetAPIVersion(), "kind": former.GetKind(), "metadata": map[string]any{"name": p.name}, "spec": former.Object["spec"],
	}}
	if _, err := objects.Create(t.Context(), next, createOptions); err != nil {
		t.Fatal(err)
	}
	p.isRefused("exceeded quota: most-persistentvolumeclaims")
	lift()
	after, _ := identities(p.settles(1))
	now := p.uidsOfClaims("")
	maps.DeleteFunc(now, func(name string, _ types.UID) bool { return before[name] == "" })
	if err := sameClaims(before, now); err != nil || !slices.Equal(names, after) {
		t.Errorf("the identities were %v and are %v: %v", names, after, err)
	}
}

// A quota refuses some of the pods that are asked for. Lowering the replicas below those that exist ends pods as a downscale, whose
// claims the policy deletes.
func TestStatefulClusterIsScaledDownAfterAQuotaRefusedPods(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete"}})
	p.settles(2)
	p.quota(corev1.ResourcePods, "3")
	p.updates(`{"spec": {"replicas": 5}}`)
	p.isRefused("pods", "exceeded quota: most-pods")
	p.eventually("three pods exist", func(present) error { return p.hasPods(3) })
	p.updates(`{"spec": {"replicas": 1}}`)
	kept := strings.TrimPrefix(p.settles(1)[0].Name, "db-")
	want := map[string]bool{"db-data-" + kept: true, "db-logs-" + kept: true}
	p.eventually("only the claims of the pod that stays exist", func(present) error {
		for name := range p.uidsOfClaims("") {
			if !want[name] {
				return fmt.Errorf("claim %s exists", name)
			}
		}
		return nil
	})
}
