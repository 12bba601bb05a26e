// Command bareloop rolls groups of StatefulSets as fast as a watch allows. It has no hold, no budget,
// no live reads, no standby and no webhook.
//
//	bareloop KUBECONFIG SELECTOR
//
// It manages the namespaces with these labels. It deletes the next pod of a group when its caches show
// all of them ready. It is the smallest operator that the bench can compare with lockstep (bench
// -contender). Unlike the bench's own floor, it has to find out what to do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	groupLabel = "rollout-group"
	workers    = 20
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bareloop KUBECONFIG SELECTOR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
		os.Exit(1)
	}
}

// group is the StatefulSets of one namespace that are rolled together.
type group struct{ namespace, name string }

// loop rolls the groups in its queue.
type loop struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	sets       appslisters.StatefulSetLister
	pods       corelisters.PodLister
	queue      workqueue.TypedRateLimitingInterface[group]
}

// run rolls groups until the context ends.
func run(ctx context.Context, kubeconfig, selector string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no client-side limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	managed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = selector
	}))
	shared := informers.NewSharedInformerFactory(client, 0)
	sets, pods := shared.Apps().V1().StatefulSets(), shared.Core().V1().Pods()
	l := &loop{
		client: client, namespaces: managed.Core().V1().Namespaces().Lister(), sets: sets.Lister(), pods: pods.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[group]()),
	}
	for _, informer := range []cache.SharedIndexInformer{sets.Informer(), pods.Informer()} {
		if _, err := informer.AddEventHandler(l.enqueueOnEvent()); err != nil {
			return err
		}
	}
	for _, factory := range []informers.SharedInformerFactory{managed, shared} {
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		factory.WaitForCacheSync(ctx.Done())
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	all.Wait()
	return nil
}

func (l *loop) enqueueOnEvent() cache.ResourceEventHandler {
	enqueue := func(object any) {
		if of, ok := object.(metav1.Object); ok && of.GetLabels()[groupLabel] != "" {
			l.queue.Add(group{of.GetNamespace(), of.GetLabels()[groupLabel]})
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue}
}

func (l *loop) work(ctx context.Context) {
	for {
		g, ended := l.queue.Get()
		if ended {
			return
		}
		if err := l.step(ctx, g); err != nil {
			fmt.Fprintf(os.Stderr, "roll %s/%s: %v\n", g.namespace, g.name, err)
			l.queue.AddRateLimited(g)
		} else {
			l.queue.Forget(g)
		}
		l.queue.Done(g)
	}
}

// step deletes the next pod of a group, if the group has one.
func (l *loop) step(ctx context.Context, g group) error {
	if _, err := l.namespaces.Get(g.namespace); apierrors.IsNotFound(err) {
		return nil // the namespace is not managed
	}
	sets, err := l.sets.StatefulSets(g.namespace).List(labels.SelectorFromSet(labels.Set{groupLabel: g.name}))
	if err != nil {
		return err
	}
	var zones []zone
	for _, set := range sets {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err != nil {
			return err
		}
		pods, err := l.pods.Pods(g.namespace).List(selector)
		if err != nil {
			return err
		}
		zones = append(zones, zone{set, pods})
	}
	pod := next(zones)
	if pod == nil {
		return nil
	}
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	err = l.client.CoreV1().Pods(g.namespace).Delete(ctx, pod.Name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the pod was deleted, and its event will follow
	}
	return err
}

// zone is a StatefulSet with its pods.
type zone struct {
	set  *appsv1.StatefulSet
	pods []*corev1.Pod
}

// next returns the first pod, by zone and name, that does not have the latest revision of its zone. It
// returns nil while a pod is missing or not ready.
func next(zones []zone) *corev1.Pod {
	slices.SortFunc(zones, func(a, b zone) int { return strings.Compare(a.set.Name, b.set.Name) })
	var first *corev1.Pod
	for _, z := range zones {
		if z.set.Status.ObservedGeneration < z.set.Generation || len(z.pods) < int(*z.set.Spec.Replicas) {
			return nil
		}
		slices.SortFunc(z.pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for _, pod := range z.pods {
			if pod.DeletionTimestamp != nil || !isReady(pod) {
				return nil
			}
			if first == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != z.set.Status.UpdateRevision {
				first = pod
			}
		}
	}
	return first
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
