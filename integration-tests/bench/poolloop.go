package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// maxConcurrentPods is how many pods the bare loop creates or deletes at the same time.
const maxConcurrentPods = 10

// poolLoop is the floor for pools. It creates a claim and a pod, deletes pods that are too many, and
// replaces a pod as soon as its watch shows that the pod terminates. It has no lock and no budget, and
// reads nothing twice.
type poolLoop struct {
	tb       *testbed
	pool     pool // the template that pods are to have
	replicas int
	inPlace  bool // the template differs only in the image
	view     *poolView
	named    int             // pods that got a name
	creating map[string]bool // not seen yet
	deleting map[string]bool // not seen to terminate yet
	updating string          // the pod that is updated
	slots    chan struct{}
	failed   chan error
}

// poolLoops are the bare loops of pools, by name.
type poolLoops struct {
	tb    *testbed
	loops map[string]chan func(*poolLoop)
}

// create implements keeper.
func (l *poolLoops) create(ctx context.Context, p *pool) error {
	events, err := l.tb.watchPods(ctx, p.namespace, poolLabel+"="+p.name)
	if err != nil {
		return err
	}
	loop := &poolLoop{
		tb: l.tb, pool: *p, view: newPoolView(), creating: map[string]bool{}, deleting: map[string]bool{},
		slots: make(chan struct{}, maxConcurrentPods), failed: make(chan error, 1),
	}
	orders := make(chan func(*poolLoop))
	l.loops[p.name] = orders
	go func() {
		if err := loop.run(ctx, events, orders); err != nil && ctx.Err() == nil {
			l.tb.abort(fmt.Errorf("bare loop of %s: %w", p.name, err))
		}
	}()
	return nil
}

// scale implements keeper.
func (l *poolLoops) scale(ctx context.Context, p *pool, replicas int) error {
	return l.order(ctx, p, func(loop *poolLoop) { loop.replicas = replicas })
}

// change implements keeper.
func (l *poolLoops) change(ctx context.Context, p *pool) error {
	next := *p
	return l.order(ctx, p, func(loop *poolLoop) {
		loop.inPlace = loop.pool.setting == next.setting
		loop.pool = next
	})
}

func (l *poolLoops) order(ctx context.Context, p *pool, order func(*poolLoop)) error {
	select {
	case l.loops[p.name] <- order:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *poolLoop) run(ctx context.Context, events <-chan podEvent, orders <-chan func(*poolLoop)) error {
	for {
		select {
		case e, open := <-events:
			if !open {
				return errors.New("the watch of pods has ended")
			}
			l.observe(e)
		case order := <-orders:
			order(l)
		case err := <-l.failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.fill(ctx)
		l.shrink(ctx)
		l.update(ctx)
	}
}

func (l *poolLoop) observe(e podEvent) {
	l.view.observe(e)
	name := e.pod.Name
	if e.kind != watch.Deleted && e.pod.DeletionTimestamp == nil {
		delete(l.creating, name)
	} else {
		delete(l.deleting, name)
	}
}

// active returns how many pods exist or are on their way. A pod that is replaced under its name keeps
// its place.
func (l *poolLoop) active() int {
	count := len(l.creating)
	for name, pod := range l.view.pods {
		if !pod.terminating && !l.deleting[name] && !l.creating[name] && name != l.updating {
			count++
		}
	}
	if l.updating != "" && !l.creating[l.updating] {
		count++
	}
	return count
}

// fill creates the pods that are missing.
func (l *poolLoop) fill(ctx context.Context) {
	for missing := l.replicas - l.active(); missing > 0; missing-- {
		name := fmt.Sprintf("%s-%d", l.pool.name, l.named)
		l.named++
		l.create(ctx, name, true)
	}
}

// shrink deletes the pods that are too many.
func (l *poolLoop) shrink(ctx context.Context) {
	surplus := l.active() - l.replicas
	for _, name := range slices.Sorted(maps.Keys(l.view.pods)) {
		if surplus <= 0 {
			return
		}
		if !l.view.pods[name].terminating && !l.deleting[name] {
			l.delete(ctx, name)
			surplus--
		}
	}
}

// update updates the next pod once the one before is ready.
func (l *poolLoop) update(ctx context.Context) {
	if l.updating != "" {
		pod, exists := l.view.pods[l.updating]
		switch {
		case !exists && !l.creating[l.updating]:
			l.create(ctx, l.updating, false)
			return
		case !pod.isUpdated(&l.pool):
			return
		}
		l.updating = ""
	}
	for _, name := range slices.Sorted(maps.Keys(l.view.pods)) {
		pod := l.view.pods[name]
		if !pod.ready || pod.isUpdated(&l.pool) {
			continue
		}
		l.updating = name
		if l.inPlace {
			l.patch(ctx, name)
		} else {
			l.delete(ctx, name)
		}
		return
	}
}

// create creates a pod, and its claim first unless it has one.
func (l *poolLoop) create(ctx context.Context, name string, withClaim bool) {
	l.creating[name] = true
	claim := l.pool.claim(poolClaim + "-" + name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: l.pool.labels()}, Spec: l.pool.spec()}
	pod.Spec.Volumes = []corev1.Volume{{Name: poolClaim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}}}
	l.send(func() error {
		core := l.tb.client.CoreV1()
		if withClaim {
			if _, err := core.PersistentVolumeClaims(l.pool.namespace).Create(ctx, &claim, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create claim %s: %w", claim.Name, err)
			}
		}
		if _, err := core.Pods(l.pool.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", name, err)
		}
		return nil
	})
}

func (l *poolLoop) delete(ctx context.Context, name string) {
	l.deleting[name] = true
	l.send(func() error {
		if err := l.tb.client.CoreV1().Pods(l.pool.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete pod %s: %w", name, err)
		}
		return nil
	})
}

// patch changes the image of a pod in place.
func (l *poolLoop) patch(ctx context.Context, name string) {
	image := imagePatch(l.pool.imageName())
	l.send(func() error {
		if _, err := l.tb.client.CoreV1().Pods(l.pool.namespace).Patch(ctx, name, types.StrategicMergePatchType, image, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("update pod %s: %w", name, err)
		}
		return nil
	})
}

func imagePatch(image string) []byte {
	return fmt.Appendf(nil, `{"spec":{"containers":[{"name":"main","image":%q}]}}`, image)
}

// send sends requests, at most ten at the same time.
func (l *poolLoop) send(requests func() error) {
	go func() {
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		if err := requests(); err != nil {
			select {
			case l.failed <- err:
			default:
			}
		}
	}()
}
