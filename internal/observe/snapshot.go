package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Cached returns a group as the caches show it. It makes no request.
func (o *Observer) Cached(key plan.Key) plan.Snapshot {
	s := plan.Snapshot{
		Key:  key,
		Now:  o.now(),
		Hold: o.holds.Cached(key),
		// The versions are read before what they vouch for.
		ZonesAt: seen(o.zones),
		PodsAt:  seen(o.pods),
	}
	for _, r := range lookup[*zoneRecord](o.zones, byGroup, key.String()) {
		if r.key() == key {
			s.Zones = append(s.Zones, o.withPods(r.zone))
		}
	}
	for _, name := range strays(s) {
		if pod, ok := o.cachedPod(key.Namespace, name); ok {
			s.Strays = append(s.Strays, pod)
		}
	}
	arrange(&s)
	return s
}

// seen returns the version up to which a cache has followed its watch.
func seen(informer cache.SharedIndexInformer) plan.Version {
	return version(informer.GetStore().LastStoreSyncResourceVersion())
}

func (o *Observer) withPods(z plan.Zone) plan.Zone {
	records := lookup[*podRecord](o.pods, byOwner, z.UID)
	z.Pods = slices.Grow(z.Pods, len(records)) // what is reported last is kept
	for _, r := range records {
		z.Pods = append(z.Pods, r.pod)
	}
	return z
}

func (o *Observer) cachedPod(namespace, name string) (plan.Pod, bool) {
	item, exists, err := o.pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return plan.Pod{}, false
	}
	kept, ok := item.(keptPod)
	if !ok {
		return plan.Pod{}, false
	}
	return kept.view(), true
}

// Live reads a group from the API server: its hold first, then its
// StatefulSets, then the pods they select, each of them consistently.
func (o *Observer) Live(ctx context.Context, key plan.Key) (plan.Snapshot, error) {
	held, err := o.holds.Read(ctx, key)
	if err != nil {
		return plan.Snapshot{}, err
	}
	sets, err := o.liveSets(ctx, key)
	if err != nil {
		return plan.Snapshot{}, err
	}
	s := plan.Snapshot{Key: key, Live: true, Hold: held, ZonesAt: versionOf(sets)}
	if s.Zones, s.PodsAt, err = o.liveZones(ctx, sets.Items); err != nil {
		return plan.Snapshot{}, err
	}
	if err := o.liveStrays(ctx, &s); err != nil {
		return plan.Snapshot{}, err
	}
	s.Now = o.now()
	arrange(&s)
	return s, nil
}

func (o *Observer) liveSets(ctx context.Context, key plan.Key) (*appsv1.StatefulSetList, error) {
	options, err := selecting(key)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	list, err := o.client.AppsV1().StatefulSets(key.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets of %s: %w", key, err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(set appsv1.StatefulSet) bool {
		_, grouped := set.Labels[contract.GroupLabel]
		return grouped == key.Alone // it has joined a group meanwhile
	})
	return list, nil
}

// selecting asks for the StatefulSets of a group.
func selecting(key plan.Key) (metav1.ListOptions, error) {
	if key.Alone {
		return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Group).String()}, nil
	}
	inGroup, err := labels.NewRequirement(contract.GroupLabel, selection.Equals, []string{key.Group})
	if err != nil {
		return metav1.ListOptions{}, fmt.Errorf("select StatefulSets of %s: %w", key, err)
	}
	return metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*inGroup).String()}, nil
}

// parallelLists bounds the lists of one look that are under way at a time.
const parallelLists = 10

// liveZones lists the pods of all zones at the same time, since each list may
// have to wait for the API server's own cache. It returns the oldest version.
func (o *Observer) liveZones(ctx context.Context, sets []appsv1.StatefulSet) ([]plan.Zone, plan.Version, error) {
	if len(sets) == 0 {
		return nil, 0, nil
	}
	zones, versions, errs := make([]plan.Zone, len(sets)), make([]plan.Version, len(sets)), make([]error, len(sets))
	places := make(chan struct{}, parallelLists)
	var listing sync.WaitGroup
	for i := range sets {
		places <- struct{}{}
		listing.Go(func() {
			defer func() { <-places }()
			zones[i], versions[i], errs[i] = o.liveZone(ctx, &sets[i])
		})
	}
	listing.Wait()
	for i := range zones {
		zones[i].PodsAt = versions[i]
	}
	return zones, slices.Min(versions), errors.Join(errs...)
}

func (o *Observer) liveZone(ctx context.Context, set *appsv1.StatefulSet) (plan.Zone, plan.Version, error) {
	z := zoneOf(set)
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return z, 0, fmt.Errorf("select pods of %s/%s: %w", set.Namespace, set.Name, err)
	}
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	list, err := o.client.CoreV1().Pods(set.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return z, 0, fmt.Errorf("list pods of %s/%s: %w", set.Namespace, set.Name, err)
	}
	for i := range list.Items {
		if owner, ordinal, ok := memberOf(&list.Items[i]); ok && owner == z.UID {
			z.Pods = append(z.Pods, podOf(&list.Items[i], ordinal))
		}
	}
	return z, version(list.ResourceVersion), nil
}

func (o *Observer) liveStrays(ctx context.Context, s *plan.Snapshot) error {
	for _, name := range strays(*s) {
		pod, exists, err := o.livePod(ctx, s.Key.Namespace, name)
		if err != nil {
			return err
		}
		if exists {
			s.Strays = append(s.Strays, pod)
		}
	}
	if s.PodsAt == 0 { // no zone was listed; what was read by name is current
		s.PodsAt = ^plan.Version(0)
	}
	return nil
}

func (o *Observer) livePod(ctx context.Context, namespace, name string) (plan.Pod, bool, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	pod, err := o.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return plan.Pod{}, false, nil
	}
	if err != nil {
		return plan.Pod{}, false, fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	if _, ordinal, ok := memberOf(pod); ok {
		return podOf(pod, ordinal), true, nil
	}
	return strangerOf(pod), true, nil
}

// strays returns the names of noted pods that no zone of the snapshot shows.
func strays(s plan.Snapshot) []string {
	var names []string
	for _, intent := range s.Hold.Intents {
		if _, shown := s.Pod(intent.Pod); !shown {
			names = append(names, intent.Pod)
		}
	}
	return names
}

// arrange brings zones and pods into the order that a Snapshot promises.
func arrange(s *plan.Snapshot) {
	slices.SortFunc(s.Zones, func(a, b plan.Zone) int { return plan.CompareNatural(a.Name, b.Name) })
	for _, z := range s.Zones {
		slices.SortFunc(z.Pods, func(a, b plan.Pod) int {
			return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Name, b.Name))
		})
	}
}
