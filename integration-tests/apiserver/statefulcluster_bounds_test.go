package apiserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// changingPolicy is a policy that changes new pods in a namespace.
const changingPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'EXPRESSION'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`

// The policy changes the label app of new pods, takes one of lockstep off them, or lets their images come from another registry.
const (
	withoutLabel  = `Object{metadata: Object.metadata{labels: {"app": "db", "lockstep.dev/statefulcluster": "changed"}}}`
	otherLabel    = `Object{metadata: Object.metadata{labels: {"app": "changed"}}}`
	otherRegistry = `Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, image: "mirror.test/" + c.image})}}`
)

// changesPods makes the API server change new pods as an expression says, until the returned function is called.
func (s *scene) changesPods(expression string) (stop func()) {
	s.t.Helper()
	former, err := s.labelAndImage()
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "policy.yaml")
	text := strings.NewReplacer("NAME", s.name, "EXPRESSION", expression).Replace(changingPolicy)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := s.world.cluster.Apply(s.t.Context(), file); err != nil {
		s.t.Fatal(err)
	}
	policies := s.world.admin.AdmissionregistrationV1()
	s.eventually("new pods are changed", func(present) error {
		now, err := s.labelAndImage()
		if err == nil && now == former {
			err = fmt.Errorf("they have %s", now)
		}
		return err
	})
	return func() {
		s.t.Helper()
		ctx := s.t.Context()
		binding := policies.MutatingAdmissionPolicyBindings().Delete(ctx, s.name, deleteOptions)
		if err := errors.Join(binding, policies.MutatingAdmissionPolicies().Delete(ctx, s.name, deleteOptions)); err != nil {
			s.t.Fatal(err)
		}
		s.eventually("new pods are not changed", func(present) error {
			now, err := s.labelAndImage()
			if err == nil && now != former {
				err = fmt.Errorf("they have %s", now)
			}
			return err
		})
	}
}

// labelAndImage returns the label app and the image that the API server gives a new pod. Its request is a dry run.
func (s *scene) labelAndImage() (string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
	}
	created, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return "", err
	}
	return created.Labels["app"] + created.Labels["lockstep.dev/statefulcluster"] + " " + imageOf(created), nil
}

// The images of new pods are rewritten at admission, so pods never have the images of their template. That is no difference.
func TestStatefulClusterUpdatesPodsOnceWhoseImagesAreRewrittenAtAdmission(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	s.changesPods(otherRegistry)
	p := s.createPool(2, nil)
	before, _ := identities(p.settles(2))
	p.staysAt(p.pods(), "mirror.test/db:1 mirror.test/db:1")
	p.updates(withContainer("db:2", ""))
	after := p.hasImage(2, "mirror.test/db:2")
	if names, _ := identities(after); !slices.Equal(names, before) {
		t.Errorf("the pods were %v and are %v", before, names)
	}
	p.staysAt(after, "mirror.test/db:2 mirror.test/db:2")
}

func TestStatefulClusterRefusesATemplateWhosePodsGetOtherLabels(t *testing.T) {
	t.Parallel()
	for sentence, change := range map[string]string{"one that the selector needs": otherLabel, "one of lockstep": withoutLabel} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			refusesATemplateWhosePodsGetAnotherLabel(t, change)
		})
	}
}

func refusesATemplateWhosePodsGetAnotherLabel(t *testing.T, change string) {
	t.Helper()
	s := unmanaged(t)
	s.withRoleForPools()
	stop := s.changesPods(change)
	p := s.createPool(2, nil)
	p.eventually("the status says so", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if valid := conditionOf(o, "SpecValid"); valid != "False" {
			return fmt.Errorf("SpecValid is %q", valid)
		}
		return nil
	})
	if pods := p.pods(); len(pods) > 0 {
		t.Errorf("%d pods were created", len(pods))
	}
	stop()
	p.updates(withContainer("db:2", "")) // a new template is checked at once
	p.settles(2)
}

// Pods that have ended cannot be deleted while a person has the hold, and the next ones end as well.
func TestStatefulClusterCreatesNotMoreAndMorePodsThatFailUnderAHold(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	serving := p.settles(2)[0].Name
	lease := p.isHeldByHand(time.Hour)
	failed := []byte(`{"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}`)
	const (
		rejecting = 12 * time.Second
		most      = 6 // failed ones at 0 s, and then at pauses of 5 and 10 s; and some more on a slow machine
	)
	for began := time.Now(); time.Since(began) < rejecting; time.Sleep(100 * time.Millisecond) {
		for _, pod := range p.pods() {
			if pod.Name == serving || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == "" {
				continue
			}
			if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), pod.Name, types.MergePatchType, failed, metav1.PatchOptions{}, "status"); err != nil {
				t.Log(err)
			}
		}
	}
	if n := len(p.pods()); n < 3 || n > most {
		t.Errorf("there are %d pods, of which %s serves; at most %d are wanted", n, serving, most)
	}
	if err := p.world.admin.CoordinationV1().Leases(p.scene.name).Delete(t.Context(), lease.Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.settles(2)
}

// A pod of the StatefulSet that terminates, and that the StatefulSet creates again, does not lose its place.
func TestStatefulClusterWaitsForAPodThatAStatefulSetCreatesAgain(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	s.ordinals(3)
	p := pool{s, "db"}
	pods := s.world.admin.CoreV1().Pods(s.name)
	finalizers := func(list string) {
		if _, err := pods.Patch(t.Context(), "db-1", types.MergePatchType, []byte(`{"metadata": {"finalizers": `+list+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	finalizers(`["lockstep.test/slow"]`)
	p.deletes("db-1")
	file := filepath.Join(t.TempDir(), "db.yaml")
	if err := os.WriteFile(file, []byte(blocks(t, poolGuide, "From a StatefulSet", "yaml")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, file); err != nil {
		t.Fatal(err)
	}
	p.stays("no pod is created", 5*time.Second, func(present) error {
		if n := len(p.pods()); n > 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	finalizers("null")
	s.eventually("the StatefulSet has created it again", func(present) error {
		pod, err := pods.Get(t.Context(), "db-1", getOptions)
		if err == nil && pod.DeletionTimestamp != nil {
			err = errors.New("it terminates")
		}
		return err
	})
	orphan := metav1.DeletePropagationOrphan
	if err := s.world.admin.AppsV1().StatefulSets(s.name).Delete(t.Context(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	names, _ := identities(p.settles(3))
	if got := fmt.Sprint(names); got != "[db-0 db-1 db-2]" {
		t.Errorf("the pods are %s", got)
	}
}
