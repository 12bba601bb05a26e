package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	repository      = "../.."
	systemNamespace = "lockstep-system"
	restrictedGroup = "testdata/restricted-group.yaml"
	// installed is the maximum duration of an installation.
	installed = 2 * time.Minute
)

// installation is a cluster of its own, with a scheduler and a node in each of three zones. The
// manifests create objects for the cluster, which would disturb the other tests.
type installation struct {
	cluster *localcluster.Cluster
	admin   kubernetes.Interface
	program string
}

// The tests follow each other in one cluster. Each installs an overlay again.
func TestTheManifestsInstallAnOperatorThatWorks(t *testing.T) {
	t.Parallel()
	in := install(t)
	t.Run("for all namespaces", in.forAllNamespaces)
	t.Run("and the policy denies lockstep every write in unmanaged namespaces", in.policyDenies)
	t.Run("and the policy follows the labels of a namespace at once", in.policyFollows)
	t.Run("and the policy selects the same namespaces as the selector", in.policySelects)
	t.Run("with webhooks", in.withWebhooks)
	t.Run("with webhooks and power over their configurations alone", in.withNamedWebhooks)
	t.Run("with a replica in each of three zones", in.forHighAvailability)
	t.Run("for one namespace", in.forOneNamespace)
	t.Run("for one namespace, with webhooks", in.forOneNamespaceWithWebhooks)
	t.Run("for a selector of one's own", in.forAnotherSelector)
	permissionsAreGranted(t, in.cluster.AuditLog())
}

func install(t *testing.T) *installation {
	t.Helper()
	in := &installation{cluster: localcluster.For(t, localcluster.Options{Nodes: 3, Scheduler: true})}
	var err error
	if in.admin, err = kubernetes.NewForConfig(in.cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	if in.program, err = localcluster.BuildOperator(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	return in
}

// optedIn is the label of a namespace in which lockstep may work.
var optedIn = map[string]string{"lockstep.dev/enabled": "true"}

// clusterWide lists the objects of every installation for the cluster.
var clusterWide = []string{
	"ClusterRole lockstep", "ClusterRole lockstep-references", "ClusterRoleBinding lockstep", "ClusterRoleBinding lockstep-references", "Namespace lockstep-system",
	"ValidatingAdmissionPolicy lockstep-opt-in", "ValidatingAdmissionPolicyBinding lockstep-opt-in",
	"lockstep-system: Deployment lockstep", "lockstep-system: PodDisruptionBudget lockstep",
	"lockstep-system: Role lockstep-home", "lockstep-system: RoleBinding lockstep-home",
	"lockstep-system: Service lockstep", "lockstep-system: ServiceAccount lockstep",
}

func (in *installation) forAllNamespaces(t *testing.T) {
	wantObjects(t, in.apply(t, repository+"/manifests"), clusterWide)
	pods := in.runs(t, systemNamespace, 2)
	if pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Errorf("both replicas are on %s", pods[0].Spec.NodeName)
	}
	in.isRestricted(t, systemNamespace)
	in.isReachable(t, systemNamespace, pods)

	in.namespace(t, "opted-in", optedIn)
	in.namespace(t, "stranger", nil)
	in.group(t, "opted-in")
	in.group(t, "stranger")
	before := in.podUIDs(t, "stranger")
	in.operate(t, systemNamespace, pods[0])
	in.changeTemplates(t, "stranger")
	in.changeTemplates(t, "opted-in")
	in.rolled(t, "opted-in")
	if after := in.podUIDs(t, "stranger"); !maps.Equal(before, after) {
		t.Errorf("a namespace that did not opt in had the pods %v, and has %v", before, after)
	}
}

// webhookObjects returns the objects that webhooks add to an installation.
func webhookObjects(namespace string) []string {
	return []string{
		"ClusterRole lockstep-webhooks", "ClusterRoleBinding lockstep-webhooks",
		"MutatingWebhookConfiguration lockstep-pod-eviction-pin", "MutatingWebhookConfiguration lockstep-prepare-downscale",
		"ValidatingWebhookConfiguration lockstep-no-downscale", "ValidatingWebhookConfiguration lockstep-pod-eviction",
		"ValidatingWebhookConfiguration lockstep-zpdb-validation",
		namespace + ": Role lockstep-certificate", namespace + ": RoleBinding lockstep-certificate",
	}
}

// The webhook configurations of an installation.
var (
	validatingConfigurations = []string{"lockstep-no-downscale", "lockstep-pod-eviction", "lockstep-zpdb-validation"}
	mutatingConfigurations   = []string{"lockstep-pod-eviction-pin", "lockstep-prepare-downscale"}
)

func (in *installation) withWebhooks(t *testing.T) {
	in.installsWebhooks(t, systemNamespace, repository+"/manifests/overlays/webhooks", slices.Concat(clusterWide, webhookObjects(systemNamespace)))
	found, err := in.admin.DiscoveryV1().EndpointSlices(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=lockstep"})
	if err != nil {
		t.Fatal(err)
	}
	for _, slice := range found.Items {
		if !slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == "https" && *p.Port == 8443 }) {
			t.Errorf("the Service leads to %v", slice.Ports)
		}
	}
}

func (in *installation) withNamedWebhooks(t *testing.T) {
	in.installsWebhooks(t, systemNamespace, kustomization(t, "components: [MANIFESTS/webhooks/named]", "."), slices.Concat(clusterWide, webhookObjects(systemNamespace)))
	role, err := in.admin.RbacV1().ClusterRoles().Get(t.Context(), "lockstep-webhooks", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		if len(rule.ResourceNames) == 0 {
			t.Errorf("it may %v any of %v", rule.Verbs, rule.Resources)
		}
	}
}

// installsWebhooks installs an operator that creates a certificate, and waits until its CA is in
// the webhook configurations.
func (in *installation) installsWebhooks(t *testing.T, namespace, folder string, want []string) {
	t.Helper()
	wantObjects(t, in.apply(t, folder), slices.Sorted(slices.Values(want)))
	t.Cleanup(func() { in.removeWebhooks(t) })
	pods := in.runs(t, namespace, 2)
	in.operate(t, namespace, pods[0])
	awaitInstalled(t, "the configurations have the CA", func(ctx context.Context) error {
		secret, err := in.admin.CoreV1().Secrets(namespace).Get(ctx, "lockstep-webhook-certificate", metav1.GetOptions{})
		if err != nil {
			return err
		}
		hooks := in.admin.AdmissionregistrationV1()
		var bundles [][]byte
		for _, name := range validatingConfigurations {
			c, err := hooks.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			bundles = append(bundles, c.Webhooks[0].ClientConfig.CABundle)
		}
		for _, name := range mutatingConfigurations {
			c, err := hooks.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			bundles = append(bundles, c.Webhooks[0].ClientConfig.CABundle)
		}
		for _, bundle := range bundles {
			if !bytes.Equal(bundle, secret.Data["ca"]) {
				return fmt.Errorf("one has %q", bundle)
			}
		}
		return nil
	})
}

func (in *installation) removeWebhooks(t *testing.T) {
	t.Helper()
	ctx, hooks := context.WithoutCancel(t.Context()), in.admin.AdmissionregistrationV1()
	for _, name := range validatingConfigurations {
		if err := hooks.ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range mutatingConfigurations {
		if err := hooks.MutatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func (in *installation) forHighAvailability(t *testing.T) {
	wantObjects(t, in.apply(t, repository+"/manifests/overlays/high-availability"), clusterWide)
	zones := map[string]bool{}
	pods := in.runs(t, systemNamespace, 3)
	for _, pod := range pods {
		node, err := in.admin.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zones[node.Labels[corev1.LabelTopologyZone]] = true
	}
	if len(zones) != 3 {
		t.Errorf("three replicas are in %d zones", len(zones))
	}
	in.operate(t, systemNamespace, pods[0])
	in.changeTemplates(t, "opted-in")
	in.rolled(t, "opted-in")
	in.needsItsZone(t, pods[0])
}

// needsItsZone makes the only node of a pod's zone unschedulable. It fails the test unless the next
// pod waits for the node instead of running in another zone.
func (in *installation) needsItsZone(t *testing.T, pod corev1.Pod) {
	t.Helper()
	in.cordon(t, pod.Spec.NodeName, true)
	if err := in.admin.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitInstalled(t, "the next pod finds no node", func(ctx context.Context) error {
		pods, err := in.admin.CoreV1().Pods(pod.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
		if err != nil {
			return err
		}
		for _, waiting := range pods.Items {
			for _, c := range waiting.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					return nil
				}
			}
		}
		return fmt.Errorf("%d pods without a node", len(pods.Items))
	})
	in.cordon(t, pod.Spec.NodeName, false)
	in.runs(t, pod.Namespace, 3)
}

func (in *installation) cordon(t *testing.T, node string, yes bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, yes)
	if _, err := in.admin.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// inOneNamespace lists the objects of an installation in the namespace mimir.
var inOneNamespace = []string{
	"mimir: Deployment lockstep", "mimir: PodDisruptionBudget lockstep", "mimir: Role lockstep",
	"mimir: RoleBinding lockstep", "mimir: Service lockstep", "mimir: ServiceAccount lockstep",
}

// forOneNamespaceWithWebhooks follows docs/installation.md for one namespace, in a cluster with an
// installation.
func (in *installation) forOneNamespaceWithWebhooks(t *testing.T) {
	const namespace = "mimir"
	folder := kustomization(t, `
components: [MANIFESTS/webhooks]
namespace: `+namespace+`
patches:
  - target:
      group: admissionregistration.k8s.io
    patch: |
      - op: add
        path: /metadata/labels/grafana.com~1namespace
        value: `+namespace+`
      - op: replace
        path: /webhooks/0/namespaceSelector
        value:
          matchLabels:
            kubernetes.io/metadata.name: `+namespace, "overlays/single-namespace")
	in.installsWebhooks(t, namespace, folder, slices.Concat(inOneNamespace, webhookObjects(namespace)))
}

func (in *installation) forOneNamespace(t *testing.T) {
	const namespace = "mimir"
	in.namespace(t, namespace, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	overlay := kustomization(t, "namespace: "+namespace, "overlays/single-namespace")
	wantObjects(t, in.apply(t, overlay), inOneNamespace)
	pods := in.runs(t, namespace, 2)
	in.group(t, namespace)
	in.operate(t, namespace, pods[0])
	in.changeTemplates(t, namespace)
	in.rolled(t, namespace)
	in.removesLeases(t, namespace)
}

func TestStatefulClustersAreEnabledForOneNamespace(t *testing.T) {
	t.Parallel()
	const namespace = "mimir"
	rendered := render(t, kustomization(t, "components: [MANIFESTS/statefulcluster/namespaced]\nnamespace: "+namespace, "overlays/single-namespace"))
	if !strings.Contains(string(rendered), "LOCKSTEP_STATEFULCLUSTER_ENABLED") {
		t.Error("the operator does not enable the kind")
	}
	bound := false
	for _, o := range objectsOf(t, rendered) {
		if o.GetNamespace() != namespace {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			subject, _ := s.(map[string]any)
			bound = bound || o.GetName() == "lockstep-statefulcluster" && subject["namespace"] == namespace
		}
	}
	if !bound {
		t.Error("the Role is not bound to the account of the operator")
	}
}

// removesLeases deletes the group and waits until its Lease is deleted as well.
func (in *installation) removesLeases(t *testing.T, namespace string) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if err := in.admin.AppsV1().StatefulSets(namespace).DeleteCollection(t.Context(), options, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitInstalled(t, "the Lease of the group is deleted", func(ctx context.Context) error {
		_, err := in.admin.CoordinationV1().Leases(namespace).Get(ctx, "lockstep-group-store", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.New(fmt.Sprint("got ", err))
	})
}

// forAnotherSelector follows docs/installation.md for another selector.
func (in *installation) forAnotherSelector(t *testing.T) {
	const selector = "team in (a,b),!frozen"
	folder := kustomization(t, `
patches:
  - patch: |
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: lockstep
        namespace: lockstep-system
      spec:
        template:
          spec:
            containers:
              - name: lockstep
                env:
                  - name: LOCKSTEP_NAMESPACES_SELECTOR
                    value: `+selector, "operator", "rbac")
	policy := in.printedPolicy(t, "-namespaces.selector="+selector)
	if err := os.WriteFile(filepath.Join(folder, "policy.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	addResource(t, folder, "policy.yaml")
	wantObjects(t, in.apply(t, folder), clusterWide)
	pods := in.runs(t, systemNamespace, 2)
	in.namespace(t, "team-a", map[string]string{"team": "a"})
	in.group(t, "team-a")
	in.operate(t, systemNamespace, pods[0])
	in.changeTemplates(t, "team-a")
	in.rolled(t, "team-a")
}

// render renders a kustomization with the kustomize version that the repository pins.
func render(t *testing.T, folder string) []byte {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+root+"/.tools/kustomize/go.mod", "kustomize", "build", folder)
	command.Dir, command.Stderr, command.Env = root, &complaints, append(os.Environ(), "GOWORK=off")
	rendered, err := command.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("render %s: %v\n%s", folder, err, &complaints)
	}
	return rendered
}

// kustomization creates a user's kustomization outside the source tree, from folders of manifests,
// and returns its folder. MANIFESTS in its text is the path to them.
func kustomization(t *testing.T, text string, folders ...string) string {
	t.Helper()
	own := t.TempDir()
	absolute, err := filepath.Abs(filepath.Join(repository, "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Rel(own, absolute) // kustomize requires a relative path
	if err != nil {
		t.Fatal(err)
	}
	content := "resources:\n"
	for _, folder := range folders {
		content += "  - " + filepath.Join(manifests, folder) + "\n"
	}
	content += strings.ReplaceAll(text, "MANIFESTS", manifests) + "\n"
	if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return own
}

func addResource(t *testing.T, folder, name string) {
	t.Helper()
	file := filepath.Join(folder, "kustomization.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.Replace(string(content), "resources:\n", "resources:\n  - "+name+"\n", 1)
	if err := os.WriteFile(file, []byte(longer), 0o600); err != nil {
		t.Fatal(err)
	}
}

// apply applies a rendered kustomization, with strict checks of all fields, and returns the
// objects.
func (in *installation) apply(t *testing.T, folder string) []unstructured.Unstructured {
	t.Helper()
	rendered := render(t, folder)
	file := filepath.Join(t.TempDir(), "rendered.yaml")
	if err := os.WriteFile(file, rendered, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := in.cluster.Apply(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return objectsOf(t, rendered)
}

func objectsOf(t *testing.T, text []byte) []unstructured.Unstructured {
	t.Helper()
	var all []unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096)
	for {
		var one unstructured.Unstructured
		if err := documents.Decode(&one.Object); err != nil {
			return all // the API server has accepted all objects that could be read
		}
		all = append(all, one)
	}
}

func wantObjects(t *testing.T, objects []unstructured.Unstructured, want []string) {
	t.Helper()
	var got []string
	for _, o := range objects {
		name := o.GetKind() + " " + o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + ": " + name
		}
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got the objects\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// runs waits until the Deployment has created all its pods and they are Ready, and returns them.
func (in *installation) runs(t *testing.T, namespace string, replicas int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	awaitInstalled(t, fmt.Sprintf("%d replicas run in %s", replicas, namespace), func(ctx context.Context) error {
		d, err := in.admin.AppsV1().Deployments(namespace).Get(ctx, "lockstep", metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration < d.Generation || int(s.UpdatedReplicas) != replicas || int(s.AvailableReplicas) != replicas || int(s.Replicas) != replicas {
			return fmt.Errorf("generation %d, status %+v", d.Generation, s) // its conditions show whether pods were refused
		}
		list, err := in.admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
		if err != nil {
			return err
		}
		pods = list.Items
		if len(pods) != replicas {
			return fmt.Errorf("there are %d pods", len(pods))
		}
		return nil
	})
	return pods
}

// isRestricted fails the test unless the namespace enforces the restricted profile.
func (in *installation) isRestricted(t *testing.T, namespace string) {
	t.Helper()
	careless := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "careless"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	_, err := in.admin.CoreV1().Pods(namespace).Create(t.Context(), careless, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
		t.Errorf("a pod that is not restricted: got %v, want a refusal", err)
	}
}

// isReachable waits until the Service has every pod as an endpoint, and the budget allows one
// disruption.
func (in *installation) isReachable(t *testing.T, namespace string, pods []corev1.Pod) {
	t.Helper()
	awaitInstalled(t, "the Service leads to every pod", func(ctx context.Context) error {
		found, err := in.admin.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=lockstep"})
		if err != nil {
			return err
		}
		reached := 0
		for _, slice := range found.Items {
			if len(slice.Ports) == 1 && *slice.Ports[0].Port == 8001 {
				reached += len(slice.Endpoints)
			}
		}
		if reached != len(pods) {
			return fmt.Errorf("it leads to %d", reached)
		}
		return nil
	})
	awaitInstalled(t, "the budget lets one pod go", func(ctx context.Context) error {
		budget, err := in.admin.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "lockstep", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if budget.Status.DisruptionsAllowed != 1 {
			return fmt.Errorf("it lets %d go", budget.Status.DisruptionsAllowed)
		}
		return nil
	})
}

// operate runs the operator as a process during a test: with the pod's service account, arguments,
// variables and probes.
func (in *installation) operate(t *testing.T, namespace string, pod corev1.Pod) {
	t.Helper()
	in.awaitGrant(t, namespace, pod.Spec.ServiceAccountName)
	kubeconfig, err := in.cluster.ServiceAccountKubeconfig(t.Context(), namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		t.Fatal(err)
	}
	env, args := asKubeletDoes(t, pod)
	op, err := localcluster.StartOperator(t.Context(), localcluster.OperatorOptions{
		Kubeconfig: kubeconfig, Program: in.program, Args: append(args, "-server-tls.port=0"), Env: env, // port 8443 may be in use here
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), installed)
		defer cancel()
		if code, err := op.Stop(ctx); err != nil || code != 0 {
			t.Errorf("ended with %d: %v", code, err)
		}
		if t.Failed() {
			t.Logf("the operator's log:\n%s", op.Logs())
		}
	})
	container := pod.Spec.Containers[0]
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		answered(t, op.URL()+probe.HTTPGet.Path)
	}
	mib := container.Resources.Limits.Memory().Value() >> 20
	limit := "go_gc_gomemlimit_bytes " + strconv.FormatFloat(float64(mib)*1e6, 'g', -1, 64) + "\n"
	if !strings.Contains(answered(t, op.URL()+"/metrics"), limit) {
		t.Errorf("the metrics do not contain %s", limit)
	}
}

// answered returns the text of a page, which must exist.
func answered(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %s, %v", url, response.Status, text, err)
	}
	return string(text)
}

// awaitGrant waits until the API server applies the roles that an account was granted.
func (in *installation) awaitGrant(t *testing.T, namespace, account string) {
	t.Helper()
	if err := awaitRoles(t.Context(), in.admin, "system:serviceaccount:"+namespace+":"+account, namespace); err != nil {
		t.Fatal(err)
	}
}

// asKubeletDoes returns variables and arguments of a pod's container, as the kubelet passes them to
// a process.
func asKubeletDoes(t *testing.T, pod corev1.Pod) (env, args []string) {
	t.Helper()
	container := pod.Spec.Containers[0]
	var known []string
	for _, v := range container.Env {
		value := strings.NewReplacer(known...).Replace(v.Value)
		if from := v.ValueFrom; from != nil && from.FieldRef != nil {
			value = map[string]string{"metadata.namespace": pod.Namespace, "metadata.name": pod.Name}[from.FieldRef.FieldPath]
		} else if from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory" {
			divisor := from.ResourceFieldRef.Divisor
			value = fmt.Sprint(container.Resources.Limits.Memory().Value() / divisor.Value())
		}
		if value == "" {
			t.Errorf("variable %s has no value", v.Name)
		}
		env = append(env, v.Name+"="+value)
		known = append(known, "$("+v.Name+")", value)
	}
	for _, arg := range container.Args {
		args = append(args, strings.NewReplacer(known...).Replace(arg))
	}
	return env, args
}

func (in *installation) namespace(t *testing.T, name string, labels map[string]string) *corev1.Namespace {
	t.Helper()
	made, err := in.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// group creates a group of two zones, and waits until both are available.
func (in *installation) group(t *testing.T, namespace string) {
	t.Helper()
	awaitInstalled(t, "there is a service account for pods", func(ctx context.Context) error {
		_, err := in.admin.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err := in.cluster.ApplyIn(t.Context(), namespace, restrictedGroup); err != nil {
		t.Fatal(err)
	}
	in.eachZone(t, namespace, "is available", func(s appsv1.StatefulSetStatus) bool { return s.ReadyReplicas == 2 })
}

// changeTemplates gives every zone a new template.
func (in *installation) changeTemplates(t *testing.T, namespace string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"changed":%q}}}}}`, time.Now())
	for _, zone := range []string{"zone-a", "zone-b"} {
		_, err := in.admin.AppsV1().StatefulSets(namespace).Patch(t.Context(), zone, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rolled waits until all pods of every zone have its newest template.
func (in *installation) rolled(t *testing.T, namespace string) {
	t.Helper()
	in.eachZone(t, namespace, "has rolled", func(s appsv1.StatefulSetStatus) bool {
		return s.ReadyReplicas == 2 && s.UpdatedReplicas == 2 && s.CurrentRevision == s.UpdateRevision
	})
}

func (in *installation) eachZone(t *testing.T, namespace, what string, is func(appsv1.StatefulSetStatus) bool) {
	t.Helper()
	awaitInstalled(t, "every zone of "+namespace+" "+what, func(ctx context.Context) error {
		zones, err := in.admin.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, zone := range zones.Items {
			if zone.Status.ObservedGeneration < zone.Generation || !is(zone.Status) {
				return fmt.Errorf("%s: %+v", zone.Name, zone.Status)
			}
		}
		return nil
	})
}

func (in *installation) podUIDs(t *testing.T, namespace string) map[string]types.UID {
	t.Helper()
	pods, err := in.admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, pod := range pods.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// awaitInstalled waits until a check passes.
func awaitInstalled(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(installed)
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s without success: %s\nlast: %v", installed, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
