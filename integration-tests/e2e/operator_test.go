package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// operators are those that the judge judges.
func operators() []judge.Operator {
	return []judge.Operator{{User: user, Selector: labels.SelectorFromSet(labels.Set{optIn: "true"}), Home: home}}
}

// install does what docs/installation.md says, with the webhooks and an image of one's
// own, and waits until lockstep works.
func (w *world) install(t *testing.T, manifests, image string) {
	t.Helper()
	w.run(t, "apply", "-f", filepath.Join(manifests, "crds"))
	w.run(t, "apply", "-k", kustomization(t, manifests, image))
	w.works(t)
}

// kustomization is that of a user: the overlay with webhooks, and an image.
func kustomization(t *testing.T, manifests, image string) string {
	t.Helper()
	own := t.TempDir()
	absolute, err := filepath.Abs(filepath.Join(manifests, "overlays", "webhooks"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := filepath.Rel(own, absolute) // kustomize takes no other
	if err != nil {
		t.Fatal(err)
	}
	colon := strings.LastIndex(image, ":")
	content := fmt.Sprintf("resources:\n  - %s\nimages:\n  - name: lockstep\n    newName: %s\n    newTag: %s\n", overlay, image[:colon], image[colon+1:])
	if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return own
}

// works waits until all replicas are Ready, one of them leads, and API servers can call
// the webhooks.
func (w *world) works(t *testing.T) {
	t.Helper()
	w.run(t, "rollout", "status", "--namespace="+home, "deployment/lockstep", "--timeout="+patience.String())
	eventually(t, "a replica leads", func() error {
		_, err := w.leader(t.Context())
		return err
	})
	eventually(t, "the webhook configurations have a CA", func() error {
		configurations, err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().List(t.Context(), ours())
		if err != nil {
			return err
		}
		if len(configurations.Items) == 0 {
			return errors.New("there is none")
		}
		for _, c := range configurations.Items {
			if len(c.Webhooks[0].ClientConfig.CABundle) == 0 {
				return fmt.Errorf("%s has none", c.Name)
			}
		}
		return nil
	})
}

// ours selects what belongs to lockstep.
func ours() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=lockstep"}
}

// replicas returns the pods of lockstep that are not leaving.
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

// leader returns the replica that works.
func (w *world) leader(ctx context.Context) (*corev1.Pod, error) {
	lease, err := w.admin.CoordinationV1().Leases(home).Get(ctx, judge.LeaderLease, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	pods, err := w.replicas(ctx)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if strings.HasPrefix(holder, pod.Name) {
			return &pod, nil
		}
	}
	return nil, fmt.Errorf("the leader is %q, the replicas are %d", holder, len(pods))
}
