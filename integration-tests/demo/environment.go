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

// These are the names and sizes of the groups.
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

// newClusterState returns the state before any event.
func newClusterState() *clusterState {
	w := &clusterState{}
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

// environment is the cluster, the operator and the receivers of traces.
type environment struct {
	target
	client   kubernetes.Interface
	operator *operator
	traces   *collector
	jaeger   *localcluster.Jaeger // nil unless DEMO_JAEGER=1
	keep     bool
}

// setUp opens the target and starts the operator. The caller must call tearDown, even after an error.
func setUp(ctx context.Context, out io.Writer, keep bool) (_ *environment, err error) {
	s := &environment{keep: keep}
	if s.target, err = openTarget(ctx, out, keep); err != nil {
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
	if err := s.Apply(ctx, s.manifests(manifests)...); err != nil {
		return s, err
	}
	kubeconfig, err := s.ServiceAccountKubeconfig(ctx, operatorNamespace, operatorAccount)
	if err != nil {
		return s, err
	}
	if err := s.startTraces(ctx, out); err != nil {
		return s, err
	}
	s.operator, err = startOperator(ctx, out, s.Dir(), kubeconfig, s.variables(), keep)
	return s, err
}

// manifests returns what the demo applies of a folder.
func (e *environment) manifests(folder string) []string {
	files := []string{
		filepath.Join(folder, "operator", "namespace.yaml"),
		filepath.Join(folder, "operator", "serviceaccount.yaml"),
		filepath.Join(folder, "rbac", "cluster.yaml"),
		filepath.Join(folder, "rbac", "home.yaml"),
	}
	if e.local != nil {
		files = append(files, filepath.Join(folder, "crds", "lockstep.dev_statefulclusters.yaml"), filepath.Join(folder, "statefulcluster"))
	}
	return files
}

// variables returns the environment variables of the operator.
func (e *environment) variables() []string {
	variables := e.traces.variables()
	if e.local != nil {
		variables = append(variables, "LOCKSTEP_STATEFULCLUSTER_ENABLED=true")
	}
	return variables
}

// startTraces starts the receivers of the operator's spans.
func (e *environment) startTraces(ctx context.Context, out io.Writer) (err error) {
	forwardURL := ""
	if os.Getenv("DEMO_JAEGER") == "1" {
		if e.jaeger, err = localcluster.StartJaeger(ctx, out); err != nil {
			return err
		}
		forwardURL = e.jaeger.OTLP()
	}
	e.traces, err = startCollector(forwardURL)
	return err
}

// tearDown stops everything that was started, even after ctx has ended.
func (e *environment) tearDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var failures []error
	if e.operator != nil {
		failures = append(failures, e.operator.stop(ctx))
	}
	failures = append(failures, e.stopTraces())
	if e.cluster != nil {
		failures = append(failures, e.Stop())
	}
	return errors.Join(failures...)
}

// stopTraces stops the receivers of the operator's spans.
func (e *environment) stopTraces() error {
	var failures []error
	if e.traces != nil {
		failures = append(failures, e.traces.close())
	}
	if e.jaeger != nil {
		failures = append(failures, e.jaeger.End())
	}
	return errors.Join(failures...)
}

// createGroups creates the namespaces and a group of zones in each.
func (e *environment) createGroups(ctx context.Context, w *clusterState) error {
	for _, n := range w.namespaces {
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{makerLabel: makerDemo}}}
		if n.optedIn {
			created.Labels[optInLabel] = "true"
		}
		if _, err := e.client.CoreV1().Namespaces().Create(ctx, created, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace: %w", err)
		}
		for _, z := range n.zones {
			if _, err := e.client.AppsV1().StatefulSets(n.name).Create(ctx, statefulSet(z.name, e.template), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create StatefulSet in %s: %w", n.name, err)
			}
		}
	}
	return nil
}

// changeTemplates changes the pod templates of all zones in all namespaces.
func (e *environment) changeTemplates(ctx context.Context, w *clusterState) error {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			_, err := e.client.AppsV1().StatefulSets(n.name).Patch(ctx, z.name, types.StrategicMergePatchType, e.change, metav1.PatchOptions{})
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

// manifestsFolder finds the folder manifests in this source tree.
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
