package main

import (
	"fmt"
	"time"
)

// pod is a pod as the watch showed it last.
type pod struct {
	namespace, zone, name string
	uid, revision         string
	ready, leaving        bool
}

// up reports whether the pod serves.
func (p pod) up() bool { return p.ready && !p.leaving }

// set is what the status of a zone's StatefulSet says.
type set struct {
	namespace, name string
	updateRevision  string
	currentRevision string
}

// lease is a Lease: who holds the group and how many pods are noted.
type lease struct {
	namespace, name string
	holder          string
	intents         int
}

// sighting is one message of a watch; exactly one of pod, set and lease is not nil.
type sighting struct {
	at    time.Time // when it reached us
	gone  bool      // the object was deleted; its last state is shown
	pod   *pod
	set   *set
	lease *lease
}

// deed is what a sighting means.
type deed int

const (
	created deed = iota
	taken        // a pod that was there begins to leave
	gone
	becameReady
	becameUnready // without leaving
	adopted       // the update revision is the current one
	held          // the holder of the group is another one, or none
)

// change is one thing that happened.
type change struct {
	at        time.Time
	deed      deed
	namespace string
	zone      string
	pod       pod    // the pod, as it was before it was taken
	holder    string // of held
	lease     string // its name
}

// world is what the demo has seen of its namespaces so far.
type world struct {
	namespaces []*namespace
}

type namespace struct {
	name    string
	optedIn bool
	zones   []*zone
	leases  map[string]lease
}

type zone struct {
	name            string
	replicas        int
	updateRevision  string
	currentRevision string
	before          string // the revision when the rollout began; empty until then
	pods            map[string]pod
}

// apply takes in what a watch showed and returns what that changed. What does not
// belong to the demo changes nothing.
func (w *world) apply(s sighting) []change {
	switch {
	case s.pod != nil:
		if z := w.zone(s.pod.namespace, s.pod.zone); z != nil {
			return z.applyPod(s)
		}
	case s.set != nil:
		if z := w.zone(s.set.namespace, s.set.name); z != nil {
			return z.applySet(s)
		}
	case s.lease != nil:
		if n := w.namespace(s.lease.namespace); n != nil {
			return n.applyLease(s)
		}
	}
	return nil
}

func (z *zone) applyPod(s sighting) []change {
	now := *s.pod
	was, known := z.pods[now.name]
	var changes []change
	add := func(d deed, p pod) {
		changes = append(changes, change{at: s.at, deed: d, namespace: p.namespace, zone: z.name, pod: p})
	}
	if known && (s.gone || was.uid != now.uid) {
		if !was.leaving {
			add(taken, was)
		}
		add(gone, was)
		delete(z.pods, now.name)
		was, known = pod{}, false
	}
	if s.gone {
		return changes
	}
	z.pods[now.name] = now
	if !known {
		add(created, now)
	}
	switch {
	case known && now.leaving && !was.leaving:
		add(taken, was)
	case now.up() && !was.up():
		add(becameReady, now)
	case was.up() && !now.up():
		add(becameUnready, now)
	}
	return changes
}

func (z *zone) applySet(s sighting) []change {
	wasAdopted := z.adopted()
	z.updateRevision, z.currentRevision = s.set.updateRevision, s.set.currentRevision
	if wasAdopted || !z.adopted() {
		return nil
	}
	return []change{{at: s.at, deed: adopted, namespace: s.set.namespace, zone: z.name}}
}

func (n *namespace) applyLease(s sighting) []change {
	was := n.leases[s.lease.name]
	now := *s.lease
	if s.gone {
		delete(n.leases, now.name)
		now.holder = ""
	} else {
		n.leases[now.name] = now
	}
	if was.holder == now.holder && was.name == now.name {
		return nil
	}
	return []change{{at: s.at, deed: held, namespace: n.name, holder: now.holder, lease: now.name}}
}

// begin notes the revisions that the rollout starts from.
func (w *world) begin() {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			z.before = z.updateRevision
		}
	}
}

// ready reports whether all pods of all namespaces exist and serve, and all of them
// run the revision that their StatefulSet knows.
func (w *world) ready() bool {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			if z.updateRevision == "" || z.currentRevision != z.updateRevision || len(z.down()) > 0 {
				return false
			}
		}
	}
	return true
}

// podsUp counts the pods that serve and those that should.
func (w *world) podsUp() (up, all int) {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			all += z.replicas
			up += z.replicas - len(z.down())
		}
	}
	return up, all
}

// finished reports whether every namespace that opted in reached its goal.
func (w *world) finished() bool {
	for _, n := range w.namespaces {
		if n.optedIn && !n.finished() {
			return false
		}
	}
	return true
}

func (n *namespace) finished() bool {
	for _, z := range n.zones {
		if !z.finished() {
			return false
		}
	}
	return n.holder() == ""
}

// renewed counts pods of the new revision that serve.
func (n *namespace) renewed() int {
	count := 0
	for _, z := range n.zones {
		count += z.renewed()
	}
	return count
}

// holder is who holds the group, empty when nobody does.
func (n *namespace) holder() string {
	for _, l := range n.leases {
		if l.holder != "" {
			return l.holder
		}
	}
	return ""
}

// intents counts the pods noted in the namespace's Leases.
func (n *namespace) intents() int {
	count := 0
	for _, l := range n.leases {
		count += l.intents
	}
	return count
}

// adopted reports whether the new revision is the current one.
func (z *zone) adopted() bool {
	return z.before != "" && z.updateRevision != z.before && z.currentRevision == z.updateRevision
}

// finished reports whether all pods run the new revision and serve, and the
// StatefulSet says so.
func (z *zone) finished() bool { return z.adopted() && z.renewed() == z.replicas }

// renewed counts pods of the new revision that serve.
func (z *zone) renewed() int {
	count := 0
	for i := range z.replicas {
		if p := z.pods[z.podName(i)]; p.up() && z.isNew(p) {
			count++
		}
	}
	return count
}

// isNew reports whether the pod was made after the rollout began. It does not need
// the StatefulSet's status, which another watch shows, perhaps later.
func (z *zone) isNew(p pod) bool { return z.before != "" && p.revision != z.before }

// down names the pods that should serve and do not, missing ones included.
func (z *zone) down() []string {
	var names []string
	for i := range z.replicas {
		if name := z.podName(i); !z.pods[name].up() {
			names = append(names, name)
		}
	}
	return names
}

func (z *zone) podName(ordinal int) string { return fmt.Sprintf("%s-%d", z.name, ordinal) }

func (w *world) namespace(name string) *namespace {
	for _, n := range w.namespaces {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (w *world) zone(namespace, name string) *zone {
	n := w.namespace(namespace)
	if n == nil {
		return nil
	}
	for _, z := range n.zones {
		if z.name == name {
			return z
		}
	}
	return nil
}
