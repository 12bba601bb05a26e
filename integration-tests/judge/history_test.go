package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// history is a test input that is built event by event, a tenth of a second apart. Its namespace opted
// in, and its zones have a newer template than their pods.
type history struct {
	namespace string
	events    []Event
	requests  []Request
	now       time.Time
	pods      map[string]Pod
	versions  map[string]uint64 // of the last event of each pod
	zones     map[string]Zone

	zoneVersions map[string]uint64 // of the last event of each zone
}

const (
	operatorUser = "system:serviceaccount:lockstep-system:lockstep"
	optIn        = "lockstep.dev/enabled"
)

var clusterWide = Operator{
	User: operatorUser, Selector: labels.SelectorFromSet(labels.Set{optIn: "true"}), LeadershipNamespace: "lockstep-system",
}

// operatorAgent is the user agent of the operator.
const operatorAgent = "lockstep/first"

// historyStart is the time at which newHistory ends and a test begins.
var historyStart = newHistory().now

// staleFor returns a window from the start in which caches receive nothing.
func staleFor(d time.Duration) Window { return Window{From: historyStart, To: historyStart.Add(d)} }

// delayedBy delays all events of the caches.
func delayedBy(d time.Duration) Window {
	return Window{From: historyStart, To: historyStart.Add(time.Hour), Delay: d}
}

func newHistory() *history { return newHistoryIn("n") }

// newUnwatchedHistory returns a history of a namespace without watches.
func newUnwatchedHistory(namespace string) *history {
	return &history{namespace: namespace, now: historyStart}
}

func newHistoryIn(namespace string) *history {
	s := &history{
		namespace: namespace, now: time.Unix(0, 0),
		pods: map[string]Pod{}, versions: map[string]uint64{}, zones: map[string]Zone{}, zoneVersions: map[string]uint64{},
	}
	s.label("true")
	for _, zone := range []string{"zone-1", "zone-2"} {
		s.zone(zone, func(z *Zone) { z.Revision = "old" })
		s.pod(zone+"-0", nil)
		s.pod(zone+"-1", nil)
		s.zone(zone, func(z *Zone) { z.Revision = "new" })
	}
	return s.after(time.Minute)
}

// readyAgainAfter returns a history in which a pod of zone-1 was rolled, became ready, and became
// ready again after the delay.
func readyAgainAfter(delay time.Duration) *history {
	return newHistory().zone("zone-1", setMinReady).after(time.Minute).roll("zone-1", "zone-1-0").after(delay-300*time.Millisecond).
		pod("zone-1-0", func(p *Pod) { p.ReadySince = time.Time{} })
}

// newlyReady returns a history in which pods of zone-1 became ready a moment ago.
func newlyReady(pods ...string) *history {
	s := newHistory().zone("zone-1", setMinReady).after(time.Minute)
	for _, pod := range pods {
		s.pod(pod, setNotReady).pod(pod, func(p *Pod) { p.Ready = true })
	}
	return s.after(2 * time.Second)
}

func (h *history) after(d time.Duration) *history { h.now = h.now.Add(d); return h }

func (h *history) add(e Event) *history {
	h.after(100 * time.Millisecond)
	e.Version, e.At, e.Namespace = uint64(len(h.events)+1), h.now, h.namespace
	h.events = append(h.events, e)
	return h
}

// label sets the label of the namespace; an empty value removes it.
func (h *history) label(value string) *history {
	home := &NamespaceState{Labels: map[string]string{"example.com/other": "true"}}
	if value != "" {
		home.Labels[optIn] = value
	}
	return h.add(Event{NamespaceState: home})
}

func (h *history) zone(name string, change func(*Zone)) *history {
	z, known := h.zones[name]
	if !known {
		z = Zone{Name: name, UID: name, Group: "g", Grouped: true, Replicas: 2, MaxUnavailable: 1, OnDelete: true}
	}
	change(&z)
	h.zones[name] = z
	h.add(Event{Zone: &z})
	h.zoneVersions[name] = last(h.events).Version
	return h
}

func (h *history) pod(name string, change func(*Pod)) *history {
	p, known := h.pods[name]
	if !known {
		zone, _, _ := ordinalOf(name)
		p = Pod{Name: name, UID: name + "@old", Owner: zone, Revision: "old", Ready: true}
	}
	if change != nil {
		change(&p)
	}
	if !p.Ready {
		p.ReadySince = time.Time{}
	} else if p.ReadySince.IsZero() {
		p.ReadySince = h.now
	}
	h.pods[name] = p
	h.add(Event{Pod: &p})
	h.versions[name] = last(h.events).Version
	return h
}

// holdForRollout adds a Lease with a rollout of the zone and intents for the pods.
func (h *history) holdForRollout(zone string, pods ...string) *history {
	return h.holdForRolloutIn("g", zone, pods...)
}

// holdForRolloutIn is holdForRollout in another group.
func (h *history) holdForRolloutIn(group, zone string, pods ...string) *history {
	var intents []PodIntent
	for _, pod := range pods {
		intents = append(intents, h.intentOf(pod))
	}
	return h.holdOf(group, "rollout/"+zone, intents...)
}

// withEarlierIntents adds a Lease before the start of the history that contains intents for all
// deletions of the operators.
func (h *history) withEarlierIntents() *history {
	var intents []PodIntent
	holder := ""
	for _, r := range h.requests {
		if _, ours := (Rules{Operators: []Operator{clusterWide}}).operator(r.User); ours && r.deletesPod() {
			zone, _, _ := ordinalOf(r.Name)
			holder, intents = "rollout/"+zone, append(intents, PodIntent{r.Name, r.RequiredUID, r.RequiredVersion})
		}
	}
	h.hold(holder, intents...)
	f := &h.events[len(h.events)-1]
	f.Version, f.At = 0, historyStart.Add(-time.Minute)
	return h
}

// intendDownscale adds a Lease with the intent to scale a zone down to one pod.
func (h *history) intendDownscale(zone string) *history {
	return h.intendDownscaleTo(zone, 1, h.zoneVersions[zone])
}

// intendDownscaleTo is intendDownscale with a number of pods and the required version.
func (h *history) intendDownscaleTo(zone string, to int, version uint64) *history {
	intent := DownscaleIntent{Zone: zone, UID: h.zones[zone].UID, To: to, Version: version}
	return h.add(Event{Hold: &Hold{Group: "g", Holder: "downscale/" + zone, Downscale: intent}})
}

// remove deletes a pod as the StatefulSet controller does.
func (h *history) remove(pod string) *history {
	return h.pod(pod, func(p *Pod) { p.Deleted = true })
}

// scaleTo sets spec.replicas of a zone.
func (h *history) scaleTo(zone string, replicas int) *history {
	return h.zone(zone, func(z *Zone) { z.Replicas = replicas })
}

func (h *history) intentOf(pod string) PodIntent {
	return PodIntent{pod, h.pods[pod].UID, h.versions[pod]}
}

func (h *history) hold(holder string, intents ...PodIntent) *history {
	return h.holdOf("g", holder, intents...)
}

func (h *history) holdOf(group, holder string, intents ...PodIntent) *history {
	return h.add(Event{Hold: &Hold{Group: group, Holder: holder, Intents: intents}})
}

// request adds a request of the operator to the audit log.
func (h *history) request(r Request) *history {
	r.At, r.Namespace = h.now, h.namespace
	if r.User == "" {
		r.User, r.Agent = operatorUser, operatorAgent
	}
	h.requests = append(h.requests, r)
	return h
}

func (h *history) requestDelete(pod string, change func(*Request)) *history {
	r := Request{
		Verb: "delete", Resource: "pods", Name: pod, Code: 200, Ended: h.now,
		UID: h.pods[pod].UID, RequiredUID: h.pods[pod].UID, RequiredVersion: h.versions[pod],
	}
	if change != nil {
		change(&r)
	}
	return h.request(r)
}

// delete deletes a pod as the operator.
func (h *history) delete(pod string) *history { return h.requestDelete(pod, nil).terminate(pod) }

// deleteByOther deletes a pod as another user, without preconditions.
func (h *history) deleteByOther(pod string) *history {
	return h.requestDelete(pod, func(r *Request) { r.User, r.RequiredUID, r.RequiredVersion = "another-client", "", 0 }).terminate(pod)
}

// requestEviction adds an eviction by another user to the audit log.
func (h *history) requestEviction(pod string, change func(*Request)) *history {
	r := Request{
		Verb: "create", Resource: "pods/eviction", Name: pod, Code: 201, User: "another-client",
		RequiredUID: h.pods[pod].UID, Ended: h.now.Add(time.Second),
	}
	if change != nil {
		change(&r)
	}
	return h.request(r)
}

// evict evicts a pod as another user.
func (h *history) evict(pod string) *history { return h.requestEviction(pod, nil).terminate(pod) }

// holdForEviction adds a Lease with an eviction in the zone and intents for the pods.
func (h *history) holdForEviction(zone string, pods ...string) *history {
	var intents []PodIntent
	for _, pod := range pods {
		intents = append(intents, h.intentOf(pod))
	}
	return h.hold("eviction/"+zone, intents...)
}

func (h *history) terminate(pod string) *history {
	return h.pod(pod, func(p *Pod) { p.Terminating = true })
}

// deleteAtOnce deletes a pod as the operator, without a terminating state between.
func (h *history) deleteAtOnce(pod string) *history {
	return h.requestDelete(pod, nil).pod(pod, func(p *Pod) { p.Deleted = true })
}

func (h *history) replace(pod string, ready bool) *history {
	h.pod(pod, func(p *Pod) { p.Deleted = true })
	return h.pod(pod, func(p *Pod) {
		p.UID, p.Revision = pod+"@new", "new"
		p.Ready, p.ReadySince, p.Terminating, p.Deleted = ready, time.Time{}, false, false
	})
}

// roll deletes and replaces one pod as a rollout does.
func (h *history) roll(zone, pod string) *history {
	return h.holdForRollout(zone, pod).delete(pod).replace(pod, true)
}

func (h *history) rollZone(zone string) *history {
	return h.roll(zone, zone+"-0").roll(zone, zone+"-1").hold("")
}

// merge adds the events and requests of another history.
func (h *history) merge(other *history) *history {
	h.events = append(h.events, other.events...)
	h.requests = append(h.requests, other.requests...)
	return h
}

// addGroup adds another group with one zone of two outdated pods.
func (h *history) addGroup(group, zone string) *history {
	h.zone(zone, func(z *Zone) { z.Group, z.Revision = group, "new" })
	return h.pod(zone+"-0", nil).pod(zone+"-1", nil).after(3 * time.Second)
}
