package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// claimOfPool returns a claim of an identity of the StatefulCluster "uid".
func claimOfPool(template, id string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: poolName + "-" + template + "-" + id, Labels: map[string]string{identityLabel: id, poolUIDLabel: "uid"}, Annotations: map[string]string{},
	}}
}

// identityWithClaims returns a pod that mounts claims of these templates, and the state with one more claim of its identity.
func identityWithClaims(mounted []string, unmounted string) (*clusterState, *corev1.Pod) {
	s := newClusterState()
	s.poolUID = "uid"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: poolName + "-0", Labels: map[string]string{identityLabel: "0"}}}
	for _, template := range append(mounted, unmounted) {
		s.observe(watch.Event{Type: watch.Added, Object: claimOfPool(template, "0")})
	}
	for _, template := range mounted {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(template, pod)},
		}})
	}
	return s, pod
}

func TestGoalRequiresClaimsOfFinalTemplates(t *testing.T) {
	t.Parallel()
	mounted := []string{"logs", "data"}
	if s, pod := identityWithClaims(mounted, "cache"); s.checkClaims(pod, []string{"data", "logs"}) != nil {
		t.Fatalf("it is missed: %v", s.checkClaims(pod, []string{"data", "logs"}))
	}
	for want, change := range map[string]func(*clusterState, *corev1.Pod){
		"mounts the claims [db-data-0], [db-data-0 db-logs-0] wanted":                       func(_ *clusterState, pod *corev1.Pod) { pod.Spec.Volumes = pod.Spec.Volumes[1:] },
		"claim db-logs-0 of pod db-0 does not exist":                                        func(s *clusterState, _ *corev1.Pod) { delete(s.claims, "db-logs-0") },
		"claim db-data-0 of the identity of pod db-0 is deleted, marked":                    func(s *clusterState, _ *corev1.Pod) { s.claims["db-data-0"].DeletionTimestamp = &metav1.Time{} },
		"claim db-cache-0 of the identity of pod db-0 is deleted, marked":                   func(s *clusterState, _ *corev1.Pod) { s.claims["db-cache-0"].Annotations[retiredAt] = "now" },
		"claim db-cache-0 of the identity of pod db-0 is deleted, marked, or of an earlier": func(s *clusterState, _ *corev1.Pod) { s.claims["db-cache-0"].Labels[poolUIDLabel] = "earlier" },
		"mounts the claims [db-cache-0 db-data-0 db-logs-0], [db-data-0 db-logs-0] wanted": func(_ *clusterState, pod *corev1.Pod) {
			_, other := identityWithClaims([]string{"data", "logs", "cache"}, "index")
			pod.Spec.Volumes = other.Spec.Volumes
		},
	} {
		s, pod := identityWithClaims(mounted, "cache")
		change(s, pod)
		if err := s.checkClaims(pod, []string{"data", "logs"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want that it %s", err, want)
		}
	}
}
