package monitoring_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	pool       = "queue"
	podsOfPool = 2
)

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
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, pool, namespace, podsOfPool, localcluster.ReadyAfter))
	s.must(s.cluster.Apply(s.Context(), file))
}

// endIdentity deletes a pod of the StatefulCluster, if all are available. Its claims are kept.
func (s *scene) endIdentity() {
	s.Helper()
	pods, err := s.admin.CoreV1().Pods(namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + pool})
	s.must(err)
	ready := func(p corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	}
	if available := slices.DeleteFunc(slices.Clone(pods.Items), func(p corev1.Pod) bool { return !ready(p) }); len(available) < podsOfPool {
		return
	}
	s.must(s.admin.CoreV1().Pods(namespace).Delete(s.Context(), pods.Items[0].Name, metav1.DeleteOptions{}))
}
