package pools

import (
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// deletesObject begins to delete the object without its pods. It is gone once Kubernetes has made them orphans, and a person
// applies it again.
func (f *faults) deletesObject(s *server) {
	if !f.oneIn(4) {
		return
	}
	f.changeObject(s, func(o *pool.Object) { o.Deleting = true })
}

// collects does a step of the garbage collection: it makes a pod of an object that is being deleted an orphan, removes that
// object, or deletes a pod of an object that is gone. A person applies a removed object again.
func (f *faults) collects(s *server) {
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		p := s.pods[name]
		switch {
		case p.Owner == "":
		case p.Owner != s.object.UID: // it was created after that
			if p.Phase != plan.Terminating {
				s.log("the garbage collection deletes %s", name)
				s.history.endedByOthers(s, name)
				s.terminate(name)
				return
			}
		case s.object.Deleting:
			s.log("%s becomes an orphan", name)
			s.changePod(name, func(p *pool.Pod) { p.Owner = "" })
			return
		}
	}
	switch {
	case s.object.Deleting:
		s.log("the object is gone")
		s.next()
		s.object.UID, s.object.Deleting, s.revisions = "", false, nil
		s.commit()
	case !s.object.Exists() && (f.peace || f.oneIn(4)):
		s.object.Version = s.next()
		s.object.UID = s.newUID()
		s.commit()
		s.log("the object is applied again")
	}
}

// unlabelled returns the claims that the pods of a live read mount and that lack the labels of the object.
func (s *server) unlabelled(live *pool.Snapshot) []pool.UnlabelledClaim {
	var found []pool.UnlabelledClaim
	for _, p := range live.Pods {
		for _, m := range p.Mounts {
			c, exists := s.claims[m.Claim]
			if !exists || p.Gated || c.Deleting || c.Pool == live.Object.UID {
				continue
			}
			found = append(found, pool.UnlabelledClaim{Name: c.Name, Template: m.Template, UID: c.UID, Version: c.Version})
		}
	}
	return found
}
