package main

import (
	"fmt"
	"time"
)

// pod is the last observed state of a pod.
type pod struct {
	namespace, zone, name string
	uid, revision         string
	ready, terminating    bool
}

// serving reports whether the pod is ready and not terminating.
func (p pod) serving() bool { return p.ready && !p.terminating }

// set is the status of a zone's StatefulSet.
type set struct {
	namespace, name string
	updateRevision  string
	currentRevision string
}

// lease is the holder and the number of intents in a Lease.
type lease struct {
	namespace, name string
	holder          string
	intents         int
}

// stateChange is one watch event. Exactly one of pod, set and lease is not nil.
type stateChange struct {
	at      time.Time // when it arrived
	deleted bool      // the object was deleted; this is its last state
	pod     *pod
	set     *set
	lease   *lease
}

// changeType is the type of a change.
type changeType int

const (
	podCreated     changeType = iota
	podTerminating            // a pod begins to terminate
	podDeleted
	podReady
	podUnready      // without terminating
	revisionAdopted // the update revision became the current one
	holderChanged   // another holder, or none
)

// change is one change.
type change struct {
	at        time.Time
	kind      changeType
	namespace string
	zone      string
	pod       pod    // the pod as it was before its termination
	holder    string // of holderChanged
	lease     string // name of the Lease
}

// clusterState is the observed state of the demo's namespaces.
type clusterState struct {
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
	oldRevision     string // the revision before the rollout; empty until the rollout begins
	pods            map[string]pod
}

// apply applies a watch event and returns the resulting changes. It ignores objects that do not belong
// to the demo.
func (w *clusterState) apply(s stateChange) []change {
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

func (z *zone) applyPod(s stateChange) []change {
	now := *s.pod
	previous, known := z.pods[now.name]
	var changes []change
	add := func(d changeType, p pod) {
		changes = append(changes, change{at: s.at, kind: d, namespace: p.namespace, zone: z.name, pod: p})
	}
	if known && (s.deleted || previous.uid != now.uid) {
		if !previous.terminating {
			add(podTerminating, previous)
		}
		add(podDeleted, previous)
		delete(z.pods, now.name)
		previous, known = pod{}, false
	}
	if s.deleted {
		return changes
	}
	z.pods[now.name] = now
	if !known {
		add(podCreated, now)
	}
	switch {
	case known && now.terminating && !previous.terminating:
		add(podTerminating, previous)
	case now.serving() && !previous.serving():
		add(podReady, now)
	case previous.serving() && !now.serving():
		add(podUnready, now)
	}
	return changes
}

func (z *zone) applySet(s stateChange) []change {
	wasAdopted := z.adopted()
	z.updateRevision, z.currentRevision = s.set.updateRevision, s.set.currentRevision
	if wasAdopted || !z.adopted() {
		return nil
	}
	return []change{{at: s.at, kind: revisionAdopted, namespace: s.set.namespace, zone: z.name}}
}

func (n *namespace) applyLease(s stateChange) []change {
	previous := n.leases[s.lease.name]
	now := *s.lease
	if s.deleted {
		delete(n.leases, now.name)
		now.holder = ""
	} else {
		n.leases[now.name] = now
	}
	if previous.holder == now.holder && previous.name == now.name {
		return nil
	}
	return []change{{at: s.at, kind: holderChanged, namespace: n.name, holder: now.holder, lease: now.name}}
}

// startRollout records the revisions before the rollout.
func (w *clusterState) startRollout() {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			z.oldRevision = z.updateRevision
		}
	}
}

// ready reports whether all pods of all namespaces are ready and have the current revision.
func (w *clusterState) ready() bool {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			if z.updateRevision == "" || z.currentRevision != z.updateRevision || len(z.unavailable()) > 0 {
				return false
			}
		}
	}
	return true
}

// countServing returns the numbers of ready and of all desired pods.
func (w *clusterState) countServing() (up, all int) {
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			all += z.replicas
			up += z.replicas - len(z.unavailable())
		}
	}
	return up, all
}

// finished reports whether every opted-in namespace has reached its goal.
func (w *clusterState) finished() bool {
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

// updatedPods returns the number of ready pods of the new revision.
func (n *namespace) updatedPods() int {
	count := 0
	for _, z := range n.zones {
		count += z.updatedPods()
	}
	return count
}

// holder returns the holder of the group, or an empty string if there is none.
func (n *namespace) holder() string {
	for _, l := range n.leases {
		if l.holder != "" {
			return l.holder
		}
	}
	return ""
}

// intents returns the number of pod intents in the namespace's Leases.
func (n *namespace) intents() int {
	count := 0
	for _, l := range n.leases {
		count += l.intents
	}
	return count
}

// adopted reports whether the new revision is the current one.
func (z *zone) adopted() bool {
	return z.oldRevision != "" && z.updateRevision != z.oldRevision && z.currentRevision == z.updateRevision
}

// finished reports whether all pods are ready with the new revision, and the status of the StatefulSet
// shows it.
func (z *zone) finished() bool { return z.adopted() && z.updatedPods() == z.replicas }

// updatedPods returns the number of ready pods of the new revision.
func (z *zone) updatedPods() int {
	count := 0
	for i := range z.replicas {
		if p := z.pods[z.podName(i)]; p.serving() && z.isUpdated(p) {
			count++
		}
	}
	return count
}

// isUpdated reports whether the pod was created after the rollout began. It does not use the
// StatefulSet's status, which another watch may deliver later.
func (z *zone) isUpdated(p pod) bool { return z.oldRevision != "" && p.revision != z.oldRevision }

// unavailable returns the desired pods that are missing or not ready.
func (z *zone) unavailable() []string {
	var names []string
	for i := range z.replicas {
		if name := z.podName(i); !z.pods[name].serving() {
			names = append(names, name)
		}
	}
	return names
}

func (z *zone) podName(ordinal int) string { return fmt.Sprintf("%s-%d", z.name, ordinal) }

func (w *clusterState) namespace(name string) *namespace {
	for _, n := range w.namespaces {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (w *clusterState) zone(namespace, name string) *zone {
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
