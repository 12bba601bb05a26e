// Package pools simulates StatefulClusters: an API server, kubelets, people, and two processes of lockstep that both
// believe to lead. Each process plans with the real rules, on caches that are late, each kind for itself. It can sleep or die
// between any two requests. Requests get lost, arrive late, or lose their reply.
//
//	eviction  the review of a client's request by one process                        evictions.go
//	server    the objects, and what the rules of the history say about each change   server.go, history.go
//	process   one process of lockstep, one step at a time                            process.go, requests.go
//	run       a schedule from a seed: steps, faults, and then peace                  run.go
//	explore   every history of a small world                                         explore.go
//	story     a history as a text for people                                         story.go, story_words.go
package pools

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

const poolName = "db"

// state are the objects at one version.
type state struct {
	object    pool.Object
	revisions []pool.Revision
	pods      map[string]pool.Pod
	claims    map[string]pool.Claim
	lease     plan.Record
	relabels  bool // a webhook changes the labels of new pods
	rejects   bool // nodes reject new pods
	refuses   bool // the API server creates no claim named logs
	nodes     map[string]pool.Node
	outside   map[string]pool.Pod // pods that match the selector and belong to a StatefulSet, or to nothing, without the labels of the object
}

func (s state) clone() state {
	s.revisions, s.pods, s.claims, s.nodes, s.outside = slices.Clone(s.revisions), maps.Clone(s.pods), maps.Clone(s.claims), maps.Clone(s.nodes), maps.Clone(s.outside)
	s.lease.Intents, s.lease.Waiting = slices.Clone(s.lease.Intents), slices.Clone(s.lease.Waiting)
	return s
}

// server is an API server. Each change has a version.
type server struct {
	state
	now     time.Time
	version plan.Version
	past    []state // by version
	uids    int
	late    []lateRequest
	history history

	faults    *faults
	processes []*process
	evictions []*eviction // that are being reviewed
	trace     []string    // what happened, the last of it

	unpullable string              // an image that no node can pull; empty: there is none
	plans      func([]plan.Action) // is called with each plan before it is carried out; nil: with none

	exploring bool     // states are compared, so everything that leads to the next ones is written down
	budget    budget   // what may still happen in a world that is explored
	printed   []prints // by version, as far as they were needed
}

// mostTraced bounds the trace.
const mostTraced = 400

func (s *server) log(format string, args ...any) {
	if s.exploring {
		return
	}
	if len(s.trace) >= mostTraced {
		s.trace = append(s.trace[:0], s.trace[mostTraced/2:]...)
	}
	s.trace = append(s.trace, fmt.Sprintf("%s v%d ", s.now.Sub(begin).Round(time.Millisecond), s.version)+fmt.Sprintf(format, args...))
}

// lateRequest is a request that the API server still works on although its sender has given up.
type lateRequest struct {
	until time.Time
	by    int    // the process that sent it
	what  string // why it was sent
	apply func(*process)
}

// begin is the time and the version at which a simulation begins.
var begin = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

const firstVersion = 1

func newServer(replicas int) *server {
	s := &server{now: begin, version: firstVersion}
	s.pods, s.claims, s.nodes = map[string]pool.Pod{}, map[string]pool.Claim{}, map[string]pool.Node{}
	for n := range 3 {
		name := fmt.Sprintf("node-%d", n)
		s.nodes[name] = pool.Node{Name: name}
	}
	s.object = pool.Object{
		UID: "object", Version: firstVersion, Replicas: replicas, RevisionHistory: 2, HandoverTimeout: 5 * time.Minute,
		Liveness: pool.Liveness{NodeLost: 2 * time.Minute, Startup: time.Minute, CrashLoop: 10 * time.Minute, MaxUnhealthy: pool.Share{Percent: 40}},
		Strategy: pool.Strategy{MaxUnavailable: pool.Share{Pods: 1}, Policy: pool.InPlaceIfPossible},
	}
	s.history = newHistory(s)
	s.setTemplate(0)
	s.history.allowed[s.object.Hash] = true
	s.past = []state{s.clone(), s.clone()}
	return s
}

// keeps sets the policy with which the object was created.
func (s *server) keeps(policy pool.KeepPolicy) {
	s.object.Keep = policy
	for i := range s.past {
		s.past[i].object.Keep = policy
	}
}

// beginsAt sets the template with which the object was created.
func (s *server) beginsAt(template int) {
	s.setTemplate(template)
	s.history.allowed[s.object.Hash] = true
	for i := range s.past {
		s.past[i].object = s.object
	}
}

// dataOnly is added to the number of a template that has only the claim template data.
const dataOnly = 4

// withoutClaims is added to the number of a template that has no claim template.
const withoutClaims = 16

// withMoreCPU is added to the number of a template whose container asks for more.
const withMoreCPU = 8

// setTemplate sets the template: its image is the number modulo 2, but for laterImages, and the rest of it is the number divided by 2.
func (s *server) setTemplate(n int) {
	s.object.Hash = fmt.Sprintf("t%d", n)
	s.object.Templates = pool.Templates{Pod: fmt.Append(nil, n), Claims: claimsOf(n)}
}

func claimsOf(template int) []pool.ClaimTemplate {
	switch {
	case template&withoutClaims != 0:
		return nil
	case template&dataOnly != 0:
		return []pool.ClaimTemplate{{Name: "data"}}
	}
	return []pool.ClaimTemplate{{Name: "data"}, {Name: "index"}, {Name: "logs"}}
}

// templateOf returns the number of the template of a revision.
func templateOf(revision string) int {
	var n int
	_, _ = fmt.Sscanf(revision, "t%d", &n) // a name of another form is template 0
	return n
}

func resourcesOf(template int) pool.Resources {
	return pool.Resources{CPURequest: fmt.Sprint(1 + template&withMoreCPU)}
}

// laterImages is added to the number of a template for each two images after the first two.
const laterImages = 32

func imageOf(template int) string { return fmt.Sprintf("db:%d", template%2+template/laterImages*2) }

// changes are how each revision differs from the template.
func changes(o *pool.Object, revisions []pool.Revision) map[string]pool.Change {
	to, all := templateOf(o.Hash), map[string]pool.Change{}
	for _, r := range revisions {
		from := templateOf(r.Name)
		c := pool.Change{From: map[string]string{"db": imageOf(from)}, InPlace: (from^to)%laterImages&^(1|withMoreCPU) == 0 && from != to}
		if (from^to)&withMoreCPU != 0 {
			c.Resources = map[string]pool.Resources{"db": resourcesOf(to)}
		}
		if imageOf(from) != imageOf(to) {
			c.Images = map[string]string{"db": imageOf(to)}
		}
		all[r.Name] = c
	}
	return all
}

// commit makes the changes since the last commit a version.
func (s *server) commit() {
	s.past = append(s.past, s.clone())
	s.history.judge(s)
}

// next returns the version of the change that is being made.
func (s *server) next() plan.Version {
	s.version++
	return s.version
}

func (s *server) newUID() string {
	s.uids++
	return fmt.Sprintf("u%d", s.uids)
}

// changePod changes a pod, which gets a new version.
func (s *server) changePod(name string, change func(*pool.Pod)) {
	p := s.pods[name]
	p.Version = s.next()
	change(&p)
	s.pods[name] = p
	s.commit()
}

func (s *server) removePod(name string) {
	s.next()
	delete(s.pods, name)
	s.commit()
}

// terminate begins the deletion of a pod. One that runs nowhere is gone at once.
func (s *server) terminate(name string) {
	if p := s.pods[name]; !p.Scheduled {
		s.removePod(name)
		return
	}
	s.changePod(name, func(p *pool.Pod) {
		p.Phase, p.ReadySince, p.EndsBy = plan.Terminating, time.Time{}, s.now.Add(30*time.Second)
	})
}

// snapshot returns what lists show, each of its own version.
func (s *server) snapshot(objects, pods, claims plan.Version, live bool) pool.Snapshot {
	from := func(at plan.Version) *state { return &s.past[at] }
	object, revisions := from(objects).object, slices.Clone(from(objects).revisions)
	if !object.Exists() {
		object, revisions = pool.Object{}, nil
	}
	snapshot := pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: poolName}, Now: s.now, Live: live,
		Object: object, Revisions: revisions, ObjectsAt: objects, PodsAt: pods, ClaimsAt: claims,
		Draw: func() pool.ID { return pool.ID(s.newUID()) },
	}
	for _, name := range slices.Sorted(maps.Keys(from(pods).pods)) {
		p := from(pods).pods[name]
		if p.Node.Name != "" {
			node, exists := from(pods).nodes[p.Node.Name]
			if !exists {
				node = pool.Node{Name: p.Node.Name, Gone: true}
			}
			p.Node = node
		}
		snapshot.Pods = append(snapshot.Pods, p)
	}
	for _, name := range slices.Sorted(maps.Keys(from(claims).claims)) {
		if c := from(claims).claims[name]; c.Pool != "" { // otherwise it lacks the labels by which claims are observed
			snapshot.Claims = append(snapshot.Claims, c)
		}
	}
	snapshot.Changes = changes(&snapshot.Object, snapshot.Revisions)
	for i := range snapshot.Pods {
		if p := &snapshot.Pods[i]; templateOf(p.Revision) == templateOf(snapshot.Object.Hash) {
			snapshot.Changes[p.UID] = pool.Change{Equal: true}
		} else {
			snapshot.Changes[p.UID] = pool.Change{}
		}
	}
	return snapshot
}
