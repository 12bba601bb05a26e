package standin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// World is what there is: Groups × Zones × Pods pods, all of them Ready, with
// PerNamespace groups in each namespace; and one namespace more of the same kind that
// did not opt in.
type World struct {
	Groups, PerNamespace, Zones, Pods int

	// OptIn are labels of the namespaces that opted in.
	OptIn map[string]string
	// Spec is what a pod consists of.
	Spec func(image, node string) corev1.PodSpec
}

// Group is a rollout group.
type Group struct{ Namespace, Name string }

// groupLabel names the group of a StatefulSet.
const groupLabel = "rollout-group"

// bystanders is the namespace that did not opt in.
const bystanders = "bystanders"

// serial makes an UID of a number.
func serial(n uint64) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n))
}

// revisionOf names a revision of a StatefulSet.
func revisionOf(zone string, revision int) string { return fmt.Sprintf("%s-%010x", zone, revision) }

// populate makes all namespaces, StatefulSets and pods.
func (s *Server) populate() {
	w := s.world
	for i := range w.Groups {
		s.managed = append(s.managed, Group{fmt.Sprint("team-", i/w.PerNamespace), fmt.Sprint("store-", i)})
	}
	for i := range w.PerNamespace {
		s.bystanders = append(s.bystanders, Group{bystanders, fmt.Sprint("store-", i)})
	}
	for _, g := range slices.Concat(s.managed, s.bystanders) {
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
	if name != bystanders {
		r.optIn = s.world.OptIn
	}
	s.namespaces.put(s.next(), r)
}

func (s *Server) addZone(g Group, index int) {
	pods := s.world.Pods
	z := zoneRecord{
		group: g, name: g.Name + "-zone-" + string(rune('a'+index)), node: fmt.Sprint("node-", index), spec: s.world.Spec,
		serial: s.next(), generation: 1, current: 1, pods: pods, ready: pods, updated: pods,
	}
	s.sets.put(z.serial, z)
	for ordinal := range pods {
		pod := podRecord{zone: &z, ordinal: ordinal, serial: s.next(), revision: 1, ready: true}
		s.pods.put(pod.serial, pod)
	}
}
