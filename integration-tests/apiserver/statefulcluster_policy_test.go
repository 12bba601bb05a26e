package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// poolRequest is a request about pods or claims, which is sent as a dry run.
type poolRequest struct {
	denied string // the message of the policy; empty: the policy allows it
	send   func(context.Context, kubernetes.Interface, string) error
}

const (
	denialOfPods   = "lockstep may create only pods whose controller is a StatefulCluster"
	denialOfClaims = "lockstep may delete only claims with the label lockstep.dev/instance-id"
)

// These are the names of two claims: with the label of an identity, and without.
const (
	labelledClaim = "of-an-identity"
	otherClaim    = "of-another-owner"
)

var (
	tryCreate = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	tryDelete = metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	tryPatch  = metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
)

// creates returns a request that creates a pod with owners.
func creates(denied string, owners ...metav1.OwnerReference) poolRequest {
	return poolRequest{denied, func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "new", OwnerReferences: owners},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}},
		}
		_, err := client.CoreV1().Pods(namespace).Create(ctx, pod, tryCreate)
		return err
	}}
}

// deletes returns a request that deletes a claim.
func deletes(denied, name string) poolRequest {
	return poolRequest{denied, func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		return client.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, name, tryDelete)
	}}
}

// deletesAll returns a request that deletes the claims that a selector matches.
func deletesAll(denied, selector string) poolRequest {
	return poolRequest{denied, func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		return client.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, tryDelete, metav1.ListOptions{LabelSelector: selector})
	}}
}

func ownedBy(apiVersion, kind string, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "db", UID: "f0f0f0f0-0000-0000-0000-000000000000", Controller: controller}
}

const poolVersion, poolKind = "lockstep.dev/v1alpha1", "StatefulCluster"

var poolRequests = map[string]poolRequest{
	"a pod of a StatefulCluster":                       creates("", ownedBy(poolVersion, poolKind, new(true))),
	"a pod of a StatefulCluster and of another object": creates("", ownedBy("v1", "ConfigMap", nil), ownedBy(poolVersion, poolKind, new(true))),
	"a pod without owner":                              creates(denialOfPods),
	"a pod of a StatefulSet":                           creates(denialOfPods, ownedBy("apps/v1", "StatefulSet", new(true))),
	"a pod that a StatefulCluster owns only":           creates(denialOfPods, ownedBy(poolVersion, poolKind, nil)),
	"a pod that a StatefulCluster does not control":    creates(denialOfPods, ownedBy(poolVersion, poolKind, new(false))),
	"a pod of a StatefulCluster of another API group":  creates(denialOfPods, ownedBy("enge.me/v1alpha1", poolKind, new(true))),
	"a pod of another kind of the API group":           creates(denialOfPods, ownedBy(poolVersion, "RolloutGroup", new(true))),
	"a pod without owner, by apply": {denialOfPods, func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		pod := []byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}`)
		options := tryPatch
		options.FieldManager = "x"
		_, err := client.CoreV1().Pods(namespace).Patch(ctx, "new", types.ApplyPatchType, pod, options)
		return err
	}},
	"the deletion of a claim of an identity":  deletes("", labelledClaim),
	"the deletion of another claim":           deletes(denialOfClaims, otherClaim),
	"the deletion of all claims":              deletesAll(denialOfClaims, ""),
	"the deletion of all claims with a label": deletesAll("", "lockstep.dev/instance-id"),
	"a change of another claim": {"", func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		_, err := client.CoreV1().PersistentVolumeClaims(namespace).Patch(ctx, otherClaim, types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), tryPatch)
		return err
	}},
}

// verify returns how an answer differs from what is wanted of the user.
func (r poolRequest) verify(err error, byLockstep bool) error {
	switch {
	case !byLockstep || r.denied == "":
		return err
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "'lockstep-statefulcluster'") || !strings.HasSuffix(err.Error(), r.denied):
		return fmt.Errorf("got %w, want the refusal of the policy", err)
	}
	return nil
}

// as returns a client that impersonates another user with all permissions. Only admission can refuse its requests.
func (s *scene) as(user string) kubernetes.Interface {
	s.t.Helper()
	config := s.world.cluster.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// ofLockstep returns a client with a token of the operator's service account.
func (s *scene) ofLockstep() kubernetes.Interface {
	s.t.Helper()
	file, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), home, account)
	if err != nil {
		s.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// withClaims creates a claim with the label of an identity and one without.
func (s *scene) withClaims() {
	s.t.Helper()
	for name, labels := range map[string]map[string]string{labelledClaim: {"lockstep.dev/instance-id": "0123456789abcdef"}, otherClaim: nil} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		if _, err := s.world.admin.CoreV1().PersistentVolumeClaims(s.name).Create(s.t.Context(), claim, createOptions); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestThePolicyDeniesLockstepPodsWithoutStatefulClusterAndClaimsWithoutIdentity(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.withClaims()
	lockstep := s.as(user(home))
	s.eventually("the policy is in force", func(present) error {
		r := poolRequests["a pod without owner"]
		return r.verify(r.send(t.Context(), lockstep, s.name), true)
	})
	for name, r := range poolRequests {
		if err := r.verify(r.send(t.Context(), lockstep, s.name), true); err != nil {
			t.Errorf("%s by lockstep: %v", name, err)
		}
		for _, other := range []string{"jane", "system:serviceaccount:" + home + ":default", user("elsewhere")} {
			if err := r.verify(r.send(t.Context(), s.as(other), s.name), false); err != nil {
				t.Errorf("%s by %s: %v", name, other, err)
			}
		}
	}
	own := s.ofLockstep()
	for _, name := range []string{"a pod of a StatefulCluster", "a pod without owner", "the deletion of a claim of an identity", "the deletion of another claim"} {
		r := poolRequests[name]
		if err := r.verify(r.send(t.Context(), own, s.name), true); err != nil {
			t.Errorf("%s with lockstep's own token: %v", name, err)
		}
	}
}

// The policy of the shared cluster applies to the shared operator.
func TestThePolicyAllowsWhatLockstepDoes(t *testing.T) {
	t.Parallel()
	p, _ := onNodes(t, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete"}})
	before, _ := identities(p.settles(3))
	p.updates(withContainer("db:1", `, "env": [{"name": "MODE", "value": "fast"}]`)) // each identity gets another pod
	p.hasImage(3, "db:1")
	p.updates(`{"spec": {"replicas": 2}}`)
	after, _ := identities(p.settles(2))
	left := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(after, name) })
	if len(left) != 1 {
		t.Fatalf("the pods were %v and are %v", before, after)
	}
	p.eventually("its claims are deleted", func(present) error {
		if living, retired := p.claims(strings.TrimPrefix(left[0], p.name+"-")); len(living)+len(retired) > 0 {
			return errors.New(fmt.Sprint("there are ", living, retired))
		}
		return nil
	})
}

// poolPolicyExpression returns the expression by which the rendered policy knows lockstep.
func poolPolicyExpression(t *testing.T, text string, folders ...string) string {
	t.Helper()
	for _, o := range objectsOf(t, render(t, kustomization(t, text, folders...))) {
		if o.GetKind() != "ValidatingAdmissionPolicy" || o.GetName() != "lockstep-statefulcluster" {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchConditions")
		if condition, is := conditions[0].(map[string]any); is && len(conditions) == 1 {
			return fmt.Sprint(condition["expression"])
		}
	}
	t.Fatal("the kustomization has no policy with one condition")
	return ""
}

func TestTheComponentOfStatefulClustersContainsThePolicy(t *testing.T) {
	t.Parallel()
	const component = "components: [MANIFESTS/statefulcluster]"
	added := []string{
		"ClusterRole lockstep-statefulcluster", "ClusterRole lockstep-statefulcluster-edit", "ClusterRole lockstep-statefulcluster-view",
		"ClusterRoleBinding lockstep-statefulcluster",
		"ValidatingAdmissionPolicy lockstep-statefulcluster", "ValidatingAdmissionPolicyBinding lockstep-statefulcluster",
	}
	rendered := objectsOf(t, render(t, kustomization(t, component, ".")))
	wantObjects(t, rendered, slices.Sorted(slices.Values(slices.Concat(clusterWide, added))))
	if got, want := poolPolicyExpression(t, component, "."), fmt.Sprintf("request.userInfo.username == %q", user(home)); got != want {
		t.Errorf("the policy applies to %s, want %s", got, want)
	}
}

// docs/statefulcluster.md has this patch.
func TestThePolicyOfStatefulClustersIsPatchedForAnotherNamespace(t *testing.T) {
	t.Parallel()
	got := poolPolicyExpression(t, `
namespace: infra
components: [MANIFESTS/statefulcluster]
patches:
  - target:
      kind: ValidatingAdmissionPolicy
      name: lockstep-statefulcluster
    patch: |
      - op: replace
        path: /spec/matchConditions/0/expression
        value: request.userInfo.username == "system:serviceaccount:infra:lockstep"`, "operator", "rbac")
	if want := fmt.Sprintf("request.userInfo.username == %q", user("infra")); got != want {
		t.Errorf("the policy applies to %s, want %s", got, want)
	}
}
