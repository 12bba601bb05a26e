package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// maxConcurrentBindings is how many pods are bound at the same time.
const maxConcurrentBindings = 10

// binder is the scheduler of pods that name no node. It binds each to the next node as soon as its
// watch shows the pod without a scheduling gate.
type binder struct {
	tb    *testbed
	bound map[types.UID]bool // bound, or being bound
	slots chan struct{}
	turn  atomic.Int64
}

// startBinder starts a scheduler for all pods of the cluster. It ends with ctx.
func (tb *testbed) startBinder(ctx context.Context) error {
	pending := metav1.ListOptions{FieldSelector: "spec.nodeName="}
	events, err := tb.watchPodsOf(ctx, "", pending)
	if err != nil {
		return err
	}
	b := &binder{tb: tb, bound: map[types.UID]bool{}, slots: make(chan struct{}, maxConcurrentBindings)}
	go func() {
		for e := range events {
			b.observe(ctx, e)
		}
		if ctx.Err() == nil {
			tb.abort(errors.New("the watch of pods without a node has ended"))
		}
	}()
	return nil
}

func (b *binder) observe(ctx context.Context, e podEvent) {
	if e.kind == watch.Deleted { // bound, or deleted
		delete(b.bound, e.pod.UID)
		return
	}
	if len(e.pod.Spec.SchedulingGates) > 0 || e.pod.DeletionTimestamp != nil || b.bound[e.pod.UID] {
		return
	}
	b.bound[e.pod.UID] = true
	go b.bind(ctx, e.pod)
}

func (b *binder) bind(ctx context.Context, pod *corev1.Pod) {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	node := localcluster.NodeName(int(b.turn.Add(1)) % nodes)
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	err := b.tb.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), "not found") {
		b.tb.report("bind pod %s/%s: %s", pod.Namespace, pod.Name, err)
	}
}
