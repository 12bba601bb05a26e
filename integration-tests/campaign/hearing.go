package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	// echoes is the namespace and the name of a pod and of a StatefulSet that nobody
	// runs: API servers hear again when their caches show what was written there.
	echoes = "echoes"
	// echo is the annotation that says how often that was.
	echo = "lockstep.test/echo"
	// echoTry bounds one attempt, so that a connection that hangs makes no absence longer.
	echoTry = 2 * time.Second
)

// makeEchoes makes what is written and listened for.
func (g *ground) makeEchoes(ctx context.Context) error {
	labels := map[string]string{"name": echoes}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lockstep.test/never"}},
			Containers:      []corev1.Container{{Name: "main", Image: image(1)}},
		},
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: echoes},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: echoes}, Spec: template.Spec}
	ctx, cancel := context.WithTimeout(ctx, preparing)
	defer cancel()
	for _, create := range []attempt{
		func(ctx context.Context) error {
			_, err := g.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: echoes}}, metav1.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := g.client.AppsV1().StatefulSets(echoes).Create(ctx, set, metav1.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := g.client.CoreV1().Pods(echoes).Create(ctx, pod, metav1.CreateOptions{})
			return err
		},
	} {
		if err := insist(ctx, "make what echoes", func(ctx context.Context) error { return unlessThere(create(ctx)) }); err != nil {
			return err
		}
	}
	return nil
}

// call writes what echoed waits for, and returns its number.
func (g *ground) call(ctx context.Context) (int, error) {
	g.calling.Lock()
	defer g.calling.Unlock()
	g.calls++
	return g.calls, insist(ctx, "write for an echo", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, echoTry)
		defer cancel()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, echo, strconv.Itoa(g.calls))
		_, err := g.client.CoreV1().Pods(echoes).Patch(ctx, echoes, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		_, err = g.client.AppsV1().StatefulSets(echoes).Patch(ctx, echoes, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// echoed waits until the caches of an API server show a call, or a later one.
func echoed(ctx context.Context, client kubernetes.Interface, number int) error {
	asCached := metav1.ListOptions{ResourceVersion: "0"}
	return insist(ctx, "wait for an echo", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, echoTry)
		defer cancel()
		pods, err := client.CoreV1().Pods(echoes).List(ctx, asCached)
		if err != nil {
			return err
		}
		sets, err := client.AppsV1().StatefulSets(echoes).List(ctx, asCached)
		if err != nil {
			return err
		}
		if len(pods.Items) == 0 || len(sets.Items) == 0 || heard(&pods.Items[0]) < number || heard(&sets.Items[0]) < number {
			return errors.New("not heard yet")
		}
		return nil
	})
}

func heard(o metav1.Object) int {
	n, err := strconv.Atoi(o.GetAnnotations()[echo])
	if err != nil {
		return 0
	}
	return n
}

// listen notes when API servers hear again after each absence, until ctx ends.
func (g *ground) listen(ctx context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	for {
		select {
		case nth := <-g.returned:
			listening.Go(func() { g.awaitEcho(ctx, nth, g.client, func(a *absence) { a.heard = time.Now() }) })
			listening.Go(func() { g.awaitEcho(ctx, nth, g.lags, func(a *absence) { a.heardLate = time.Now() }) })
		case <-ctx.Done():
			return
		}
	}
}

// awaitEcho notes that an API server has heard something that was written after an absence.
func (g *ground) awaitEcho(ctx context.Context, nth int, client kubernetes.Interface, note func(*absence)) {
	number, err := g.call(ctx)
	if err != nil || echoed(ctx, client, number) != nil {
		return // the end
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	note(&g.gone[nth])
}
