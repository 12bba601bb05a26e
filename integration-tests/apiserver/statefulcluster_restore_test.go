package apiserver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// ownPool is a StatefulCluster named db in a cluster of its own.
type ownPool struct {
	*ownCluster
	namespace string
}

// create creates it with one claim for each identity.
func (p ownPool) create(replicas int) {
	p.Helper()
	container := map[string]any{"name": "db", "image": "db:1", "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}}}
	claim := map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{
		"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
	}}
	within(p.T, patience, "it is created", func() error { // the API server does not know a new kind at once
		_, err := p.client.Resource(statefulClusters).Namespace(p.namespace).Create(p.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": map[string]any{"name": "db"},
			"spec": map[string]any{
				"replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"app": "db"}},
				"template":             map[string]any{"spec": map[string]any{"containers": []any{container}}},
				"volumeClaimTemplates": []any{claim},
			},
		}}, createOptions)
		return err
	})
}

func (p ownPool) scale(to int) {
	p.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, to)
	within(p.T, patience, "it is scaled", func() error {
		_, err := p.client.Resource(statefulClusters).Namespace(p.namespace).Patch(p.Context(), "db", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// reaches waits until that many pods serve, and adds their names.
func (p ownPool) reaches(replicas int, names map[string]bool) {
	p.Helper()
	within(p.T, patience, fmt.Sprintf("%d pods serve", replicas), func() error {
		pods, err := p.admin.CoreV1().Pods(p.namespace).List(p.Context(), listOptions)
		if err != nil {
			return err
		}
		serving := 0
		for i := range pods.Items {
			if judge.PodOf(&pods.Items[i]).Serving() {
				serving++
			}
		}
		if serving != replicas || len(pods.Items) != replicas {
			return fmt.Errorf("%d of %d pods serve", serving, len(pods.Items))
		}
		for _, pod := range pods.Items {
			names[pod.Name] = true
		}
		return nil
	})
}

// Pods that were created after the backup are lost with the restore. Those that take their places have other identities
// than all pods that ever existed.
func TestStatefulClusterSurvivesARestoreOfEtcd(t *testing.T) {
	t.Parallel()
	if !everyFault() {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_FAULTS=all to restore an etcd under StatefulClusters (make crashes), which takes minutes")
	}
	c := newOwnCluster(t)
	const team = "team"
	c.apply(home, "operator/namespace.yaml", "operator/serviceaccount.yaml", "crds", "rbac/cluster.yaml", "rbac/home.yaml", "statefulcluster/role.yaml")
	c.namespace(team)
	p := ownPool{c, team}
	t.Cleanup(localcluster.Schedule(context.WithoutCancel(t.Context()), c.admin, team, localcluster.NodeName(0)))
	op := c.launch(home, "-statefulcluster.enabled")
	t.Cleanup(op.Kill)
	p.create(2)
	former := map[string]bool{}
	p.reaches(2, former)
	backup, err := c.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.scale(4)
	p.reaches(4, former)
	c.writes(team, 500) // so that the cluster's resourceVersions do not soon reach their former values
	p.scale(3)          // the Lease records that, so the operator has seen a version after these
	p.reaches(3, former)
	if err := c.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	select {
	case <-op.Exited():
	case <-time.After(patience):
		t.Fatalf("does not end:\n%s", op.Logs())
	}
	c.operate(home, "-statefulcluster.enabled") // like the kubelet, which restarts the operator
	p.scale(5)
	restored := map[string]bool{}
	p.reaches(5, restored)
	again := 0
	for name := range restored {
		if former[name] {
			again++
		}
	}
	if again != 2 {
		t.Errorf("%d of 5 pods have the names of former ones, want those 2 that the backup has: %v, %v", again, restored, former)
	}
}
