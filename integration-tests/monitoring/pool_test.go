package monitoring_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	pool       = "queue"
	podsOfPool = 2
)

var statefulClusters = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}

// createPool creates a StatefulCluster with one claim for each identity, and schedules its pods.
func (s *scene) createPool() {
	s.Helper()
	s.Cleanup(localcluster.Schedule(context.WithoutCancel(s.Context()), s.admin, namespace, localcluster.NodeName(0)))
	file := filepath.Join(s.TempDir(), "pool.yaml")
	writeFile(s.T, file, fmt.Sprintf(`
apiVersion: lockstep.dev/v1alpha1
kind: StatefulCluster
metadata: {name: %s, namespace: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: queue}}
  template:
    metadata: {annotations: {%s: 700ms}}
    spec: {containers: [{name: main, image: "queue:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  persistentVolumeClaimRetentionPolicy: {whenReplaced: Delete}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, pool, namespace, podsOfPool, localcluster.ReadyAfter))
	s.must(s.cluster.Apply(s.Context(), file))
}

// changePool changes the StatefulCluster if all of its pods are available: its template and, next time, it loses a pod. The claims of
// that identity are deleted.
func (s *scene) changePool() {
	s.Helper()
	pods, err := s.admin.CoreV1().Pods(namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + pool})
	s.must(err)
	ready := func(p corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	}
	if available := slices.DeleteFunc(slices.Clone(pods.Items), func(p corev1.Pod) bool { return !ready(p) }); len(available) < podsOfPool {
		return
	}
	if s.poolChanges++; s.poolChanges%2 == 0 {
		s.must(s.admin.CoreV1().Pods(namespace).Delete(s.Context(), pods.Items[0].Name, metav1.DeleteOptions{}))
		return
	}
	client, err := dynamic.NewForConfig(s.cluster.AdminConfig())
	s.must(err)
	image := fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "queue:%d"}]`, s.poolChanges+1)
	_, err = client.Resource(statefulClusters).Namespace(namespace).Patch(s.Context(), pool, types.JSONPatchType, image, metav1.PatchOptions{})
	s.must(err)
}
