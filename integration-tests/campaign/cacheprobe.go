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
	// cacheProbe is the namespace and the name of a pod and a StatefulSet that no controller runs.
	// When an API server's cache shows the last writes to them, the cache is up to date again.
	cacheProbe = "echoes"
	// probeAnnotation contains the number of the last write.
	probeAnnotation = "lockstep.test/echo"
	// probeTimeout limits one attempt, so that a hanging connection does not extend an absence.
	probeTimeout = 2 * time.Second
)

// createProbes creates the objects that are written and awaited.
func (e *environment) createProbes(ctx context.Context) error {
	labels := map[string]string{"name": cacheProbe}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lockstep.test/never"}},
			Containers:      []corev1.Container{{Name: "main", Image: image(1)}},
		},
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: cacheProbe},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: cacheProbe}, Spec: template.Spec}
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	for _, create := range []attempt{
		func(ctx context.Context) error {
			_, err := e.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cacheProbe}}, metav1.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := e.client.AppsV1().StatefulSets(cacheProbe).Create(ctx, set, metav1.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := e.client.CoreV1().Pods(cacheProbe).Create(ctx, pod, metav1.CreateOptions{})
			return err
		},
	} {
		if err := retry(ctx, "create the object of the cache probe", func(ctx context.Context) error { return ignoreExisting(create(ctx)) }); err != nil {
			return err
		}
	}
	return nil
}

// writeProbe writes a new number to the probes and returns it.
func (e *environment) writeProbe(ctx context.Context) (int, error) {
	e.writing.Lock()
	defer e.writing.Unlock()
	e.cacheWrites++
	return e.cacheWrites, retry(ctx, "write for an echo", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, probeAnnotation, strconv.Itoa(e.cacheWrites))
		_, err := e.client.CoreV1().Pods(cacheProbe).Patch(ctx, cacheProbe, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		_, err = e.client.AppsV1().StatefulSets(cacheProbe).Patch(ctx, cacheProbe, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// awaitProbe waits until the caches of an API server show a number, or a later one.
func awaitProbe(ctx context.Context, client kubernetes.Interface, number int) error {
	asCached := metav1.ListOptions{ResourceVersion: "0"}
	return retry(ctx, "wait for an echo", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		pods, err := client.CoreV1().Pods(cacheProbe).List(ctx, asCached)
		if err != nil {
			return err
		}
		sets, err := client.AppsV1().StatefulSets(cacheProbe).List(ctx, asCached)
		if err != nil {
			return err
		}
		if len(pods.Items) == 0 || len(sets.Items) == 0 || probeNumber(&pods.Items[0]) < number || probeNumber(&sets.Items[0]) < number {
			return errors.New("caches are not up to date yet")
		}
		return nil
	})
}

func probeNumber(o metav1.Object) int {
	n, err := strconv.Atoi(o.GetAnnotations()[probeAnnotation])
	if err != nil {
		return 0
	}
	return n
}

// watchRecoveries records until ctx ends when the caches of API servers are up to date after each
// absence.
func (e *environment) watchRecoveries(ctx context.Context) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for {
		select {
		case nth := <-e.returned:
			waiting.Go(func() { e.recordRecovery(ctx, nth, e.client, func(a *absence) { a.cachesRecovered = time.Now() }) })
			waiting.Go(func() {
				e.recordRecovery(ctx, nth, e.laggingClient, func(a *absence) { a.laggingRecovered = time.Now() })
			})
		case <-ctx.Done():
			return
		}
	}
}

// recordRecovery records when the cache of an API server shows a write after an absence.
func (e *environment) recordRecovery(ctx context.Context, nth int, client kubernetes.Interface, record func(*absence)) {
	number, err := e.writeProbe(ctx)
	if err != nil || awaitProbe(ctx, client, number) != nil {
		return // ctx has ended
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	record(&e.absences[nth])
}
