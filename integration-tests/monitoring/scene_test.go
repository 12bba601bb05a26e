package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	home      = "lockstep-system"
	namespace = "team"
	group     = "store"
	patience  = 2 * time.Minute
	podsEach  = 2
)

var zones = []string{"store-zone-a", "store-zone-b", "store-zone-c"}

// scene is a cluster with an operator that manages one group.
type scene struct {
	*testing.T
	cluster  *localcluster.Cluster
	admin    kubernetes.Interface
	operator *localcluster.Operator
	image    int

	poolChanges int
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, cluster: localcluster.For(t, localcluster.Options{})}
	var err error
	if s.admin, err = kubernetes.NewForConfig(s.cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	return s
}

// operate starts the operator as in an installation with webhooks and the kind StatefulCluster. It sends traces to collector.
func (s *scene) operate(collector string) {
	s.Helper()
	manifests := filepath.Join(repository, "manifests") + "/"
	s.must(s.cluster.Apply(s.Context(), manifests+"operator/namespace.yaml", manifests+"operator/serviceaccount.yaml", manifests+"crds",
		manifests+"rbac/cluster.yaml", manifests+"rbac/home.yaml", manifests+"rbac/references.yaml", manifests+"webhooks/certificate/role.yaml", manifests+"webhooks/inject.yaml", manifests+"statefulcluster/role.yaml"))
	s.allowed()
	kubeconfig, err := s.cluster.ServiceAccountKubeconfig(s.Context(), home, "lockstep")
	s.must(err)
	s.operator, err = localcluster.StartOperator(s.Context(), localcluster.OperatorOptions{
		Kubeconfig: kubeconfig,
		Args:       []string{"-server-tls.enabled", "-server-tls.port=0", "-statefulcluster.enabled"},
		Env:        []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector, "OTEL_BSP_SCHEDULE_DELAY=100"},
	})
	s.must(err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
		defer cancel()
		if code, err := s.operator.Stop(ctx); err != nil || code != 0 {
			s.Errorf("the operator ended with %d: %v", code, err)
		}
		if s.Failed() {
			s.Logf("the operator's log:\n%s", s.operator.Logs())
		}
	})
}

// allowed waits until the API server applies the roles.
func (s *scene) allowed() {
	s.Helper()
	s.await("the roles", func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + home + ":lockstep",
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: home, Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Name: "lockstep-leader",
			},
		}}
		answer, err := s.admin.AuthorizationV1().SubjectAccessReviews().Create(s.Context(), review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("they do not count yet")
		}
		return err
	})
}

// settle creates the namespace and the group.
func (s *scene) settle() {
	s.Helper()
	_, err := s.admin.CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"lockstep.dev/enabled": "true"},
	}}, metav1.CreateOptions{})
	s.must(err)
	for _, zone := range zones {
		_, err := s.admin.AppsV1().StatefulSets(namespace).Create(s.Context(), zoneOf(zone), metav1.CreateOptions{})
		s.must(err)
	}
	s.rolled()
}

// zoneOf returns a zone. Downscales of the first zone are forbidden.
func zoneOf(name string) *appsv1.StatefulSet {
	labels, may := map[string]string{"rollout-group": group, "name": name}, map[string]string{"rollout-group": group}
	if name == zones[0] {
		may["grafana.com/no-downscale"] = "true"
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: may},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(podsEach)), ServiceName: name, PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{localcluster.ReadyAfter: "700ms"}},
				Spec:       corev1.PodSpec{NodeName: localcluster.NodeName(0), Containers: []corev1.Container{{Name: "main", Image: "store:0"}}},
			},
		},
	}
}

// roll gives every zone another template.
func (s *scene) roll() {
	s.Helper()
	s.image++
	for _, zone := range zones {
		patch := fmt.Sprintf(`{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "store:%d"}]}}}}`, s.image)
		_, err := s.admin.AppsV1().StatefulSets(namespace).Patch(s.Context(), zone, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		s.must(err)
	}
}

// rolled waits until every pod has the newest template.
func (s *scene) rolled() {
	s.Helper()
	s.await("the rollout", s.behind)
}

// behind returns an error if a zone does not have the newest template yet.
func (s *scene) behind() error {
	for _, zone := range zones {
		set, err := s.admin.AppsV1().StatefulSets(namespace).Get(s.Context(), zone, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := set.Status
		if now.ObservedGeneration < set.Generation || now.ReadyReplicas != podsEach || now.UpdatedReplicas != podsEach || now.CurrentRevision != now.UpdateRevision {
			return fmt.Errorf("%s has %d of %d pods updated", zone, now.UpdatedReplicas, podsEach)
		}
	}
	return nil
}

// webhooks returns the address of the webhooks in the operator's log.
func (s *scene) webhooks() string {
	s.Helper()
	for line := range strings.Lines(s.operator.Logs()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving webhooks" {
			return "https://" + entry.Address
		}
	}
	s.Fatal("the operator serves no webhooks")
	return ""
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// await repeats a check until it returns no error.
func (s *scene) await(what string, objection func() error) {
	s.Helper()
	const pause = 50 * time.Millisecond
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pause) {
		if err = objection(); err == nil {
			return
		}
	}
	s.Fatalf("%s: %v", what, err)
}

// freePort returns the address of a port on which no program listens now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
