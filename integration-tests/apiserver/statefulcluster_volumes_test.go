package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// isLocal gives the claim named data of a pod a volume that can only be used on one node. The volume names its claim, so that the
// controller of Kubernetes binds no claim of another scene to it.
func (p pool) isLocal(pod, node string) {
	p.t.Helper()
	claim, name := "db-data-"+strings.TrimPrefix(pod, "db-"), p.scene.name+"-"+pod
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: p.scene.name, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
	if _, err := p.world.admin.CoreV1().PersistentVolumes().Create(p.t.Context(), volume, createOptions); err != nil {
		p.t.Fatal(err)
	}
	bound := fmt.Appendf(nil, `{"spec": {"volumeName": %q}}`, name)
	if _, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Patch(p.t.Context(), claim, types.MergePatchType, bound, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func TestStatefulClusterReplacesAPodWhoseVolumeIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := managed(t)
	node := s.nodeThatTakesNoPods()
	stop := localcluster.Schedule(context.WithoutCancel(t.Context()), s.world.admin, s.name, s.someNode())
	p := s.createPool(3, map[string]any{"liveness": map[string]any{"startupSeconds": int64(5)}})
	serving, _ := identities(p.settles(3))
	stop()
	p.updates(`{"spec": {"replicas": 5}}`) // nothing schedules the two others
	var names []string
	p.eventually("both pods have their claims", func(present) error {
		names = nil
		for _, pod := range p.pods() {
			if len(pod.Spec.SchedulingGates) == 0 && !slices.Contains(serving, pod.Name) {
				names = append(names, pod.Name)
			}
		}
		if len(names) != 2 {
			return fmt.Errorf("the pods with claims are %v", names)
		}
		return nil
	})
	p.isLocal(names[0], s.name+"-no-such-node")
	p.isLocal(names[1], node)
	p.eventually("a new identity takes the place of the pod whose node does not exist, and the other one waits", func(present) error {
		now, _ := identities(p.pods())
		_, ended := p.claims(strings.TrimPrefix(names[0], "db-"))
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		waits, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		if len(now) != 5 || slices.Contains(now, names[0]) || !slices.Contains(now, names[1]) || len(ended) != 2 || !strings.HasSuffix(ended[0], " VolumeUnreachable") || waits != "VolumeWaitsForNode" {
			return errors.Join(fmt.Errorf("the pods are %v, were %v; the ended claims are %v; it waits because of %s", now, names, ended, waits), err)
		}
		return nil
	})
	if err := s.world.admin.CoreV1().Nodes().Delete(t.Context(), node, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("a new identity takes the place of the other pod once its node does not exist", func(present) error {
		if now, _ := identities(p.pods()); len(now) != 5 || slices.Contains(now, names[1]) {
			return fmt.Errorf("the pods are %v, were %v", now, names)
		}
		return nil
	})
}

// isHandedOverTo hands over an identity of a pool of two whose volumes can only be used on a node, and returns the former pods and
// the next pod, which nothing schedules.
func (p pool) isHandedOverTo(node string, stop func()) (before []corev1.Pod, next string) {
	p.t.Helper()
	before = p.settles(2)
	stop()
	for _, pod := range before {
		p.isLocal(pod.Name, node)
	}
	p.updates(withContainer("db:1", `, "env": [{"name": "MODE", "value": "fast"}]`))
	p.eventually("the next pod of an identity waits for a node", func(present) error {
		for _, pod := range p.pods() {
			if pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 {
				next = pod.Name
				return nil
			}
		}
		return errors.New("none does")
	})
	if names, _ := identities(before); !slices.Contains(names, next) {
		p.t.Fatalf("pod %s is not the next one of %v", next, names)
	}
	return before, next
}

// cordons lets a node take pods or not.
func (s *scene) cordons(node string, unschedulable bool) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, unschedulable)
	if _, err := s.world.admin.CoreV1().Nodes().Patch(s.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// A hand-over whose volume is on a Node that does not exist is given up once pods have had their time to start, and one whose Node
// takes no pods after the time for hand-overs.
func TestStatefulClusterGivesUpAHandOverWhoseVolumeIsOutOfReach(t *testing.T) {
	t.Parallel()
	for sentence, tc := range map[string]struct {
		exists bool
		more   map[string]any
		why    string
	}{
		"because its node does not exist": {false, map[string]any{"liveness": map[string]any{"startupSeconds": int64(2)}}, "VolumeUnreachable"},
		"because its node takes no pods":  {true, map[string]any{"identityPolicy": map[string]any{"handoverTimeoutSeconds": int64(4)}}, "HandoverFailed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			node := s.name + "-no-such-node"
			if tc.exists {
				node = s.nodeThatTakesNoPods()
			}
			stop := localcluster.Schedule(context.WithoutCancel(t.Context()), s.world.admin, s.name, s.someNode())
			p := s.createPool(2, tc.more)
			_, next := p.isHandedOverTo(node, stop)
			id := strings.TrimPrefix(next, "db-")
			p.eventually("a new identity takes the place of the next pod", func(present) error {
				names, _ := identities(p.pods())
				living, retired := p.claims(id)
				if want := []string{"db-data-" + id + " " + tc.why, "db-logs-" + id + " " + tc.why}; len(names) != 2 || slices.Contains(names, next) || len(living) > 0 || !slices.Equal(retired, want) {
					return fmt.Errorf("the pods are %v; the claims of %s are %v, and as former ones %v", names, id, living, retired)
				}
				return nil
			})
		})
	}
}

// nodeThatTakesNoPods adds a cordoned node.
func (s *scene) nodeThatTakesNoPods() string {
	s.t.Helper()
	nodes := s.ownNodes(1)
	s.cordons(nodes[0], true)
	return nodes[0]
}

// The node takes pods again before the time for hand-overs is over.
func TestStatefulClusterKeepsAnIdentityWhoseVolumeIsInReachAgain(t *testing.T) {
	t.Parallel()
	s := managed(t)
	node := s.nodeThatTakesNoPods()
	stop := localcluster.Schedule(context.WithoutCancel(t.Context()), s.world.admin, s.name, s.someNode())
	p := s.createPool(2, map[string]any{"liveness": map[string]any{"startupSeconds": int64(2)}})
	before, next := p.isHandedOverTo(node, stop)
	p.eventually("the status says that the volume waits for its node", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		why, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		if pod, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "pod"); why != "VolumeWaitsForNode" || pod != next {
			return fmt.Errorf("it says %s of %s", why, pod)
		}
		return nil
	})
	s.cordons(node, false)
	s.schedulesOn(node)
	names, _ := identities(before)
	p.eventually("both identities have been handed over", func(present) error {
		for _, pod := range p.settles(2) {
			if !slices.Contains(names, pod.Name) || len(pod.Spec.Containers[0].Env) == 0 || pod.Spec.NodeName != node {
				return fmt.Errorf("pod %s has %v on node %s", pod.Name, pod.Spec.Containers[0].Env, pod.Spec.NodeName)
			}
		}
		return nil
	})
	p.keptIdentity(before, names...)
}
