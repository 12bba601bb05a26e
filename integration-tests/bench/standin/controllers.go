package standin

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Change sets another image in the pod templates of a group's zones, and returns the time. The status
// shows the new generation at once.
func (s *Server) Change(g Group) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	for _, zone := range s.zonesOf(g) {
		zone.generation, zone.updated = zone.generation+1, 0
		s.sets.write(s.nextVersion(), zone)
	}
	return at
}

// IsUpdated reports whether all pods of a group have the latest revision and are ready.
func (s *Server) IsUpdated(g Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, zone := range s.zonesOf(g) {
		if zone.updated < zone.pods || zone.ready < zone.pods {
			return false
		}
	}
	return true
}

// zonesOf returns the zones of a group in order. The caller holds the lock.
func (s *Server) zonesOf(g Group) []zoneRecord {
	var all []zoneRecord
	for _, t := range s.sets.selected(allObjects.inNamespace(g.Namespace)) {
		if zone, ok := t.record.(zoneRecord); ok && zone.group == g {
			all = append(all, zone)
		}
	}
	return all
}

// deletePod removes a pod. After the answer it replaces the pod, as the StatefulSet controller and the
// kubelet do.
func (s *Server) deletePod(r *http.Request, t target) (runtime.Object, error) {
	removed, err := s.remove(r, t, s.pods)
	if err != nil {
		return nil, err
	}
	if pod, ok := removed.record.(podRecord); ok {
		s.replacing.Go(func() { s.replace(pod) })
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// Wait returns when all deleted pods are replaced.
func (s *Server) Wait() { s.replacing.Wait() }

// replace creates a pod of the latest revision and then makes it ready.
func (s *Server) replace(previous podRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous.ready = false
	s.updateStatus(previous, -1)
	zone := s.zone(previous)
	pod := podRecord{zone: previous.zone, ordinal: previous.ordinal, serial: s.nextVersion(), revision: zone.generation}
	s.pods.write(pod.serial, pod)
	pod.ready = true
	s.pods.write(s.nextVersion(), pod)
	s.updateStatus(pod, 1)
}

// updateStatus updates the status of the pod's StatefulSet.
func (s *Server) updateStatus(pod podRecord, by int) {
	zone := s.zone(pod)
	zone.ready += by
	if pod.revision == zone.generation {
		zone.updated += by
	}
	s.sets.write(s.nextVersion(), zone)
}

// zone returns the current StatefulSet of a pod.
func (s *Server) zone(pod podRecord) zoneRecord {
	t, _ := s.sets.get(pod.zone.names())
	zone, _ := t.record.(zoneRecord) // the collection contains only zones, which no request deletes
	return zone
}
