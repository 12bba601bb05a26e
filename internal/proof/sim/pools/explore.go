package pools

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// World is a small world of which every history is explored: what may happen in it, and how often. Both processes take their
// steps in any order, each of their watches shows the newest state at any time or later, and kubelets act at any time.
type World struct {
	Name     string
	Replicas int
	Settled  bool                 // it begins with pods that serve; otherwise with none
	Earlier  []Incident           // what has happened since then
	Template int                  // with which it begins
	Policy   pool.PodUpdatePolicy // empty: InPlaceIfPossible
	Keep     pool.KeepPolicy
	Surge    bool // one more pod may exist during an update
	Grace    bool // pods leave their clients before they are updated in place
	Deletes  bool // the policy deletes the claims of pods that were scaled down
	Nodes    int  // on which pods run; 0: one

	People    []Incident // in this order, each at any time
	Evictions int
	Faults    int // requests that are lost, that lose their reply, or that arrive late
	Restarts  int
	Breaks    int // pods that serve and break for a while
	Pauses    int // times in which every process sleeps for longer than a plan counts as confirmed
}

// Incident is something that a person does, or that happens to a node.
type Incident struct {
	Name string
	do   func(*server)
}

// asksFor asks for that many replicas.
func asksFor(n int) Incident {
	return Incident{fmt.Sprintf("a person asks for %d", n), func(s *server) {
		s.faults.changeObject(s, func(o *pool.Object) { o.Replicas = n })
		s.history.asked = append(s.history.asked, asked{s.version, n})
	}}
}

func changesTemplate(by int) Incident {
	return Incident{"a person changes the template", func(s *server) {
		s.setTemplate(templateOf(s.object.Hash) ^ by)
		s.faults.changeObject(s, func(*pool.Object) {})
	}}
}

// keepsOutdated leaves as many pods as they are.
func keepsOutdated(pods int) Incident {
	return Incident{fmt.Sprintf("a person sets the partition to %d", pods), func(s *server) {
		s.faults.changeObject(s, func(o *pool.Object) { o.Strategy.Partition = pool.Share{Pods: pods} })
	}}
}

func refusesClaims() Incident {
	return Incident{"the API server creates no claim named logs", func(s *server) { s.refuses = true }}
}

// deletesPod deletes the first pod by name that does not terminate.
func deletesPod() Incident {
	return Incident{"a person deletes a pod", func(s *server) {
		for _, name := range slices.Sorted(maps.Keys(s.pods)) {
			if s.pods[name].Phase != plan.Terminating {
				s.history.endedByOthers(s, name)
				s.terminate(name)
				return
			}
		}
	}}
}

func deletesAClaim() Incident {
	return Incident{"a person deletes a claim", func(s *server) { s.faults.deletesClaim(s) }}
}

// orphansPods begins to delete the object without its pods. The garbage collection completes that, and a person applies the object again.
func orphansPods() Incident {
	return Incident{"a person deletes the object without its pods", func(s *server) {
		s.faults.changeObject(s, func(o *pool.Object) { o.Deleting = true })
	}}
}

func silences(node string) Incident {
	return Incident{node + " falls silent for a long time", func(s *server) {
		s.next()
		s.nodes[node] = pool.Node{Name: node, Silent: s.now.Add(-time.Hour)}
		s.commit()
	}}
}

func shutsDown(node string) Incident {
	return Incident{node + " is shut down in order", func(s *server) { s.shutsDown(node) }}
}

func removes(node string) Incident {
	return Incident{node + " is gone", func(s *server) {
		s.next()
		delete(s.nodes, node)
		s.commit()
	}}
}

func returns(node string) Incident {
	return Incident{node + " is back", func(s *server) {
		s.next()
		s.nodes[node] = pool.Node{Name: node}
		s.commit()
	}}
}

// Exploration is what the exploration of a world has shown.
type Exploration struct {
	States   int
	Complete bool // every state was visited that mostChanges allows
	Moves    int
	Longest  int    // moves to a state
	Goals    int    // states from which the goal was sought in peace
	Broken   string // the first rule that a history broke, or why a goal was missed; empty: none
	History  []string
}

// Explore visits the states of a world, at most so many. From one of goals states, it lets one process work in peace until the
// goal is reached; 0: from none.
func (w World) Explore(most, goals, workers int) Exploration {
	x := &exploration{world: w, most: most, goals: goals, seed: maphash.MakeSeed(), visited: map[uint64]struct{}{}}
	x.more.L = &x.mu
	first := w.begin()
	x.settle(first)
	x.first = first.version
	x.visited[x.fingerprint(first)] = struct{}{}
	x.open = []visit{{state: first}}
	var all sync.WaitGroup
	for range workers {
		all.Go(x.work)
	}
	all.Wait()
	x.result.States, x.result.Complete = len(x.visited), len(x.open) == 0 && x.result.Broken == ""
	return x.result
}

type exploration struct {
	world       World
	most, goals int
	first       plan.Version // of the first state
	seed        maphash.Seed

	mu      sync.Mutex
	more    sync.Cond
	open    []visit // one of the last ones is visited next, so that few are open
	busy    int
	visited map[uint64]struct{}
	result  Exploration
}

// visit is a state to visit, and how it was reached.
type visit struct {
	state *server
	path  *path
}

type path struct {
	move   string
	before *path
	length int
}

func (p *path) extended(move string) *path {
	length := 1
	if p != nil {
		length += p.length
	}
	return &path{move, p, length}
}

func (p *path) moves() []string {
	var all []string
	for ; p != nil; p = p.before {
		all = append(all, p.move)
	}
	slices.Reverse(all)
	return all
}

func (x *exploration) work() {
	for {
		v, is := x.next()
		if !is {
			return
		}
		x.expand(v)
		x.mu.Lock()
		x.busy--
		x.more.Broadcast()
		x.mu.Unlock()
	}
}

// nearby is among how many of the last states the next one is drawn, so that a part of a world is not one branch of it.
const nearby = 32

// next returns a state to visit; false if there is none any more.
func (x *exploration) next() (visit, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.open) == 0 && x.busy > 0 && x.result.Broken == "" {
		x.more.Wait()
	}
	if len(x.open) == 0 || x.result.Broken != "" || len(x.visited) >= x.most {
		x.more.Broadcast()
		return visit{}, false
	}
	last := len(x.open) - 1
	chosen := last - rand.IntN(min(len(x.open), nearby))
	v := x.open[chosen]
	x.open[chosen] = x.open[last]
	x.open = x.open[:last]
	x.busy++
	return v, true
}

// expand makes each move that is possible in a state.
func (x *exploration) expand(v visit) {
	x.seeksGoal(v)
	for _, m := range v.state.moves() {
		next := v.state.copy()
		if !m.do(next) {
			continue
		}
		x.settle(next)
		by := v.path.extended(m.name)
		if len(next.history.broken) > 0 {
			x.broke(next.history.broken[0], by)
			return
		}
		seen := x.fingerprint(next)
		x.mu.Lock()
		x.result.Moves++
		if _, known := x.visited[seen]; !known {
			x.visited[seen] = struct{}{}
			x.result.Longest = max(x.result.Longest, by.length)
			if x.continues(next) {
				x.open = append(x.open, visit{next, by})
				x.more.Signal()
			}
		}
		x.mu.Unlock()
	}
}

// continues reports whether a state is expanded: objects have not changed too often.
func (x *exploration) continues(s *server) bool { return int(s.version-x.first) < mostChanges }

// mostChanges is how often objects may change in a history: processes that see old states can write the Lease in turn for
// ever.
const mostChanges = 40

func (x *exploration) seeksGoal(v visit) {
	if x.goals == 0 || x.fingerprint(v.state)%uint64(x.goals) != 0 {
		return
	}
	s := v.state.copy()
	s.faults.peace = true
	missed := s.faults.rests(s, s.processes[0])
	x.mu.Lock()
	x.result.Goals++
	x.mu.Unlock()
	if len(s.history.broken) > 0 {
		missed = s.history.broken[0]
	}
	if missed != "" {
		x.broke("in peace: "+missed, v.path)
	}
}

func (x *exploration) broke(what string, by *path) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.result.Broken == "" {
		x.result.Broken, x.result.History = what, by.moves()
	}
}

// scripted chooses what a move says, and then the first, or the newest.
type scripted struct{ choices []int }

// IntN implements chance.
func (c *scripted) IntN(n int) int {
	if len(c.choices) == 0 {
		return 0
	}
	first := c.choices[0]
	c.choices = c.choices[1:]
	return min(first, n-1)
}

// Uint64N implements chance.
func (*scripted) Uint64N(n uint64) uint64 { return n - 1 }

// budget is what may still happen.
type budget struct {
	people                                      []Incident
	evictions, faults, restarts, breaks, pauses int
}

// begin returns the first state.
func (w World) begin() *server {
	s := newServer(w.Replicas)
	s.exploring = true
	s.object.Strategy.Policy, s.object.Claim.DeleteWhenScaled = cmp.Or(w.Policy, pool.InPlaceIfPossible), w.Deletes
	if s.history.counts = w.Surge || w.Deletes; w.Surge {
		s.object.Strategy.MaxSurge, s.object.Strategy.MaxUnavailable = pool.Share{Pods: 1}, pool.Share{}
	}
	if w.Grace {
		s.object.Strategy.Grace = graceAfter
	}
	for i := range s.past {
		s.past[i].object = s.object
	}
	s.keeps(w.Keep)
	s.beginsAt(w.Template)
	s.operatedWith(&faults{chance: &scripted{}, peace: true})
	if w.Settled {
		if missed := s.faults.rests(s, s.processes[0]); missed != "" {
			panic("the world does not settle: " + missed)
		}
		for _, incident := range w.Earlier {
			incident.do(s)
		}
		for n := 0; len(w.Earlier) > 0 && n < patience; n++ {
			s.faults.goesOn(s, s.processes[0])
		}
		for _, p := range s.processes {
			p.objects, p.pods, p.claims, p.leases = s.version, s.version, s.version, s.version
			p.known = freshness.Known{}
		}
	}
	s.nodes = map[string]pool.Node{}
	for n := range max(1, w.Nodes) {
		name := fmt.Sprintf("node-%d", n)
		s.nodes[name] = pool.Node{Name: name}
	}
	for n, name := range slices.Sorted(maps.Keys(s.pods)) {
		p := s.pods[name]
		p.Node.Name = fmt.Sprintf("node-%d", n%max(1, w.Nodes))
		s.pods[name] = p
	}
	s.past[s.version] = s.state.clone()
	s.faults.peace = false
	s.budget = budget{w.People, w.Evictions, w.Faults, w.Restarts, w.Breaks, w.Pauses}
	return s
}

// move is something that can happen in a state. It returns whether it did.
type move struct {
	name string
	do   func(*server) bool
}

// fates are what becomes of a request, as choices of faults.send.
var fates = map[string][]int{"is lost": {0, 0}, "loses its reply": {0, 1}, "is late": {0, 2}}

// ends are what becomes of an eviction that was allowed, as choices of eviction.carriedOut.
var ends = map[string][]int{"is refused by another webhook": {0}, "is late": {1, 0}, "is carried out": {1, 1}}

// moves returns what can happen in a state.
func (s *server) moves() []move {
	var all []move
	add := func(name string, do func(*server) bool) { all = append(all, move{name, do}) }
	always := func(do func(*server)) func(*server) bool { return func(s *server) bool { do(s); return true } }
	for no, p := range s.processes {
		add(p.name+" goes on", always(func(s *server) { s.processes[no].step() }))
		if s.budget.faults > 0 && len(p.steps) > 0 {
			for _, fate := range slices.Sorted(maps.Keys(fates)) {
				add(p.name+" goes on, and a request "+fate, func(s *server) bool {
					s.budget.faults--
					return s.chosen(fates[fate], 100, func() { s.processes[no].step() })
				})
			}
		}
		for kind, at := range p.watches() {
			if *at < s.version {
				add(fmt.Sprintf("%s sees the newest %s", p.name, kinds[kind]), always(func(s *server) { *s.processes[no].watches()[kind] = s.version }))
			}
		}
		if s.budget.restarts > 0 {
			add(p.name+" restarts", always(func(s *server) {
				s.budget.restarts--
				p := s.processes[no]
				objects, pods, claims, leases := p.objects, p.pods, p.claims, p.leases
				p.restart()
				p.objects, p.pods, p.claims, p.leases = objects, pods, claims, leases
			}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		breaks := s.breaks(name)
		if breaks && s.budget.breaks == 0 {
			continue
		}
		add("the kubelet of "+name+" acts", func(s *server) bool {
			before := s.version
			s.budget.breaks -= one(breaks)
			s.faults.bringsFurther(s, name)
			return s.version > before
		})
	}
	if s.hasGarbage() {
		add("the garbage collection does a step", func(s *server) bool { before := s.version; s.faults.collects(s); return s.version > before })
	}
	add("claims end", func(s *server) bool { before := s.version; protects(s); return s.version > before })
	for i := range s.late {
		add("a late request arrives", always(func(s *server) {
			r := s.late[i]
			s.late = slices.Delete(slices.Clone(s.late), i, i+1)
			r.apply(s.processes[r.by])
		}))
	}
	return append(all, s.movesOfClients()...)
}

// movesOfClients returns what people and clients can do.
func (s *server) movesOfClients() []move {
	var all []move
	if b := &s.budget; len(b.people) > 0 {
		all = append(all, move{b.people[0].Name, func(s *server) bool {
			first := s.budget.people[0]
			s.budget.people = s.budget.people[1:]
			first.do(s)
			return true
		}})
	}
	serving := slices.DeleteFunc(slices.Sorted(maps.Keys(s.pods)), func(name string) bool { p := s.pods[name]; return !serves(&p) })
	for i, name := range serving {
		for no := range s.processes {
			if s.budget.evictions > 0 {
				all = append(all, move{fmt.Sprintf("a client evicts %s, process-%d reviews it", name, no), func(s *server) bool {
					s.budget.evictions--
					return s.chosen([]int{1, i}, 0, func() { s.faults.evicts(s, s.processes[no]) })
				}})
			}
		}
	}
	for i, e := range s.evictions {
		all = append(all, move{"the review of " + e.ask.Pod + " goes on", func(s *server) bool { s.evictions[i].step(s); return true }})
		for _, end := range slices.Sorted(maps.Keys(ends)) {
			all = append(all, move{"the review of " + e.ask.Pod + " goes on, and the eviction " + end, func(s *server) bool {
				return s.chosen(ends[end], 0, func() { s.evictions[i].step(s) })
			}})
		}
	}
	if s.budget.pauses > 0 {
		all = append(all, move{"all processes sleep", func(s *server) bool {
			s.budget.pauses--
			s.now = s.now.Add(2 * hold.ConfirmedFor)
			return true
		}})
	}
	return all
}

// chosen makes a move with these choices. It returns whether all of them were made.
func (s *server) chosen(choices []int, failing int, do func()) bool {
	chance := &scripted{slices.Clone(choices)}
	s.faults.chance, s.faults.failing = chance, failing
	do()
	s.faults.chance, s.faults.failing = &scripted{}, 0
	return len(chance.choices) == 0
}

// breaks reports whether the next thing that the kubelet of a pod does is that the pod breaks.
func (s *server) breaks(name string) bool {
	p := s.pods[name]
	node, exists := s.nodes[p.Node.Name]
	return serves(&p) && exists && node.Silent.IsZero()
}

// kinds are the kinds that a process watches.
var kinds = [...]string{"objects", "pods", "claims", "Leases"}

// watches returns the versions that the watches of a process have reached, by kind.
func (p *process) watches() [len(kinds)]*plan.Version {
	return [...]*plan.Version{&p.objects, &p.pods, &p.claims, &p.leases}
}

// copy returns a server that changes independently.
func (s *server) copy() *server {
	next := *s
	next.state = s.state.clone()
	next.past, next.printed = slices.Clip(s.past), slices.Clone(s.printed)
	next.late, next.evictions, next.trace = slices.Clip(s.late), nil, nil
	next.history = s.history.copy()
	next.faults = &faults{chance: &scripted{}}
	for _, e := range s.evictions {
		same := *e
		next.evictions = append(next.evictions, &same)
	}
	next.processes = nil
	for _, p := range s.processes {
		same := *p
		same.server, same.known, same.ages, same.taken, same.steps = &next, p.known.Clone(), maps.Clone(p.ages), maps.Clone(p.taken), slices.Clip(p.steps)
		next.processes = append(next.processes, &same)
	}
	return &next
}

func (h history) copy() history {
	h.allowed, h.bornAs, h.noted, h.active, h.surplus = maps.Clone(h.allowed), maps.Clone(h.bornAs), maps.Clone(h.noted), maps.Clone(h.active), maps.Clone(h.surplus)
	h.notedAt = maps.Clone(h.notedAt)
	h.updating, h.filling, h.birth, h.kept, h.ran = maps.Clone(h.updating), maps.Clone(h.filling), maps.Clone(h.birth), maps.Clone(h.kept), maps.Clone(h.ran)
	h.asked, h.left, h.evictees = slices.Clip(h.asked), slices.Clip(h.left), slices.Clip(h.evictees)
	had := map[pool.ID]map[string]string{}
	for id, claims := range h.had {
		had[id] = maps.Clone(claims)
	}
	h.had, h.everHad = had, maps.Clone(h.everHad)
	for id, names := range h.everHad {
		h.everHad[id] = maps.Clone(names)
	}
	return h
}

// fingerprint returns a number that differs for states that differ in anything on which the future, or the judgement of it,
// depends.
func (x *exploration) fingerprint(s *server) uint64 {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %+v %d %d %d %d %d %d|", s.version, s.now.UnixNano(), x.printsOf(s, s.version), s.history, len(s.budget.people), s.budget.evictions, s.budget.faults, s.budget.restarts, s.budget.breaks, s.budget.pauses)
	for _, p := range s.processes {
		for kind, at := range p.watches() {
			fmt.Fprintf(&b, "%d %d|", *at, x.printsOf(s, *at)[kind])
		}
		fmt.Fprintf(&b, "%+v %+v %t %v %v %d %+v %t|", p.known, p.lease, p.own, p.ages, p.taken, len(p.steps), p.attempt, p.deferred)
	}
	for _, r := range s.late {
		fmt.Fprintf(&b, "%d %v %s|", r.by, r.until, r.what)
	}
	for _, e := range s.evictions {
		fmt.Fprintf(&b, "%d %+v %d %v %+v %d %s|", e.by, e.ask, e.version, e.until, e.read, len(e.steps), e.doing)
	}
	return maphash.String(x.seed, b.String())
}

// prints are numbers of the objects of each kind at a version.
type prints [len(kinds)]uint64

func (x *exploration) printsOf(s *server, at plan.Version) prints {
	for n := len(s.printed); n < len(s.past); n++ {
		then := &s.past[n]
		s.printed = append(s.printed, prints{
			x.printOf(then.object, then.revisions), x.printOf(then.pods, then.nodes), x.printOf(then.claims), x.printOf(then.lease),
		})
	}
	return s.printed[at]
}

func (x *exploration) printOf(values ...any) uint64 {
	return maphash.String(x.seed, fmt.Sprintf("%+v", values))
}

// settle ends reviews that have no further step. A watch that has nothing to show shows the newest version at once, so that
// states that differ in nothing else are the same.
func (x *exploration) settle(s *server) {
	s.evictions = slices.DeleteFunc(s.evictions, func(e *eviction) bool { return len(e.steps) == 0 })
	newest := x.printsOf(s, s.version)
	for _, p := range s.processes {
		for kind, at := range p.watches() {
			if x.printsOf(s, *at)[kind] == newest[kind] {
				*at = s.version
			}
		}
	}
}
