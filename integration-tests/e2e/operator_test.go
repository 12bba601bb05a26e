package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const (
	home    = "lockstep-system"
	account = "lockstep"
	optIn   = "lockstep.dev/enabled"
	user    = "system:serviceaccount:" + home + ":" + account
)

func byOperator(name string) bool { return name == user }

// operators returns the operators for the judge.
func operators() []judge.Operator {
	return []judge.Operator{{User: user, Selector: labels.SelectorFromSet(labels.Set{optIn: "true"}), LeadershipNamespace: home}}
}

// install follows docs/installation.md, with the webhooks and another image, and waits until
// lockstep works.
func (w *world) install(t *testing.T, manifests, image string) {
	t.Helper()
	w.run(t, "apply", "-f", filepath.Join(manifests, "crds"))
	w.run(t, "apply", "-k", w.kustomization(t, manifests, image))
	w.works(t)
}

// kustomization returns a user's kustomization: the overlay with webhooks, an image, and the kind
// StatefulCluster if the manifests have it. A cluster of the user has no disks for it.
func (w *world) kustomization(t *testing.T, manifests, image string) string {
	t.Helper()
	own := t.TempDir()
	relative := func(folders ...string) string { // as kustomize requires
		absolute, err := filepath.Abs(filepath.Join(append([]string{manifests}, folders...)...))
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Rel(own, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	colon := strings.LastIndex(image, ":")
	content := fmt.Sprintf("resources:\n  - %s\nimages:\n  - name: lockstep\n    newName: %s\n    newTag: %s\n", relative("overlays", "webhooks"), image[:colon], image[colon+1:])
	const kind = "statefulcluster"
	if _, err := os.Stat(filepath.Join(manifests, kind)); err == nil && !w.isYours() {
		content += "components:\n  - " + relative(kind) + "\n"
	}
	if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return own
}

// works waits until all replicas are Ready, one of them is the leader, and API servers call the
// webhooks.
func (w *world) works(t *testing.T) {
	t.Helper()
	w.run(t, "rollout", "status", "--namespace="+home, "deployment/lockstep", "--timeout="+patience.String())
	eventually(t, "a replica leads", func() error {
		_, _, err := w.leader(t.Context())
		return err
	})
	eventually(t, "every webhook has a CA", func() error { return w.trusted(t.Context()) })
	w.callsWebhooks(t)
}

// trusted returns an error for a webhook without the CA by which API servers verify it.
func (w *world) trusted(ctx context.Context) error {
	mutating, err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, ours())
	if err != nil {
		return err
	}
	validating, err := w.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, ours())
	if err != nil {
		return err
	}
	clients := map[string]admissionregistrationv1.WebhookClientConfig{}
	for _, c := range mutating.Items {
		for _, webhook := range c.Webhooks {
			clients[webhook.Name] = webhook.ClientConfig
		}
	}
	for _, c := range validating.Items {
		for _, webhook := range c.Webhooks {
			clients[webhook.Name] = webhook.ClientConfig
		}
	}
	if len(mutating.Items) == 0 || len(validating.Items) == 0 {
		return fmt.Errorf("there are %d and %d configurations", len(mutating.Items), len(validating.Items))
	}
	for name, client := range clients {
		if len(client.CABundle) == 0 {
			return fmt.Errorf("%s has none", name)
		}
	}
	return nil
}

// callsWebhooks creates a budget, which fails if the webhook cannot be called.
func (w *world) callsWebhooks(t *testing.T) {
	t.Helper()
	labels := map[string]string{optIn: "true", maker: "e2e"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "e2e-calls", Labels: labels}}
	if _, err := w.admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer w.run(t, "delete", "namespace", namespace.Name)
	eventually(t, "the webhook of budgets answers", func() error {
		return w.try(t.Context(), "apply", "--dry-run=server", "--namespace="+namespace.Name, "-f", "testdata/budget.yaml")
	})
}

// ours selects the objects of lockstep.
func ours() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=lockstep"}
}

// replicas returns the pods of lockstep that do not terminate.
func (w *world) replicas(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := w.admin.CoreV1().Pods(home).List(ctx, ours())
	if err != nil {
		return nil, err
	}
	var present []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			present = append(present, pod)
		}
	}
	return present, nil
}

// leader returns the leader: its name in the Lease, and its pod.
func (w *world) leader(ctx context.Context) (holder string, _ *corev1.Pod, _ error) {
	lease, err := w.admin.CoordinationV1().Leases(home).Get(ctx, judge.LeaderLease, metav1.GetOptions{})
	if err != nil {
		return "", nil, err
	}
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	pods, err := w.replicas(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, pod := range pods {
		if strings.HasPrefix(holder, pod.Name) {
			return holder, &pod, nil
		}
	}
	return "", nil, fmt.Errorf("the leader is %q, the replicas are %d", holder, len(pods))
}
