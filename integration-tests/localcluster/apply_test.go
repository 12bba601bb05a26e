package localcluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

func TestManifestsAreAppliedIntoANamespaceAndServiceAccountsHaveTheirRole(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	client := clientFor(t, cluster)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "study"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second apply changes nothing
		if err := cluster.ApplyIn(t.Context(), "study", "testdata/manifests"); err != nil {
			t.Fatal(err)
		}
	}

	path, err := cluster.ServiceAccountKubeconfig(t.Context(), "study", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lamps := reader.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}).Namespace("study")
	eventually(t, "objects that the role allows are read", func() error {
		_, err := lamps.Get(t.Context(), "desk", metav1.GetOptions{})
		return err
	})
	if err := lamps.Delete(t.Context(), "desk", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete an object that the role does not allow: got %v, wanted forbidden", err)
	}

	err = cluster.Apply(t.Context(), "testdata/manifests/2-lamps.yaml")
	if err == nil || !strings.Contains(err.Error(), "document 3, ServiceAccount reader") {
		t.Errorf("apply into a missing namespace: got %v, wanted an error that names the document", err)
	}
}
