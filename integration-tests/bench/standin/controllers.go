package standin

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Change gives the pod templates of a group's zones another image, which their
// controller has seen at once, and returns when.
func (s *Server) Change(g Group) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	for _, zone := range s.zones(g) {
		zone.generation, zone.updated = zone.generation+1, 0
		s.sets.write(s.next(), zone)
	}
	return at
}

// Renewed reports whether all pods of a group are of the revision that is asked for,
// and Ready.
func (s *Server) Renewed(g Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, zone := range s.zones(g) {
		if zone.updated < zone.pods || zone.ready < zone.pods {
			return false
		}
	}
	return true
}

// zones returns those of a group in order. Call it locked.
func (s *Server) zones(g Group) []zoneRecord {
	var all []zoneRecord
	for _, t := range s.sets.selected(everything.in(g.Namespace)) {
		if zone, ok := t.record.(zoneRecord); ok && zone.group == g {
			all = append(all, zone)
		}
	}
	return all
}

// deletePod removes a pod and brings it back, as the StatefulSet controller and the
// kubelet do, after it was answered.
func (s *Server) deletePod(r *http.Request, t target) (runtime.Object, error) {
	was, err := s.remove(r, t, s.pods)
	if err != nil {
		return nil, err
	}
	if pod, ok := was.record.(podRecord); ok {
		s.settling.Go(func() { s.replace(pod) })
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// Wait returns when no pod is on its way back.
func (s *Server) Wait() { s.settling.Wait() }

// replace makes the pod anew, of the revision that is asked for, and then Ready.
func (s *Server) replace(was podRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was.ready = false
	s.recount(was, -1)
	zone := s.zone(was)
	pod := podRecord{zone: was.zone, ordinal: was.ordinal, serial: s.next(), revision: zone.generation}
	s.pods.write(pod.serial, pod)
	pod.ready = true
	s.pods.write(s.next(), pod)
	s.recount(pod, 1)
}

// recount writes into the status of a pod's StatefulSet what has become of the pod.
func (s *Server) recount(pod podRecord, by int) {
	zone := s.zone(pod)
	zone.ready += by
	if pod.revision == zone.generation {
		zone.updated += by
	}
	s.sets.write(s.next(), zone)
}

// zone returns the StatefulSet of a pod as it is now.
func (s *Server) zone(pod podRecord) zoneRecord {
	t, _ := s.sets.get(pod.zone.names())
	zone, _ := t.record.(zoneRecord) // nothing else is kept there, and nobody deletes it
	return zone
}
