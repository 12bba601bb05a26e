package standin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// World is the initial state: Groups × Zones × Pods ready pods, with PerNamespace groups in each
// namespace, and one more such namespace that did not opt in.
type World struct {
	Groups, PerNamespace, Zones, Pods int

	// OptIn are the labels of the namespaces that opted in.
	OptIn map[string]string
	// Spec returns the spec of a pod.
	Spec func(image, node string) corev1.PodSpec
}

// Group is a rollout group.
type Group struct{ Namespace, Name string }

// groupLabel is the label with the group of a StatefulSet.
const groupLabel = "rollout-group"

// unmanagedNamespace is the namespace that did not opt in.
const unmanagedNamespace = "bystanders"

// uidOf returns a UID that contains a number.
func uidOf(n uint64) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n))
}

// revisionOf returns the name of a revision of a StatefulSet.
func revisionOf(zone string, revision int) string { return fmt.Sprintf("%s-%010x", zone, revision) }

// populate creates all namespaces, StatefulSets and pods.
func (s *Server) populate() {
	w := s.world
	for i := range w.Groups {
		s.managed = append(s.managed, Group{fmt.Sprint("team-", i/w.PerNamespace), fmt.Sprint("store-", i)})
	}
	for i := range w.PerNamespace {
		s.unmanaged = append(s.unmanaged, Group{unmanagedNamespace, fmt.Sprint("store-", i)})
	}
	for _, g := range slices.Concat(s.managed, s.unmanaged) {
		s.addNamespace(g.Namespace)
		for zone := range w.Zones {
			s.addZone(g, zone)
		}
	}
}

func (s *Server) addNamespace(name string) {
	if _, known := s.namespaces.get("", name); known {
		return
	}
	r := namespaceRecord{name: name}
	if name != unmanagedNamespace {
		r.optIn = s.world.OptIn
	}
	s.namespaces.put(s.nextVersion(), r)
}

func (s *Server) addZone(g Group, index int) {
	pods := s.world.Pods
	z := zoneRecord{
		group: g, name: g.Name + "-zone-" + string(rune('a'+index)), node: fmt.Sprint("node-", index), spec: s.world.Spec,
		serial: s.nextVersion(), generation: 1, current: 1, pods: pods, ready: pods, updated: pods,
	}
	s.sets.put(z.serial, z)
	for ordinal := range pods {
		pod := podRecord{zone: &z, ordinal: ordinal, serial: s.nextVersion(), revision: 1, ready: true}
		s.pods.put(pod.serial, pod)
	}
}
