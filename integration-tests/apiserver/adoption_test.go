package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// keepsFromAdoption makes the API server refuse every update that gives an owner to a pod of the namespace,
// until lift is called.
func (s *scene) keepsFromAdoption() (lift func()) {
	s.t.Helper()
	policies, bindings := s.world.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies(), s.world.admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.name}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{
		Expression: "!has(object.metadata.ownerReferences) || has(oldObject.metadata.ownerReferences)", Message: "no adoption",
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = s.name, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	_, err := policies.Create(s.t.Context(), policy, createOptions)
	if err == nil {
		_, err = bindings.Create(s.t.Context(), binding, createOptions)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	lift = func() {
		if err := bindings.Delete(s.t.Context(), s.name, deleteOptions); err != nil {
			s.t.Fatal(err)
		}
		if err := policies.Delete(s.t.Context(), s.name, deleteOptions); err != nil {
			s.t.Fatal(err)
		}
	}
	s.eventually("no pod gets an owner", func(present) error {
		if err := s.adoptsProbe(); err == nil {
			return errors.New("not yet")
		} else if !strings.Contains(err.Error(), "no adoption") {
			return err
		}
		return nil
	})
	return lift
}

// adoptsProbe tries to give an owner to a pod that has none. No node runs that pod, because a drain would stop
// at it.
func (s *scene) adoptsProbe() error {
	pods := s.world.admin.CoreV1().Pods(s.name)
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.PodSpec{
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "lockstep.dev/never"}}, Containers: []corev1.Container{{Name: "probe", Image: "probe"}},
	}}
	if _, err := pods.Create(s.t.Context(), probe, createOptions); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	owner := []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}`)
	_, err := pods.Patch(s.t.Context(), "probe", types.MergePatchType, owner, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// If a StatefulSet is deleted without its pods and created again, its status names another revision than that
// of its pods until its controller has adopted them.
func TestPodsAreNotReplacedBeforeTheirStatefulSetHasAdoptedThem(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	lift := s.keepsFromAdoption()
	s.orphans("zone-a")()
	revision := s.witness.now().pods["zone-a-0"].Labels["controller-revision-hash"]
	status := fmt.Appendf(nil, `{"status":{"observedGeneration":1,"replicas":2,"currentRevision":%q,"updateRevision":"zone-a-other"}}`, revision)
	if _, err := s.world.admin.AppsV1().StatefulSets(s.name).Patch(t.Context(), "zone-a", types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	s.spares("pods without an owner serve", 5*time.Second, "zone-a-0", "zone-a-1")
	s.eventually("lockstep shows its wait", func(present) error {
		if !strings.Contains(s.operator.Logs(), "wait zone-a because PodNotAdopted zone-a-0") {
			return errors.New("not yet")
		}
		return nil
	})
	lift()
	s.settled()
}
