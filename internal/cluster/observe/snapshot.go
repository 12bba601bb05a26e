package observe

import (
	"cmp"
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Cached returns a group as the caches show it. It makes no request.
func (o *Observer) Cached(key plan.Key) group.Snapshot {
	s := group.Snapshot{
		Key:  key,
		Now:  o.now(),
		Hold: group.HoldOf(o.holds.Cached(key)),
		// The versions are read before the data that they describe.
		ZonesAt: seen(o.zones),
		PodsAt:  seen(o.pods),
	}
	records := o.zonesOf(key)
	s.Zones = slices.Grow(s.Zones, len(records)) // slices.Grow keeps the capacity that the caller reported last
	for _, r := range records {
		z := o.withPods(key.Namespace, o.mirror(key, r.zone))
		z.Elsewhere = key.Kind == plan.KindBudget && r.grouped
		s.Zones = append(s.Zones, z)
	}
	s.FormerZones = o.cachedLeft(key, &s)
	for _, name := range strays(s) {
		if pod, ok := o.cachedPod(key.Namespace, name); ok {
			s.Strays = append(s.Strays, pod)
		}
	}
	arrange(&s)
	o.fill(&s)
	return s
}

// fill adds the budgets of the namespace, the answers of pods that prepare for a downscale, the
// messages to pods of zones with a delay, and the known writers of replicas.
func (o *Observer) fill(s *group.Snapshot) {
	s.Unread = !o.BudgetsKnown() // read before the budgets that it describes
	s.Budgets = o.budgetsOf(s.Key.Namespace)
	if o.messages != nil {
		o.messages.Fill(*s)
	}
	if o.preparations != nil {
		o.preparations.Fill(s)
	}
	if o.contests != nil {
		o.contests.Fill(s)
	}
}

// seen returns the version up to which a cache has followed its watch.
func seen(informer cache.SharedIndexInformer) plan.Version {
	return version(informer.GetStore().LastStoreSyncResourceVersion())
}

func (o *Observer) withPods(namespace string, z group.Zone) group.Zone {
	own, orphans := o.cachedPods(namespace, &z)
	z.Pods, z.Orphans = inPlace(own), inPlace(orphans)
	return z
}

// inPlace returns the pods in order.
func inPlace(records []*podRecord) []plan.Pod {
	pods := slices.Grow([]plan.Pod(nil), len(records))
	for _, p := range inPodOrder(records) {
		pods = append(pods, p.record.pod)
	}
	return pods
}

// orderedPod is the position of a pod in its zone. It is much smaller than the pod.
type orderedPod struct {
	ordinal int
	name    string
	record  *podRecord
}

// inPodOrder returns the records in the order of their pods.
func inPodOrder(records []*podRecord) []orderedPod {
	places := make([]orderedPod, len(records))
	for i, r := range records {
		places[i] = orderedPod{r.pod.Ordinal, r.pod.Name, r}
	}
	slices.SortFunc(places, func(a, b orderedPod) int { return inOrder(a.ordinal, b.ordinal, a.name, b.name) })
	return places
}

func (o *Observer) cachedPod(namespace, name string) (plan.Pod, bool) {
	kept, known := o.keptPod(namespace, name)
	if !known {
		return plan.Pod{}, false
	}
	return kept.view(), true
}

func (o *Observer) keptPod(namespace, name string) (kept keptPod, known bool) {
	item, exists, err := o.pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil, false
	}
	kept, known = item.(keptPod)
	return kept, known
}

// strays returns the names of pods with intents that no zone of the snapshot shows.
func strays(s group.Snapshot) []string {
	var names []string
	for _, intent := range s.Hold.Intents {
		if _, shown := s.Pod(intent.Pod); !shown {
			names = append(names, intent.Pod)
		}
	}
	return names
}

// arrange sorts zones and pods into the order that Snapshot guarantees.
func arrange(s *group.Snapshot) {
	slices.SortFunc(s.Zones, func(a, b group.Zone) int { return plan.CompareNatural(a.Name, b.Name) })
	for _, z := range s.Zones {
		slices.SortFunc(z.Pods, func(a, b plan.Pod) int { return inOrder(a.Ordinal, b.Ordinal, a.Name, b.Name) })
	}
}

func inOrder(ordinal, other int, name, otherName string) int {
	if ordinal != other {
		return cmp.Compare(ordinal, other)
	}
	return cmp.Compare(name, otherName)
}
