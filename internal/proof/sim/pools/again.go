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
		s.object.UID, s.object.Deleting, s.object.Current, s.revisions = "", false, "", nil
		s.commit()
	case !s.object.Exists() && (f.peace || f.oneIn(4)):
		s.object.Version = s.next()
		s.object.UID = s.newUID()
		s.commit()
		s.log("the object is applied again")
	}
}

// hasGarbage reports whether the garbage collection, or the person who applies the object again, may have something to do.
func (s *server) hasGarbage() bool {
	for _, p := range s.pods {
		if p.Owner != "" && p.Owner != s.object.UID {
			return true
		}
	}
	return s.object.Deleting || !s.object.Exists()
}

// orphans returns what a look for orphans shows now.
func (s *server) orphans() pool.Orphans {
	found := pool.Orphans{At: s.now}
	for _, name := range slices.Sorted(maps.Keys(s.outside)) {
		p := s.outside[name]
		found.Pods = append(found.Pods, pool.Orphan{Name: name, UID: p.UID, Version: p.Version, Controller: p.Owner})
	}
	return found
}

// labels gives a pod that had none the labels of the object and of the identity under which it is adopted.
func (s *server) labels(a pool.AdoptPod) {
	if p, exists := s.outside[a.Pod]; exists && p.UID == a.UID && p.Version == a.Version && p.Owner == "" {
		p.ID = a.ID
		s.pods[a.Pod] = p
		delete(s.outside, a.Pod)
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
