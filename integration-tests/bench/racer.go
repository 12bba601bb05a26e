package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// racer is one way to roll a group, with a namespace of its own.
type racer struct {
	name    string
	group   *group
	drive   func(context.Context, *group) error // rolls by itself; nil: an operator does
	timings []timing
}

func (r *racer) roll(ctx context.Context) (timing, error) { return r.group.roll(ctx, r.drive) }

// enlist makes the namespaces and starts the operators.
func enlist(ctx context.Context, cluster *localcluster.Cluster, pods int, contender string) ([]*racer, error) {
	client, err := kubernetes.NewForConfig(cluster.AdminConfig())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	racers := []*racer{{name: "floor", drive: deleteWhenReady}, {name: "lockstep"}}
	if contender != "" {
		racers = append(racers, &racer{name: "contender"})
	}
	for _, r := range racers {
		if r.group, err = newGroup(ctx, client, "bench-"+r.name, r.name == "lockstep", pods); err != nil {
			return nil, err
		}
	}
	if err := startLockstep(ctx, cluster); err != nil {
		return nil, err
	}
	if contender != "" {
		return racers, startContender(ctx, cluster, contender, "bench-contender")
	}
	return racers, nil
}

// manifests is where the operator's manifests are, seen from integration-tests.
const manifests = "../manifests"

// startLockstep runs the operator with its own service account and its RBAC.
func startLockstep(ctx context.Context, cluster *localcluster.Cluster) error {
	if err := cluster.Apply(ctx, manifests+"/operator", manifests+"/rbac/cluster.yaml", manifests+"/rbac/home.yaml"); err != nil {
		return err
	}
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, "lockstep-system", "lockstep")
	if err != nil {
		return err
	}
	_, err = localcluster.StartOperator(ctx, localcluster.OperatorOptions{Kubeconfig: kubeconfig})
	return err
}

func startContender(ctx context.Context, cluster *localcluster.Cluster, command, namespace string) error {
	words := strings.Fields(strings.NewReplacer("{kubeconfig}", cluster.AdminKubeconfig(), "{namespace}", namespace).Replace(command))
	process := exec.CommandContext(ctx, words[0], words[1:]...)
	process.Stderr = os.Stderr
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start contender: %w", err)
	}
	return nil
}

func makeNamespace(ctx context.Context, client kubernetes.Interface, name string, optIn bool) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if optIn {
		namespace.Labels = map[string]string{"lockstep.dev/enabled": "true"}
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}
