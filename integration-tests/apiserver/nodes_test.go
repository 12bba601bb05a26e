package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// nodeOf is a label of nodes that belong to one scene only, and a taint that keeps the pods of other scenes away: they would not end
// where a node falls silent, and would end with a node.
const nodeOf = "lockstep.test/node-of"

// forOthers is that taint.
var forOthers = corev1.Taint{Key: nodeOf, Effect: corev1.TaintEffectNoSchedule}

// ownNodes creates nodes to which only this scene binds pods, with schedulesOn.
func (s *scene) ownNodes(n int) []string {
	s.t.Helper()
	nodes, err := s.world.cluster.AddNodes(s.t.Context(), n, nil, forOthers)
	if err != nil {
		s.t.Fatal(err)
	}
	return nodes
}

// addNodes creates nodes for pods of this scene, and starts the scheduler.
func (s *scene) addNodes(n int, pool string) []string {
	s.t.Helper()
	if err := s.world.cluster.StartScheduler(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	nodes, err := s.world.cluster.AddNodes(s.t.Context(), n, map[string]string{nodeOf: s.pool(pool)}, forOthers)
	if err != nil {
		s.t.Fatal(err)
	}
	return nodes
}

func (s *scene) pool(name string) string { return s.name + "." + name }

// placedOn makes the scheduler place pods on the nodes of a pool of the scene.
func (s *scene) placedOn(pool string) option {
	return func(set *appsv1.StatefulSet) {
		set.Spec.Template.Spec.NodeName = ""
		set.Spec.Template.Spec.NodeSelector = map[string]string{nodeOf: s.pool(pool)}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: nodeOf, Operator: corev1.TolerationOpExists}}
	}
}

// podsOn returns the names of the pods on a node.
func (p present) podsOn(node string) []string {
	var names []string
	for name, pod := range p.pods {
		if pod.Spec.NodeName == node {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// drain drains nodes concurrently with kubectl.
func (s *scene) drain(nodes ...string) (finished func()) {
	s.t.Helper()
	kubectl, err := localcluster.Program(s.t.Context(), "kubectl", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeoutCause(s.t.Context(), s.patience, fmt.Errorf("not drained after %s", s.patience))
	var mu sync.Mutex
	outputs, began := map[string]string{}, time.Now()
	var all sync.WaitGroup
	for _, node := range nodes {
		all.Go(func() {
			command := exec.CommandContext(ctx, kubectl, "drain", node, "--kubeconfig="+s.world.cluster.AdminKubeconfig(), "--ignore-daemonsets")
			command.Env = []string{"HOME=" + s.world.cluster.Dir()}
			var out bytes.Buffer
			command.Stdout, command.Stderr = &out, &out
			err := command.Run()
			mu.Lock()
			defer mu.Unlock()
			outputs[node] = out.String()
			if err != nil {
				s.t.Errorf("drain of %s: %v\n%s", node, errors.Join(err, context.Cause(ctx)), out.String())
			}
		})
	}
	return func() {
		s.t.Helper()
		all.Wait()
		stop()
		s.t.Logf("%d nodes are drained after %s", len(nodes), time.Since(began).Round(time.Millisecond))
		for node, words := range outputs {
			s.t.Logf("kubectl drain %s:\n%s", node, words)
		}
		s.eventually("no pod remains on the drained nodes", func(now present) error {
			for _, node := range nodes {
				if left := now.podsOn(node); len(left) > 0 {
					return fmt.Errorf("%s has %q", node, left)
				}
			}
			return nil
		})
	}
}
