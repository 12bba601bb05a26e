package pools

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// requests returns the steps that carry out the action of a number, as the executor does. They send nothing unless they may.
func requests(seen *pool.Snapshot, a plan.Action, number int, may func(*process) bool) []step {
	send := func(apply func(*process) bool) step {
		return func(p *process) {
			if may(p) && p.attempt.stopped != number && !p.server.faults.send(p, apply) {
				p.attempt.stopped = number // the first failure ends an action
			}
		}
	}
	var steps []step
	switch a := a.(type) {
	case plan.DeletePod:
		steps = append(steps, send(func(p *process) bool { return p.disrupt(seen, plan.Disruption(a), p.server.terminate) }))
	case pool.UpdateInPlace:
		steps = append(steps, send(func(p *process) bool {
			return p.disrupt(seen, a.Of, func(name string) { p.server.changePod(name, func(pod *pool.Pod) { p.updated(pod, a) }) })
		}))
	case pool.BeginUpdate:
		steps = append(steps, send(func(p *process) bool {
			return p.disrupt(seen, a.Of, func(name string) {
				p.server.changePod(name, func(pod *pool.Pod) {
					pod.Update = pool.InPlaceUpdate{Revision: a.Revision, At: a.Of.Version, Since: p.server.now, Begun: true, Before: a.Before}
				})
			})
		}))
	case pool.ReleasePod:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				p.server.history.takenOut(p.server.pods[a.Pod])
				p.server.changePod(a.Pod, func(pod *pool.Pod) { pod.Owner = "" })
			})
		}))
	case pool.SetGate:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				if !a.Open {
					p.server.history.interrupted(p.server, p.server.pods[a.Pod])
				}
				p.server.changePod(a.Pod, func(pod *pool.Pod) { setGate(pod, a.Open, p.server.now) })
			})
		}))
	case pool.ResizePod:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				p.server.history.interrupted(p.server, p.server.pods[a.Pod])
				p.server.changePod(a.Pod, func(pod *pool.Pod) { resize(pod, a.Resources) })
			})
		}))
	case pool.EndUpdate:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				p.server.history.endsUpdate(p.server.pods[a.Pod])
				p.server.changePod(a.Pod, func(pod *pool.Pod) { pod.Update = pool.InPlaceUpdate{} })
			})
		}))
	case plan.CancelDeletion:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Intent.Pod, a.Intent.UID, a.Intent.Version, func() {
				p.server.changePod(a.Intent.Pod, func(pod *pool.Pod) { pod.Withdrawn = a.Intent.Version })
			})
		}))
	case pool.LookForOrphans:
		steps = append(steps, send(func(p *process) bool { p.found = p.server.orphans(); return true }))
	case pool.RelabelPod:
		steps = append(steps, send(func(p *process) bool {
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				p.server.changePod(a.Pod, func(pod *pool.Pod) { pod.Revision = a.Revision })
			})
		}))
	case pool.AdoptPod:
		steps = append(steps, send(func(p *process) bool {
			p.server.labels(a)
			return p.ifUnchanged(a.Pod, a.UID, a.Version, func() {
				p.server.changePod(a.Pod, func(pod *pool.Pod) { pod.Owner = cmp.Or(pod.Owner, seen.Object.UID) })
			})
		}))
	case pool.LabelClaims:
		for _, c := range a.Claims {
			steps = append(steps, send(func(p *process) bool { return p.labelClaim(a, c, seen.Object.UID) }))
		}
	case pool.CreatePods:
		for _, id := range a.IDs {
			steps = append(steps, send(func(p *process) bool { return p.create(seen.Object, id, "", a.Revision, 0) }))
		}
	case pool.HandOver:
		for _, c := range a.Had {
			steps = append(steps, send(func(p *process) bool {
				now, exists := p.server.claims[c.Name]
				return exists && now.UID == c.UID && now.Version == c.Version
			}))
		}
		steps = append(steps, func(p *process) {
			record := p.lease.Version
			send(func(p *process) bool { return p.create(seen.Object, a.ID, a.From, a.Revision, record) })(p)
		})
	case pool.CompletePod:
		for _, t := range a.Templates {
			steps = append(steps, send(func(p *process) bool { return p.createClaim(a, t.Name, seen.Object.UID) }))
		}
		if !a.KeepGate {
			steps = append(steps, send(func(p *process) bool { return p.ungate(a, seen) }))
		}
	case pool.PrepareHandover:
		for _, c := range a.Claims {
			steps = append(steps, send(func(p *process) bool {
				return p.changeClaim(c, func(c *pool.Claim) {
					p.server.log("%s marks claim %s for the end of %s", p.name, c.Name, a.From)
					c.From, c.Retain = a.From, a.Retain
					if a.From != "" {
						c.Siblings = a.Siblings
					}
				})
			}))
		}
	case pool.RetireIdentity:
		for _, c := range a.Claims {
			steps = append(steps, send(func(p *process) bool {
				return p.changeClaim(c, func(c *pool.Claim) {
					p.server.history.ends(p.server, c, a.Because, seen)
					c.Retired, c.Ended, c.Because = true, p.server.now, a.Because
				})
			}))
		}
	case pool.UnretireIdentity:
		for _, c := range a.Claims {
			steps = append(steps, send(func(p *process) bool {
				return p.changeClaim(c, func(c *pool.Claim) { c.Retired, c.Ended, c.Because = false, time.Time{}, "" })
			}))
		}
	case pool.DeleteClaims:
		for _, c := range a.Claims {
			steps = append(steps, send(func(p *process) bool { return p.deleteClaim(c) }))
		}
	case pool.RecordRevision:
		steps = append(steps, send(func(p *process) bool { return p.record(a, &seen.Object) }))
	case pool.RenumberRevision:
		steps = append(steps, send(func(p *process) bool { return p.renumber(a) }))
	case pool.DeleteRevision:
		steps = append(steps, send(func(p *process) bool { return p.forgetRevision(a) }))
	case pool.OwnClaims, pool.CompareRevisions:
	}
	return steps
}

// ifUnchanged does something if a pod is still as it was evaluated.
func (p *process) ifUnchanged(name, uid string, version plan.Version, do func()) bool {
	pod, exists := p.server.pods[name]
	if !exists || pod.UID != uid || pod.Version != version {
		return false
	}
	do()
	p.known.PodMoved(name, version)
	return true
}

func (p *process) disrupt(seen *pool.Snapshot, d plan.Disruption, how func(name string)) bool {
	return p.ifUnchanged(d.Pod, d.UID, d.Version, func() {
		p.server.log("%s disrupts %s because of %s", p.name, d.Pod, d.Because)
		pod := p.server.pods[d.Pod]
		p.server.history.disrupted(p.server, &pod, d.Because, seen)
		how(d.Pod)
	})
}

// setGate opens or closes the readiness gate of a pod.
func setGate(pod *pool.Pod, open bool, now time.Time) {
	pod.Gate, pod.GateSince = pool.GateClosed, now
	if open {
		pod.Gate = pool.GateOpen
	}
}

// resize changes the resources of containers. The kubelet has not applied them yet.
func resize(pod *pool.Pod, to map[string]pool.Resources) {
	containers := slices.Clone(pod.Containers)
	for i := range containers {
		if r, changes := to[containers[i].Name]; changes {
			containers[i].Resources = r
		}
	}
	pod.Containers, pod.Resize, pod.Generation = containers, pool.ResizeUnderway, pod.Generation+1
}

// updated is the effect of an update in place.
func (p *process) updated(pod *pool.Pod, a pool.UpdateInPlace) {
	pod.Revision = a.Revision
	pod.Update = pool.InPlaceUpdate{Revision: a.Revision, At: a.Of.Version, Since: p.server.now, Restarts: a.Restarts}
	containers := slices.Clone(pod.Containers)
	for i := range containers {
		if image, changes := a.Change.Images[containers[i].Name]; changes {
			containers[i].Image, pod.Generation = image, pod.Generation+1
		}
	}
	pod.Containers = containers
}

// create creates a pod of an object as the process knows it. The API server does not check whether the object still exists.
// create creates a pod. The next pod of an identity was created because of a record of the Lease, at a version.
func (p *process) create(of pool.Object, id pool.ID, from, revision string, record plan.Version) bool {
	s, name := p.server, pool.PodName(poolName, id)
	if _, exists := s.pods[name]; exists {
		return false
	}
	version := s.next()
	s.log("%s creates %s after %q at %s", p.name, name, from, revision)
	pod := pool.Pod{
		Pod: plan.Pod{Name: name, UID: s.newUID(), Version: version, Revision: revision, Created: plan.UnixTimeOf(s.now)},
		ID:  id, Owner: of.UID, From: from, Generation: 1, Unmatched: s.relabels,
		Containers: []pool.Container{{Name: "db", Image: imageOf(templateOf(revision)), Resources: resourcesOf(templateOf(revision))}},
	}
	pod.Gated = len(claimsOf(templateOf(revision))) > 0
	if of.Strategy.Grace > 0 {
		pod.Gate = pool.GateClosed
	}
	for _, t := range claimsOf(templateOf(revision)) {
		pod.Mounts = append(pod.Mounts, pool.Mount{Template: t.Name, Claim: pool.ClaimName(poolName, t.Name, id)})
	}
	s.history.born(s, &pod, record)
	s.pods[name] = pod
	s.commit()
	p.known.PodCreated(name, version)
	return true
}

func (p *process) createClaim(a pool.CompletePod, template, owner string) bool {
	s, name := p.server, pool.ClaimName(poolName, template, a.ID)
	if c, exists := s.claims[name]; exists {
		if c.Pool == owner && (c.From == a.From || c.From == a.UID) {
			return true
		}
		p.taken[a.ID] = true // it is not that of this pod
		return false
	}
	if s.refuses && template == "logs" {
		return false
	}
	s.claims[name] = pool.Claim{Name: name, UID: s.newUID(), Version: s.next(), ID: a.ID, Template: template, Pool: owner, Siblings: a.Siblings, From: a.From}
	s.history.claimed(a.ID, name)
	s.commit()
	return true
}

// labelClaim gives a claim that a pod mounts the labels of the object. Its marks stay.
func (p *process) labelClaim(a pool.LabelClaims, seen pool.UnlabelledClaim, owner string) bool {
	c, exists := p.server.claims[seen.Name]
	if !exists || c.UID != seen.UID || c.Version != seen.Version {
		return false
	}
	c.Version, c.Pool, c.ID, c.Siblings = p.server.next(), owner, a.ID, a.Siblings
	p.server.claims[c.Name] = c
	p.server.commit()
	return true
}

func (p *process) ungate(a pool.CompletePod, seen *pool.Snapshot) bool {
	pod, exists := p.server.pods[a.Pod]
	if !exists || pod.UID != a.UID {
		return false
	}
	if pod.Gated {
		p.server.history.released(p.server, &pod, seen)
	}
	p.server.changePod(a.Pod, func(pod *pool.Pod) { pod.Gated = false })
	p.known.PodCreated(a.Pod, p.server.version)
	return true
}

func (p *process) changeClaim(seen pool.Claim, change func(*pool.Claim)) bool {
	c, exists := p.server.claims[seen.Name]
	if !exists || c.UID != seen.UID || c.Version != seen.Version {
		return false
	}
	c.Version = p.server.next()
	change(&c)
	p.server.claims[c.Name] = c
	p.server.commit()
	return true
}

func (p *process) deleteClaim(seen pool.Claim) bool {
	c, exists := p.server.claims[seen.Name]
	if _, lives := p.server.pods[pool.PodName(poolName, seen.ID)]; lives || !exists || c.UID != seen.UID || c.Version != seen.Version {
		return false
	}
	p.server.history.claimDeleted(p.server, &c)
	p.server.next()
	delete(p.server.claims, c.Name)
	p.server.commit()
	return true
}

// record creates a revision of an object. That of an earlier object is collected at once.
func (p *process) record(a pool.RecordRevision, of *pool.Object) bool {
	s := p.server
	if s.object.UID != of.UID {
		return true
	}
	for _, r := range s.revisions {
		if r.Hash == a.Hash {
			return true
		}
	}
	s.revisions = append(s.revisions, pool.Revision{Name: a.Hash, UID: s.newUID(), Version: s.next(), Number: a.Number, Hash: a.Hash, Templates: of.Templates})
	s.commit()
	return true
}

func (p *process) renumber(a pool.RenumberRevision) bool {
	return p.changeRevision(a.Revision, func(r *pool.Revision) { r.Number = a.Number })
}

func (p *process) changeRevision(seen pool.Revision, change func(*pool.Revision)) bool {
	for i, r := range p.server.revisions {
		if r.UID == seen.UID && r.Version == seen.Version {
			r.Version = p.server.next()
			change(&r)
			p.server.revisions[i] = r
			p.server.commit()
			return true
		}
	}
	return false
}

func (p *process) forgetRevision(a pool.DeleteRevision) bool {
	for i, r := range p.server.revisions {
		if r.UID == a.Revision.UID && r.Version == a.Revision.Version {
			p.server.next()
			p.server.revisions = append(p.server.revisions[:i:i], p.server.revisions[i+1:]...)
			p.server.commit()
			return true
		}
	}
	return false
}
