package pools

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// faults draws what goes wrong, from a seed.
type faults struct {
	chance
	peace    bool // nothing goes wrong any more
	damaging bool // people damage the Lease, and repair it
	surging  bool // updates may create pods before others leave, and people change how pods are updated
	people   int  // of a hundred things that happen, those that people do
	failing  int  // of a hundred requests, those that fail in some way

	evicting  int  // of a hundred things that happen, those about evictions
	retaining bool // people ask to keep the identities of single pods
}

func (f *faults) oneIn(n int) bool { return f.IntN(n) == 0 }

func (f *faults) between(from, to plan.Version) plan.Version {
	return from + plan.Version(f.Uint64N(uint64(to-from)+1))
}

// chance chooses.
type chance interface {
	IntN(n int) int
	Uint64N(n uint64) uint64
}

// send sends a request of a process. It may get lost, arrive late, or lose its reply; then the process learns of a failure.
func (f *faults) send(p *process, apply func(*process) bool) (ok bool) {
	if f.peace {
		return apply(p)
	}
	if f.IntN(100) >= f.failing {
		return apply(p)
	}
	switch f.IntN(4) {
	case 0:
		return false
	case 1:
		apply(p)
		return false
	default:
		s := p.server
		s.late = append(s.late, lateRequest{s.now.Add(plan.RequestLimit), p.no, p.attempt.doing, func(p *process) { apply(p) }})
		return false
	}
}

// Result is what a run has shown.
type Result struct {
	Broken   []string // rules that the history broke
	Goal     string   // why the goal was not reached in peace; empty: it was
	Versions int      // changes of objects
	Trace    []string // the last of what happened
}

// Run runs a schedule: that many steps with faults, and then peace until the goal is reached.
func Run(seed uint64, steps int) Result {
	f := &faults{chance: rand.New(rand.NewPCG(seed, 0))}
	f.people, f.failing, f.evicting = 1+f.IntN(8), f.IntN(40), shares[seed%uint64(len(shares))]
	s := newServer(f.IntN(4))
	s.object.Strategy.Policy = []pool.PodUpdatePolicy{pool.InPlaceIfPossible, pool.InPlaceIfPossible, pool.RecreateKeepIdentity, pool.Recreate}[f.IntN(4)]
	if s.object.Strategy.Policy == pool.InPlaceIfPossible && seed%3 == staysInPlace {
		s.object.Strategy.Policy = pool.InPlaceOnly
	}
	if s.object.Strategy.Policy == pool.Recreate && seed%2 == 0 {
		f.surging, s.history.counts = true, true
		s.object.Strategy.MaxSurge, s.object.Strategy.MaxUnavailable = pool.Share{Pods: 1 + int(seed/2%2)}, pool.Share{}
	}
	s.keeps(keeps[seed%uint64(len(keeps))])
	if seed%5 == getsClaims {
		s.beginsAt(dataOnly)
	}
	s.object.AwaitEnds = seed%11 == awaitsEnds
	s.object.Ordered = seed%7 == inOrder
	f.damaging = seed%13 == damages
	f.retaining = seed%uint64(len(keeps)) == retains
	s.operatedWith(f)
	for range steps {
		if len(s.history.broken) > 0 {
			break
		}
		f.happens(s)
	}
	f.peace = true
	goal := f.rests(s, s.processes[0])
	return Result{s.history.broken, goal, int(s.version), s.trace}
}

// shares are how many of a hundred things that happen are about evictions, by seed.
var shares = []int{5, 0, 0, 30, 0, 0}

// keeps are which identities are kept if other clients end their pods, by seed. With another remainder, people ask for it for
// single pods.
var keeps = []pool.KeepPolicy{{}, {}, {OnDelete: true, OnEviction: true}, {}, {OnDelete: true}, {OnEviction: true}, {}}

const retains = 3

// getsClaims is the remainder of the seeds of objects that begin with few claim templates, so that identities get more of them.
const getsClaims = 2

// awaitsEnds is the remainder of the seeds of objects whose missing pods wait for the ends of terminating ones.
const awaitsEnds = 5

// inOrder is the remainder of the seeds of objects whose pods are created and deleted one at a time.
const inOrder = 6

// staysInPlace is the remainder of the seeds of objects whose pods are only updated in place, until peace.
const staysInPlace = 1

// damages is the remainder of the seeds of objects whose Lease is unreadable at times.
const damages = 4

// operatedWith starts two processes of lockstep.
func (s *server) operatedWith(f *faults) {
	s.faults = f
	for no := range 2 {
		s.processes = append(s.processes, &process{no: no, name: fmt.Sprintf("process-%d", no), server: s})
	}
	for _, p := range s.processes {
		p.restart()
	}
}

// happens makes one thing happen.
func (f *faults) happens(s *server) {
	s.now = s.now.Add(time.Duration(f.IntN(2000)) * time.Millisecond)
	p := s.processes[f.IntN(len(s.processes))]
	switch n := f.IntN(100); {
	case n < f.people:
		f.person(s)
	case f.evicting > 0 && f.IntN(100) < f.evicting:
		f.reviews(s, p)
	case n < 50:
		p.step()
	case n < 70:
		f.advance(p)
	case n < 93:
		protects(s)
		f.kubelet(s)
		f.collects(s)
	case n < 98:
		f.arrives(s)
	case n < 99:
		p.restart()
	default:
		s.now = s.now.Add(time.Duration(f.IntN(120)) * time.Second) // all processes sleep
	}
}

// reviews makes the review of an eviction continue, or a client evict a pod.
func (f *faults) reviews(s *server, p *process) {
	s.evictions = slices.DeleteFunc(s.evictions, func(e *eviction) bool { return len(e.steps) == 0 })
	switch {
	case len(s.evictions) > 0 && !f.oneIn(3):
		s.evictions[f.IntN(len(s.evictions))].step(s)
	default:
		f.evicts(s, p)
	}
}

// advance lets a watch show more.
func (f *faults) advance(p *process) {
	for _, at := range []*plan.Version{&p.objects, &p.pods, &p.claims, &p.leases} {
		switch f.IntN(4) {
		case 0:
		case 1:
			*at = f.between(*at, p.server.version)
		default:
			*at = p.server.version
		}
	}
}

// arrives lets a late request take effect, or end.
func (f *faults) arrives(s *server) {
	s.late = slices.DeleteFunc(s.late, func(r lateRequest) bool { return r.until.Before(s.now) })
	if len(s.late) == 0 {
		return
	}
	n := f.IntN(len(s.late))
	r := s.late[n]
	s.late = slices.Delete(s.late, n, n+1)
	s.log("a late request arrives")
	r.apply(s.processes[r.by])
}

// kubelet brings one pod further.
func (f *faults) kubelet(s *server) {
	names := slices.Sorted(maps.Keys(s.pods))
	if len(names) == 0 {
		return
	}
	f.bringsFurther(s, names[f.IntN(len(names))])
}

func (f *faults) bringsFurther(s *server, name string) {
	p := s.pods[name]
	node, nodeExists := s.nodes[p.Node.Name]
	silent := p.Scheduled && (!nodeExists || !node.Silent.IsZero())
	switch {
	case p.Phase == plan.Terminating && (!silent || !nodeExists): // without a node the garbage collection of pods ends it
		s.removePod(name)
	case silent, p.Gated, p.Phase == plan.Terminating, p.Finished:
	case !p.Scheduled:
		f.schedules(s, name)
	case p.Gate == pool.GateClosed && p.Phase == plan.Ready: // it is taken from its clients
		s.changePod(name, func(p *pool.Pod) { p.Phase, p.ReadySince = plan.Starting, time.Time{} })
	case p.Resize == pool.ResizeUnderway, p.Resize == pool.ResizeDeferred:
		s.changePod(name, func(p *pool.Pod) { f.resizes(s, p) })
	case p.Update.Begun && p.Phase == plan.Ready, p.Gate == pool.GateClosed && started(&p): // nothing changes
	case s.rejects && (!started(&p) || p.Phase == plan.Ready && f.oneIn(6)): // a node that has started again rejects a pod that served
		s.log("a node rejects %s", name)
		s.changePod(name, func(p *pool.Pod) {
			p.Phase, p.ReadySince, p.Finished, p.Ran, p.Ended = plan.Starting, time.Time{}, true, false, plan.UnixTimeOf(s.now)
		})
	case !serves(&p) && p.Containers[0].Image == s.unpullable:
		if p.Phase != plan.Failing {
			s.changePod(name, func(p *pool.Pod) {
				p.Phase, p.Why, p.ReadySince, p.NotReady, p.Observed = plan.Failing, "ImagePullBackOff", time.Time{}, s.now, p.Generation
				p.Containers = slices.Clone(p.Containers)
				p.Containers[0].Running = false
			})
		}
	case !serves(&p) && !f.peace && !f.oneIn(3): // it takes its time
	case !serves(&p):
		s.changePod(name, func(p *pool.Pod) {
			p.Observed, p.Containers = p.Generation, slices.Clone(p.Containers)
			p.Containers[0].ID, p.Containers[0].Running = fmt.Sprintf("c%d", s.version), true
			if p.Gate != pool.GateClosed {
				p.Phase, p.Why, p.ReadySince, p.NotReady = plan.Ready, "", s.now, time.Time{}
			}
		})
	case p.Observed < p.Generation: // no container restarts
		s.changePod(name, func(p *pool.Pod) { p.Observed = p.Generation })
	case !f.peace && f.oneIn(8): // it breaks, and comes back
		s.changePod(name, func(p *pool.Pod) { p.Phase, p.ReadySince = plan.Starting, time.Time{} })
	}
}

// started reports whether the containers of a pod run as the spec says.
func started(p *pool.Pod) bool {
	c := &p.Containers[0]
	return c.Running && p.Observed == p.Generation && p.Update.Restarts[c.Name] != c.ID
}

// resizes lets the kubelet apply new resources, or say that they do not fit.
func (f *faults) resizes(s *server, p *pool.Pod) {
	p.Resize, p.Observed, p.ResizeSince = pool.Resized, p.Generation, s.now
	if f.peace || !f.oneIn(3) {
		return
	}
	p.Resize = []pool.Resize{pool.ResizeDeferred, pool.ResizeInfeasible}[f.IntN(2)]
}

func (f *faults) schedules(s *server, name string) {
	var able []string
	for _, n := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.nodes[n].Silent.IsZero() {
			able = append(able, n)
		}
	}
	if len(able) > 0 {
		node := able[f.IntN(len(able))]
		s.changePod(name, func(p *pool.Pod) { p.Scheduled, p.Node = true, pool.Node{Name: node} })
	}
}

// graceAfter is the grace period of updates in place, if there is one.
const graceAfter = 5 * time.Second

// person changes what is asked for, or an object that lockstep works with.
func (f *faults) person(s *server) {
	switch f.IntN(14 + 2*one(f.surging)) {
	case 0, 1:
		f.changeObject(s, func(o *pool.Object) { o.Replicas = f.IntN(5) })
		s.history.asked = append(s.history.asked, asked{s.version, s.object.Replicas})
	case 2, 3:
		next := templateOf(s.object.Hash) ^ []int{1, 1, 2, 3, dataOnly, dataOnly, withoutClaims, withMoreCPU, withMoreCPU | 1}[f.IntN(9)]
		f.changeObject(s, func(*pool.Object) { s.setTemplate(next) })
	case 4:
		if f.oneIn(3) {
			f.changeObject(s, func(o *pool.Object) { o.Strategy.Grace = graceAfter - o.Strategy.Grace })
			return
		}
		f.changeObject(s, func(o *pool.Object) {
			o.Paused, o.PausedUntil = !o.Paused, plan.Moment{}
			if o.Paused && f.oneIn(2) {
				o.PausedUntil.Time = s.now.Add(time.Duration(f.IntN(120)) * time.Second)
			}
		})
	case 5:
		if names := slices.Sorted(maps.Keys(s.pods)); len(names) > 0 {
			switch name := names[f.IntN(len(names))]; {
			case s.pods[name].Phase == plan.Terminating:
			case f.retaining && f.oneIn(2):
				s.log("a person wants to keep the identity of %s, or no longer", name)
				s.changePod(name, func(p *pool.Pod) { p.Retain = !p.Retain })
			default:
				s.log("a person deletes %s", name)
				s.history.endedByOthers(s, name)
				s.terminate(name)
			}
		}
	case 6:
		f.changeObject(s, func(o *pool.Object) {
			o.Claim.DeleteWhenScaled, o.Claim.DeleteWhenReplaced = f.oneIn(2), f.oneIn(2)
		})
	case 7:
		f.changesNode(s)
	case 8:
		f.deletesClaim(s)
	case 9:
		f.relabels(s)
	case 10:
		f.deletesObject(s)
	case 11:
		s.relabels, s.rejects = f.oneIn(3), f.oneIn(3)
		s.log("a webhook changes the labels of new pods: %t; nodes reject them: %t", s.relabels, s.rejects)
	case 12:
		f.holds(s)
	case 13:
		s.refuses = !s.refuses
		s.log("the API server creates no claim named logs: %t", s.refuses)
	case 14, 15:
		if names := slices.Sorted(maps.Keys(s.pods)); len(names) > 0 && f.oneIn(3) {
			name := names[f.IntN(len(names))]
			s.log("a person asks for another identity in the place of %s", name)
			s.changePod(name, func(p *pool.Pod) { p.Asked = true })
			return
		}
		f.changeObject(s, func(o *pool.Object) {
			o.Strategy.OnDelete, o.Strategy.Partition = f.oneIn(3), pool.Share{Pods: f.IntN(3)}
		})
	}
}

// byHand is the holder when a person has the hold.
const byHand = plan.Holder("manual/person")

// holds gives the hold to a person if it is free, or damages the Lease, or ends that.
func (f *faults) holds(s *server) {
	switch {
	case s.lease.Holder == byHand:
		s.lease.Holder = ""
	case s.lease.Unreadable != "":
		s.lease.Unreadable = ""
	case f.damaging && s.lease.Exists && f.oneIn(2):
		s.lease.Unreadable = "it was damaged"
	case s.lease.Exists && s.lease.Holder.Free() && f.oneIn(2):
		s.lease.Holder = byHand
	default:
		return
	}
	s.lease.Version = s.next()
	s.commit()
	s.log("the holder is %q, the Lease is unreadable: %q", s.lease.Holder, s.lease.Unreadable)
}

// repairs ends what a webhook and nodes do to new pods, and deletes the pods that have kept other labels. Claims that the
// template does not ask for are refused further on.
func (s *server) repairs() {
	s.relabels, s.rejects, s.refuses = false, false, s.refuses && templateOf(s.object.Hash)&(dataOnly|withoutClaims) != 0
	for name, p := range s.pods {
		if p.Gated && p.Unmatched {
			s.next()
			delete(s.pods, name)
			s.commit()
		}
	}
}

// relabels changes the labels of a pod, so that the selector does not match it any more.
func (f *faults) relabels(s *server) {
	names := slices.Sorted(maps.Keys(s.pods))
	if len(names) == 0 || !f.oneIn(4) {
		return
	}
	name := names[f.IntN(len(names))]
	s.log("a person takes %s out of the selector", name)
	s.changePod(name, func(p *pool.Pod) { p.Unmatched = true })
}

// changeObject changes the object, if it exists.
func (f *faults) changeObject(s *server, change func(*pool.Object)) {
	if !s.object.Exists() {
		return
	}
	s.history.allows(s) // a pause may have ended since the last change
	s.object.Version = s.next()
	change(&s.object)
	s.commit()
	s.log("the object asks for %d at %s, paused %t", s.object.Replicas, s.object.Hash, s.object.Paused)
}

// deletesClaim deletes a claim. Like Kubernetes, it waits for a pod that mounts the claim.
func (f *faults) deletesClaim(s *server) {
	names := slices.Sorted(maps.Keys(s.claims))
	if len(names) == 0 {
		return
	}
	c := s.claims[names[f.IntN(len(names))]]
	s.log("a person deletes claim %s", c.Name)
	c.Deleting, c.Version = true, s.next()
	s.claims[c.Name] = c
	s.commit()
}

// protects ends the claims that are being deleted and that no pod mounts. Like Kubernetes, it does not count a pod that is not
// scheduled.
func protects(s *server) {
	for _, name := range slices.Sorted(maps.Keys(s.claims)) {
		c := s.claims[name]
		pod, exists := s.pods[pool.PodName(poolName, c.ID)]
		runs := exists && !pod.Gated
		mounted := slices.ContainsFunc(pod.Mounts, func(m pool.Mount) bool { return m.Claim == name })
		if !c.Deleting || runs && mounted {
			continue
		}
		if runs {
			s.history.doesWithout(c.ID, name)
		}
		s.next()
		delete(s.claims, name)
		s.commit()
	}
}

// changesNode makes a node silent, or lets it report again.
func (f *faults) changesNode(s *server) {
	name := fmt.Sprintf("node-%d", f.IntN(3))
	node, exists := s.nodes[name]
	if exists && node.Silent.IsZero() && f.oneIn(3) {
		s.shutsDown(name)
		return
	}
	s.next()
	switch {
	case !exists || !node.Silent.IsZero():
		s.nodes[name] = pool.Node{Name: name}
	case f.oneIn(4):
		delete(s.nodes, name)
	default:
		s.nodes[name] = pool.Node{Name: name, Silent: s.now}
	}
	s.commit()
}

// shutsDown lets the kubelet of a node end its pods, one after the other. The node takes no more, unless it is the last one.
func (s *server) shutsDown(node string) {
	s.log("%s is shut down in order", node)
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		p := s.pods[name]
		if p.Node.Name != node || p.Finished || p.Phase == plan.Terminating {
			continue
		}
		s.changePod(name, func(p *pool.Pod) {
			p.Phase, p.ReadySince, p.Finished, p.Disrupted, p.Ended = plan.Starting, time.Time{}, true, true, plan.UnixTimeOf(s.now)
		})
		s.history.endedByOthers(s, name)
	}
}

// quiet is how long no request is under way before peace begins.
const quiet = 2 * time.Minute

// patience is how many rounds of peace may pass until the goal is reached.
const patience = 400

// rests lets one process work in peace, and returns why the goal was not reached.
func (f *faults) rests(s *server, p *process) string {
	s.late, s.evictions = nil, nil
	s.nodes = map[string]pool.Node{"node-0": {Name: "node-0"}}
	s.next()
	s.commit()
	for s.object.Deleting || !s.object.Exists() {
		f.collects(s)
	}
	f.changeObject(s, func(o *pool.Object) {
		o.Paused, o.PausedUntil, o.Strategy.OnDelete, o.Strategy.Partition = false, plan.Moment{}, false, pool.Share{}
		if o.Strategy.Policy == pool.InPlaceOnly {
			o.Strategy.Policy = pool.InPlaceIfPossible
		}
	})
	s.repairs()
	for s.lease.Holder == byHand || s.lease.Unreadable != "" {
		f.holds(s)
	}
	s.now = s.now.Add(quiet)
	why := ""
	for range patience {
		if len(s.history.broken) > 0 {
			return ""
		}
		f.goesOn(s, p)
		if why = missed(s); why == "" && len(p.steps) == 0 {
			return ""
		}
	}
	seen := p.cached()
	return fmt.Sprintf("%s; the plan is %q, the hold %q has %d intents", why, plan.Notation(pool.Plan(seen)), s.lease.Holder, len(s.lease.Intents))
}

// goesOn lets one process, which sees everything, and Kubernetes work for a second.
func (f *faults) goesOn(s *server, p *process) {
	s.now = s.now.Add(time.Second)
	p.objects, p.pods, p.claims, p.leases = s.version, s.version, s.version, s.version
	p.step()
	protects(s)
	f.collects(s)
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		f.bringsFurther(s, name)
	}
}

// missed returns in what the goal is missed: as many pods as asked for, all Ready at the template, each with all of its
// claims, no claim without a pod that does not say so, and a free hold. Pods that a person has taken out of the selector belong
// to nothing.
func missed(s *server) string {
	owned := 0
	for name, p := range s.pods {
		owned += one(p.Owner != "")
		if p.Owner == "" {
			continue
		}
		if !serves(&p) || p.Revision != s.object.Hash || p.Containers[0].Resources != resourcesOf(templateOf(s.object.Hash)) {
			return fmt.Sprintf("pod %s is %s at %s with %+v", name, p.Phase, p.Revision, p.Containers[0].Resources)
		}
		for _, mount := range p.Mounts {
			if c, exists := s.claims[mount.Claim]; !exists || c.Retired {
				return fmt.Sprintf("claim %s exists: %t, retired: %t", mount.Claim, exists, c.Retired)
			}
		}
	}
	if owned != s.object.Replicas {
		return fmt.Sprintf("%d pods exist, %d are asked for", owned, s.object.Replicas)
	}
	for name, c := range s.claims {
		if _, lives := s.pods[pool.PodName(poolName, c.ID)]; !lives && !c.Retired && c.Pool == s.object.UID {
			return fmt.Sprintf("claim %s has no pod and does not say so", name)
		}
	}
	if !s.lease.Holder.Free() || len(s.lease.Intents) > 0 {
		return fmt.Sprintf("the hold %q has %d intents", s.lease.Holder, len(s.lease.Intents))
	}
	if open := s.lease.Rollouts.Open(); open > 0 {
		return fmt.Sprintf("the Lease records %d updates and replacements in progress: %+v", open, s.lease.Rollouts)
	}
	return ""
}
