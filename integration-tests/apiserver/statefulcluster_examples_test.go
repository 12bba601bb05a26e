package apiserver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The API server accepts the examples, and lockstep reaches their goal: local disks and network volumes differ for it in
// nothing but the spec.
func TestStatefulClustersOfTheExamplesReachTheirGoal(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	for name, replicas := range map[string]int{"store": 5, "queue": 3} {
		file := map[string]string{"store": "local-disks.yaml", "queue": "network-volumes.yaml"}[name]
		if err := s.world.cluster.ApplyIn(t.Context(), s.name, manifest+"examples/statefulcluster/"+file); err != nil {
			t.Fatal(err)
		}
		pool{s, name}.settles(replicas)
	}
}

// formerManifest has the shape of manifests for the operator that first had this kind: its labels are only in the selector, and
// fields that are not set are written as Go writes them.
const formerManifest = `apiVersion: lockstep.dev/v1alpha1
kind: StatefulCluster
metadata:
  name: notes
  creationTimestamp: null
spec:
  replicas: 3
  serviceName: ""
  updateStrategy: {}
  selector:
    matchLabels:
      app.kubernetes.io/name: notes
      app.kubernetes.io/component: storage
  template:
    metadata:
      creationTimestamp: null
    spec:
      containers:
        - name: notes
          image: notes:1
          resources: {}
          ports:
            - name: http
              containerPort: 8080
          volumeMounts:
            - name: data
              mountPath: /var/lib/notes
  volumeClaimTemplates:
    - metadata:
        name: data
        creationTimestamp: null
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 1Gi
      status: {}
status:
  replicas: 0
`

// A manifest of the former operator needs no change but that of its apiVersion.
func TestStatefulClusterOfAFormerManifestHasItsPodsAndClaims(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	file := filepath.Join(t.TempDir(), "notes.yaml")
	if err := os.WriteFile(file, []byte(formerManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, file); err != nil { // with strict validation
		t.Fatal(err)
	}
	p := pool{s, "notes"}
	selected := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "notes", "app.kubernetes.io/component": "storage"}})
	for _, pod := range p.settles(3) {
		id := strings.TrimPrefix(pod.Name, "notes-")
		claim := "notes-data-" + id
		if living, _ := p.claims(id); !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) || !slices.Equal(living, []string{claim}) || !slices.Equal(volumesOf(&pod), []string{"data " + claim}) {
			t.Errorf("pod %s has the claims %v and the volumes %v", pod.Name, living, volumesOf(&pod))
		}
	}
	list, err := s.world.admin.CoreV1().Pods(s.name).List(t.Context(), metav1.ListOptions{LabelSelector: selected})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("the selector %s selects %d pods: %v", selected, len(list.Items), err)
	}
	o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	if labels, has, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "labels"); has {
		t.Errorf("the template has the labels %v, so pods have them from there", labels)
	}
}
