package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/realnode"
)

// replacesLostMembers cuts off a node with a member and lets it return. Then it switches the node off
// with another member.
func (w *world) replacesLostMembers(t *testing.T) {
	t.Parallel()
	node := w.spareNodes(t, 3)[0]
	p := w.pool(t, "pool-loses", 2, w.nodes[0], w.nodes[1], node.Name())
	before := p.begins(3, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(1)}}, toleratesSpare)
	silent := p.memberOn(before, node.Name())
	process, err := processOf(silent)
	if err != nil {
		t.Fatal(err)
	}

	p.addDisks(w.nodes[2])
	if err := node.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := p.serves(3, silent.Name)
	if now, err := p.admin.CoreV1().Pods(p.name).Get(t.Context(), silent.Name, metav1.GetOptions{}); err != nil || now.DeletionTimestamp == nil || syscall.Kill(process, 0) != nil {
		t.Errorf("the former pod should still run on a node that cannot know better: %v, %v", now.DeletionTimestamp, err)
	}
	if err := node.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.isDeleted(silent.Name)
	if err := syscall.Kill(process, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process of the former pod has not ended: %v", err)
	}
	p.wantKept(after, p.settles(), 0)
	p.wantEnded(silent, "NodeLost")
	p.wantIdentities(4)

	p.addDisks(node.Name())
	p.scales(4)
	lost := p.memberOn(p.settles(), node.Name())
	p.losesNode(node, w.nodes[0], 4, lost)
	p.wantEnded(lost, "NodeGone")
	p.settles()
	p.wantIdentities(6)
	p.wantEnded(silent, "NodeLost")
}

// givesUpAHandOver switches off the node of a member that is about to be handed over. The former pod goes
// at last while the next member is handed over, and must not get its place.
func (w *world) givesUpAHandOver(t *testing.T) {
	t.Parallel()
	node := w.spareNodes(t, 7)[0]
	p := w.pool(t, "pool-gives-up", 3, w.nodes[0], w.nodes[1], node.Name())
	before := p.begins(3, map[string]any{"identityPolicy": map[string]any{"handoverTimeoutSeconds": int64(5)}}, toleratesSpare, variable("MEMBER_STOP", "3s"))
	lost := p.memberOn(before, node.Name())
	p.run(t, "annotate", "pod", lost.Name, "--namespace="+p.name, corev1.PodDeletionCost+"=-1") // so that it is the first
	p.addDisks(w.nodes[2])
	if err := node.SwitchOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.changesTemplate(revision("2"))
	eventually(t, "a new identity serves, so the next member ends", func() error { return p.endsBeside(lost) })
	if claim, err := p.admin.CoreV1().PersistentVolumeClaims(p.name).Get(t.Context(), claimOf(lost), metav1.GetOptions{}); err != nil || claim.DeletionTimestamp != nil {
		t.Errorf("the claim of the lost member is %v, %v", claim, err)
	}
	p.removesByForce(lost)
	after := slices.DeleteFunc(p.settles(), func(pod corev1.Pod) bool { return pod.Spec.NodeName == w.nodes[2] })
	p.wantKept(slices.DeleteFunc(before, func(pod corev1.Pod) bool { return pod.Name == lost.Name }), after, 2)
	p.wantEnded(lost, "HandoverUnneeded") // a new identity has its place
	p.wantIdentities(4)
}

// spareTaint keeps pods away from nodes that a test may switch off, except those of its own.
const spareTaint = "lockstep.test/spare"

// toleratesSpare lets the members run on spare nodes.
func toleratesSpare(s *appsv1.StatefulSet) {
	s.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: spareTaint, Operator: corev1.TolerationOpExists}}
}

// spareNodes starts nodes that the test may switch off. The end of the test switches off the others.
func (w *world) spareNodes(t *testing.T, numbers ...int) []*realnode.Node {
	t.Helper()
	if w.isYours() {
		t.Skip("SKIPPED, NOT PROVED: your cluster has no nodes that may be switched off")
	}
	programs, err := realnode.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	nodes := startNodes(t, programs, realnode.Options{Kubeconfig: w.kubeconfig, Taint: spareTaint + ":" + string(corev1.TaintEffectNoSchedule)}, numbers...)
	t.Cleanup(func() {
		for _, node := range nodes {
			if err := w.switchesOff(context.WithoutCancel(t.Context()), node); err != nil {
				t.Error(err)
			}
		}
	})
	return nodes
}

// switchesOff switches off a node and deletes its Node object, as a cloud does with a machine that is gone.
func (w *world) switchesOff(ctx context.Context, node *realnode.Node) error {
	if err := errors.Join(node.Alive(), node.SwitchOff(ctx)); err != nil {
		return err
	}
	err := w.admin.CoreV1().Nodes().Delete(ctx, node.Name(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// losesNode switches off the node of a member and waits until another one serves, on a disk of another
// node. Then it removes the former pod.
func (p *pool) losesNode(node *realnode.Node, instead string, replicas int, lost *corev1.Pod) {
	p.t.Helper()
	p.addDisks(instead)
	if err := p.switchesOff(p.t.Context(), node); err != nil {
		p.t.Fatal(err)
	}
	p.serves(replicas, lost.Name)
	p.removesByForce(lost)
}

// endsBeside returns an error unless another pod terminates.
func (p *pool) endsBeside(lost *corev1.Pod) error {
	list, err := p.admin.CoreV1().Pods(p.name).List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return pod.Name != lost.Name && pod.DeletionTimestamp != nil }) {
		return errors.New("none does")
	}
	return nil
}

// removesByForce removes a pod whose node is off.
func (p *pool) removesByForce(pod *corev1.Pod) {
	p.t.Helper()
	p.run(p.t, "delete", "pod", pod.Name, "--namespace="+p.name, "--force", "--grace-period=0", "--ignore-not-found")
}

// memberOn returns the only member on a node.
func (p *pool) memberOn(members []corev1.Pod, node string) *corev1.Pod {
	p.t.Helper()
	on := slices.DeleteFunc(slices.Clone(members), func(pod corev1.Pod) bool { return pod.Spec.NodeName != node })
	if len(on) != 1 {
		p.t.Fatalf("%d members are on %s", len(on), node)
	}
	return &on[0]
}

// serves waits until that many members are available, and returns them. A lost one must not be among them.
func (p *pool) serves(replicas int, lost string) (members []corev1.Pod) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%d members of %s are available, without %s", replicas, p.name, lost), func() (err error) {
		if members, err = p.members(p.t.Context()); err != nil {
			return err
		}
		available := 0
		for i := range members {
			if members[i].Name == lost {
				return fmt.Errorf("%s does not terminate", lost)
			}
			if isReady(&members[i]) {
				available++
			}
		}
		if len(members) != replicas || available != replicas {
			return fmt.Errorf("there are %d, of which %d are available", len(members), available)
		}
		return nil
	})
	return members
}

func isReady(pod *corev1.Pod) bool { return judge.PodOf(pod).Ready }

// scales changes the number of members.
func (p *pool) scales(replicas int) {
	p.t.Helper()
	p.run(p.t, "scale", "--namespace="+p.name, "statefulcluster/"+group, fmt.Sprintf("--replicas=%d", replicas))
}

// wantEnded fails the test unless the identity of a member has ended for this reason, and its disk is
// still its own.
func (p *pool) wantEnded(pod *corev1.Pod, reason string) {
	p.t.Helper()
	eventually(p.t, "the claim of "+pod.Name+" is marked", func() error {
		claim, err := p.admin.CoreV1().PersistentVolumeClaims(p.name).Get(p.t.Context(), claimOf(pod), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := claim.Annotations["lockstep.dev/retired-reason"]; claim.Annotations["lockstep.dev/retired-at"] == "" || got != reason {
			return fmt.Errorf("its reason is %q, %q wanted", got, reason)
		}
		return nil
	})
	p.diskOf(pod)
}

// wantIdentities fails the test unless there were that many names of pods so far.
func (p *pool) wantIdentities(want int) {
	p.t.Helper()
	names := map[string]bool{}
	for _, e := range p.history() {
		if e.Pod != nil {
			names[e.Pod.Name] = true
		}
	}
	if len(names) != want {
		p.t.Errorf("there were %d identities, %d wanted: %v", len(names), want, names)
	}
}
