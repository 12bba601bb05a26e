package walk

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// These methods answer the requests of an observe.Observer. An Observer can send several requests at the
// same time; each of them has a latency of its own.

// AppsV1 implements kubernetes.Interface.
func (c client) AppsV1() appsclient.AppsV1Interface { return apps{c: c} }

type apps struct {
	appsclient.AppsV1Interface

	c client
}

// StatefulSets implements appsclient.AppsV1Interface.
func (a apps) StatefulSets(namespace string) appsclient.StatefulSetInterface {
	return statefulSets{c: a.c, namespace: namespace}
}

type statefulSets struct {
	appsclient.StatefulSetInterface

	c         client
	namespace string
}

// List implements appsclient.StatefulSetInterface.
func (s statefulSets) List(ctx context.Context, o metav1.ListOptions) (*appsv1.StatefulSetList, error) {
	return doRequest(ctx, s.c, "list StatefulSets "+o.LabelSelector, func() (*appsv1.StatefulSetList, error) {
		selected, list := s.c.selector(o), &appsv1.StatefulSetList{}
		list.ResourceVersion = s.c.version.String()
		for g := range s.c.groupsOf(s.namespace) {
			for n, z := range g.zones {
				if set := z.object(g, n); set != nil && selected.Matches(labels.Set(set.Labels)) {
					list.Items = append(list.Items, *set)
				}
			}
		}
		return list, nil
	})
}

// Get implements appsclient.StatefulSetInterface.
func (s statefulSets) Get(ctx context.Context, name string, _ metav1.GetOptions) (*appsv1.StatefulSet, error) {
	return doRequest(ctx, s.c, "get StatefulSet "+name, func() (*appsv1.StatefulSet, error) {
		for g := range s.c.groupsOf(s.namespace) {
			for n, z := range g.zones {
				if set := z.object(g, n); set != nil && z.Name == name {
					return set, nil
				}
			}
		}
		return nil, apierrors.NewNotFound(appsv1.Resource("statefulsets"), name)
	})
}

// Pods implements coreclient.CoreV1Interface.
func (c core) Pods(namespace string) coreclient.PodInterface {
	return pods{c: c.c, namespace: namespace}
}

type pods struct {
	coreclient.PodInterface

	c         client
	namespace string
}

// List implements coreclient.PodInterface.
func (l pods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	return doRequest(ctx, l.c, "list pods "+o.LabelSelector, func() (*corev1.PodList, error) {
		selected, list := l.c.selector(o), &corev1.PodList{}
		list.ResourceVersion = l.c.version.String()
		for _, p := range l.c.podsOf(l.namespace) {
			if selected.Matches(labels.Set(p.Labels)) {
				list.Items = append(list.Items, *p)
			}
		}
		return list, nil
	})
}

// Get implements coreclient.PodInterface.
func (l pods) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return doRequest(ctx, l.c, "get pod "+name, func() (*corev1.Pod, error) {
		for _, p := range l.c.podsOf(l.namespace) {
			if p.Name == name {
				return p, nil
			}
		}
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	})
}

func (s *server) podsOf(namespace string) []*corev1.Pod {
	var all []*corev1.Pod
	for g := range s.groupsOf(namespace) {
		for n := range g.pods {
			for _, p := range g.pods[n] {
				if p != nil {
					all = append(all, p.object(g, n))
				}
			}
		}
	}
	return all
}

// List implements coordinationclient.LeaseInterface.
func (l leases) List(ctx context.Context, _ metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	return doRequest(ctx, l.c, "list Leases", func() (*coordinationv1.LeaseList, error) {
		list := &coordinationv1.LeaseList{}
		list.ResourceVersion = l.c.version.String()
		for g := range l.c.groupsOf(l.namespace) {
			if g.stored != nil {
				list.Items = append(list.Items, *g.stored)
			}
		}
		return list, nil
	})
}

// selector parses the selector of a list.
func (w *walk) selector(o metav1.ListOptions) labels.Selector {
	known, is := w.selectors[o.LabelSelector]
	if !is {
		var err error
		if known, err = labels.Parse(o.LabelSelector); err != nil {
			panic(fmt.Sprintf("walk: the selector of a list: %v", err))
		}
		w.selectors[o.LabelSelector] = known
	}
	return known
}

// noDeadline is a context for live reads without a time limit, because the walk does not rely on their
// deadline. It reports a deadline, so that the read sets no other one, but never ends because of it.
type noDeadline struct{ context.Context } //nolint:containedctx // it is one

// Deadline implements context.Context.
func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, true }

// newObserver returns the Observer of a process that starts.
func (p *process) newObserver() *observe.Observer {
	o, err := observe.New(client{walk: p.walk, by: p}, p.leases, observe.Options{
		Selector: labels.Everything(), Now: p.wallNow, Budgets: budgets{p.walk},
	})
	if err != nil {
		panic(fmt.Sprintf("walk: an Observer: %v", err))
	}
	for _, g := range p.groups {
		if p.optedOut[g.key.Namespace] {
			continue
		}
		must(o.PutInCache(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.key.Namespace}}))
	}
	return o
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("walk: the caches of a process: %v", err))
	}
}

// show updates the cache of pods or of StatefulSets with a change.
func (p *process) show(k kind, c change) {
	g := p.groups[c.group]
	switch {
	case k == podKind && c.pod != nil:
		must(p.observer.PutInCache(c.pod.object(g, c.zone)))
	case k == podKind:
		name := plan.PodName(g.zones[c.zone].Name, c.ordinal)
		must(p.observer.RemoveFromCache(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.key.Namespace, Name: name}}))
	case k == zoneKind && c.set.absence != orphaned:
		must(p.observer.PutInCache(c.set.object(g, c.zone)))
	case k == zoneKind:
		must(p.observer.RemoveFromCache(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: g.key.Namespace, Name: c.set.Name}}))
	}
}

// showUpTo sets the version up to which the cache of pods or of StatefulSets is complete.
func (p *process) showUpTo(k kind, version plan.Version) {
	switch k {
	case podKind:
		must(p.observer.AdvanceCache(version, &corev1.Pod{}))
	case zoneKind:
		must(p.observer.AdvanceCache(version, &appsv1.StatefulSet{}))
	case leaseKind, allKinds:
	}
}
