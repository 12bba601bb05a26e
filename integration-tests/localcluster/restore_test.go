package localcluster_test

import (
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

func TestARestoredClusterIsAsItWasAtTheBackup(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{}) // when it ends, it would report a program that had ended
	client := clientFor(t, cluster)
	configMap(t, client, "before")
	backup, err := cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := ""
	for n := range 500 {
		lost = configMap(t, client, "lost-"+strconv.Itoa(n))
	}
	if err := cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "lost-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("objects of the time after the backup: %v", err)
	}
	before, _ := strconv.Atoi(lost)
	after, _ := strconv.Atoi(configMap(t, client, "after"))
	if before == 0 || after >= before {
		t.Errorf("the version after the restore is %d, the one before it %d", after, before)
	}
}
