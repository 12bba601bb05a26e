package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// What is on the stage.
const (
	groupName    = "ingester"
	podsPerZone  = 4
	containerOne = "ingester"

	operatorNamespace = "lockstep-system"
	operatorAccount   = "lockstep"

	longestNamespace = len("bystander")
	longestPod       = len("ingester-zone-a-0")
)

var (
	optedIn    = []string{"north", "south"}
	notOptedIn = []string{"bystander"}
	zoneNames  = []string{groupName + "-zone-a", groupName + "-zone-b", groupName + "-zone-c"}
)

// newWorld is the world before anything was seen.
func newWorld() *world {
	w := &world{}
	for _, names := range []struct {
		optedIn bool
		names   []string
	}{{true, optedIn}, {false, notOptedIn}} {
		for _, name := range names.names {
			w.namespaces = append(w.namespaces, newNamespace(name, names.optedIn))
		}
	}
	return w
}

func newNamespace(name string, optedIn bool) *namespace {
	n := &namespace{name: name, optedIn: optedIn, leases: map[string]lease{}}
	for _, z := range zoneNames {
		n.zones = append(n.zones, &zone{name: z, replicas: podsPerZone, pods: map[string]pod{}})
	}
	return n
}

// stage is where the demo takes place.
type stage struct {
	place
	client   kubernetes.Interface
	operator *operator
	traces   *collector
	jaeger   *localcluster.Jaeger // nil: nobody asked for it
	keep     bool
}

// setUp opens the place and starts the operator. The caller calls strike, whatever
// happens.
func setUp(ctx context.Context, out io.Writer, keep bool) (_ *stage, err error) {
	s := &stage{keep: keep}
	if s.place, err = openPlace(ctx, out, keep); err != nil {
		return s, err
	}
	config := s.AdminConfig()
	config.WarningHandler = rest.NoWarnings{}
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make client: %w", err)
	}
	manifests, err := manifestsFolder()
	if err != nil {
		return s, err
	}
	if err := s.Apply(ctx,
		filepath.Join(manifests, "operator", "namespace.yaml"),
		filepath.Join(manifests, "operator", "serviceaccount.yaml"),
		filepath.Join(manifests, "rbac", "cluster.yaml"),
		filepath.Join(manifests, "rbac", "home.yaml"),
	); err != nil {
		return s, err
	}
	kubeconfig, err := s.ServiceAccountKubeconfig(ctx, operatorNamespace, operatorAccount)
	if err != nil {
		return s, err
	}
	if err := s.collectTraces(ctx, out); err != nil {
		return s, err
	}
	s.operator, err = startOperator(ctx, out, s.Dir(), kubeconfig, s.traces.environment(), keep)
	return s, err
}

// collectTraces starts what takes the operator's spans.
func (s *stage) collectTraces(ctx context.Context, out io.Writer) (err error) {
	onward := ""
	if os.Getenv("DEMO_JAEGER") == "1" {
		if s.jaeger, err = localcluster.StartJaeger(ctx, out); err != nil {
			return err
		}
		onward = s.jaeger.OTLP()
	}
	s.traces, err = startCollector(onward)
	return err
}

// strike ends everything that was started, also after ctx has ended.
func (s *stage) strike(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var failures []error
	if s.operator != nil {
		failures = append(failures, s.operator.stop(ctx))
	}
	failures = append(failures, s.endTraces())
	if s.cluster != nil {
		failures = append(failures, s.Stop())
	}
	return errors.Join(failures...)
}

// endTraces ends what takes the operator's spans.
func (s *stage) endTraces() error {
	var failures []error
	if s.traces != nil {
		failures = append(failures, s.traces.end())
	}
	if s.jaeger != nil {
		failures = append(failures, s.jaeger.End())
	}
	return errors.Join(failures...)
}

// createGroups creates the namespaces and the zones of a group in each.
func (s *stage) createGroups(ctx context.Context, w *world) error {
	for _, n := range w.namespaces {
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{makerLabel: makerDemo}}}
		if n.optedIn {
			created.Labels[optInLabel] = "true"
		}
		if _, err := s.client.CoreV1().Namespaces().Create(ctx, created, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace: %w", err)
		}
		for _, z := range n.zones {
			if _, err := s.client.AppsV1().StatefulSets(n.name).Create(ctx, statefulSet(z.name, s.before), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create StatefulSet in %s: %w", n.name, err)
			}
		}
	}
	return nil
}

// changeTemplates changes the pods of all zones of all namespaces.
func (s *stage) changeTemplates(ctx context.Context, w *world) error {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			_, err := s.client.AppsV1().StatefulSets(n.name).Patch(ctx, z.name, types.StrategicMergePatchType, s.change, metav1.PatchOptions{})
			if err != nil {
				return fmt.Errorf("change template in %s: %w", n.name, err)
			}
		}
	}
	return nil
}

func statefulSet(name string, pods corev1.PodTemplateSpec) *appsv1.StatefulSet {
	own := map[string]string{"app": groupName, "zone": name}
	pods.Labels = own
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{groupLabel: groupName}},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(podsPerZone)),
			ServiceName:         groupName,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: own},
			Template:            pods,
		},
	}
}

// manifestsFolder finds manifests in this source tree.
func manifestsFolder() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find manifests: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		manifests := filepath.Join(dir, "manifests")
		if _, err := os.Stat(filepath.Join(manifests, "rbac")); err == nil {
			return manifests, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find manifests: no folder above %s holds manifests/rbac; run this inside a checkout", start)
		}
	}
}
