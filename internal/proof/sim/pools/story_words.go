package pools

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// events are what the script of a story can say. %d is a number.
var events = map[string]func(*story, int){
	"db has %d pods": func(t *story, n int) {
		t.begins = true
		t.creates(n)
	},
	"a person creates db with %d pods": (*story).creates,
	"a person creates db with %d pods, which adopts the pods that match": func(t *story, n int) {
		t.server.object.Adopt = true
		t.creates(n)
	},
	"a person asks for %d pods": func(t *story, n int) { asksFor(n).do(t.server) },
	"the claims of pods that are scaled down are to be deleted": func(t *story, _ int) {
		t.server.faults.changeObject(t.server, func(o *pool.Object) { o.Claim.DeleteWhenScaled = true })
	},
	"a person changes the image to db:%d": (*story).changesImage,
	"a person changes an environment variable": func(t *story, _ int) {
		t.changesTemplate(templateOf(t.server.object.Hash) ^ 2)
	},
	"a person changes the image to db:%d, which no node can pull": func(t *story, n int) {
		t.server.unpullable = fmt.Sprintf("db:%d", n)
		t.changesImage(n)
	},
	"node-%d does not report":      func(t *story, n int) { t.changesNode(n, pool.Node{Silent: t.server.now}) },
	"node-%d reports again":        func(t *story, n int) { t.changesNode(n, pool.Node{}) },
	"a person drains node-%d":      func(t *story, n int) { t.beginsDrain(fmt.Sprintf("node-%d", n)) },
	"a person uncordons node-%d":   func(t *story, n int) { delete(t.cordoned, fmt.Sprintf("node-%d", n)) },
	"a StatefulSet db has %d pods": (*story).beginsWithStatefulSet,
	"a person deletes the StatefulSet without its pods": func(t *story, _ int) {
		for name, p := range t.server.outside {
			p.Owner, p.Version = "", t.server.next()
			t.server.outside[name] = p
			t.server.commit()
		}
	},
}

// do makes an event happen.
func (t *story) do(event string) error {
	for _, words := range slices.Sorted(maps.Keys(events)) {
		n, pattern := 0, regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(words), "%d", `(\d+)`)+"$")
		found := pattern.FindStringSubmatch(event)
		if found == nil {
			continue
		}
		if len(found) > 1 {
			_, _ = fmt.Sscan(found[1], &n) // it consists of digits
		}
		events[words](t, n)
		return nil
	}
	return fmt.Errorf("%q is none of the events that a story can name", event)
}

func (t *story) creates(pods int) {
	s := t.server
	s.object.UID, s.object.Replicas, s.object.Version = "object", pods, s.next()
	s.history.allowed[s.object.Hash] = true
	s.history.asked = append(s.history.asked, asked{s.version, pods})
	s.commit()
}

func (t *story) changesImage(n int) {
	rest := templateOf(t.server.object.Hash) % laterImages &^ 1
	t.changesTemplate(rest | n%2 | n/2*laterImages)
}

func (t *story) changesTemplate(to int) {
	t.server.setTemplate(to)
	t.server.faults.changeObject(t.server, func(*pool.Object) {})
}

func (t *story) changesNode(n int, to pool.Node) {
	to.Name = fmt.Sprintf("node-%d", n)
	t.server.next()
	t.server.nodes[to.Name] = to
	t.server.commit()
}

// beginsWithStatefulSet makes the pods of a StatefulSet of the same template, each with its claim.
func (t *story) beginsWithStatefulSet(pods int) {
	s := t.server
	t.begins, s.outside = true, map[string]pool.Pod{}
	for n := range pods {
		ordinal := fmt.Sprint(n)
		name, claim := pool.PodName(poolName, pool.ID(ordinal)), pool.ClaimName(poolName, "data", pool.ID(ordinal))
		s.claims[claim] = pool.Claim{Name: claim, UID: s.newUID(), Version: s.next(), ID: pool.ID(ordinal), Template: "data"}
		s.outside[name] = pool.Pod{
			Pod:   plan.Pod{Name: name, UID: s.newUID(), Version: s.version, Revision: s.object.Hash + " of the StatefulSet", Phase: plan.Ready, ReadySince: s.now, Created: plan.UnixTimeOf(s.now)},
			Owner: "StatefulSet/db", Scheduled: true, Node: pool.Node{Name: fmt.Sprintf("node-%d", n%len(s.nodes))}, Generation: 1, Observed: 1,
			Containers: []pool.Container{{Name: "db", Image: imageOf(templateOf(s.object.Hash)), ID: "c" + ordinal, Running: true, Resources: resourcesOf(templateOf(s.object.Hash))}},
			Mounts:     []pool.Mount{{Template: "data", Claim: claim}},
		}
		s.commit()
	}
}

// drain is a kubectl drain, which asks for each pod of a node again until none is left.
type drain struct {
	node string
	ask  time.Time         // when it asks next
	said map[string]string // the last answer, by pod
}

// asksAgain is how long kubectl drain waits after an answer that is not yes.
const asksAgain = 5 * time.Second

func (t *story) beginsDrain(node string) {
	t.cordoned[node] = true
	t.drain = &drain{node: node, said: map[string]string{}}
}

// drains makes the client ask for each pod of the node. The review is complete at once, and the API server carries it out.
func (t *story) drains() {
	d, s := t.drain, t.server
	if d == nil {
		return
	}
	on := slices.DeleteFunc(sorted(t.names, s.pods), func(name string) bool { return s.pods[name].Node.Name != d.node })
	if len(on) == 0 {
		t.says("drain", "%s is empty", d.node)
		t.drain = nil
		return
	}
	if s.now.Before(d.ask) {
		return
	}
	d.ask = s.now.Add(asksAgain)
	for _, name := range on {
		if s.pods[name].Phase == plan.Terminating {
			continue
		}
		before, e := s.lease, s.review(s.pods[name], s.processes[0])
		s.chosen(ends["is carried out"], 0, func() {
			for len(e.steps) > 0 {
				e.step(s)
			}
		})
		answer := "may be evicted"
		if !e.said.Allowed() {
			answer = "not now, " + e.said.Because.String()
		}
		if d.said[name] != answer {
			t.says("drain", "%s: %s", name, answer)
		}
		d.said[name] = answer
		t.tellsLease(before)
	}
	s.evictions = nil
}

// names are the names that readers see instead of those that are drawn: a, b and c for identities, and revision-1 for templates, in
// the order in which they appear.
type names map[string]string

var drawnNames = regexp.MustCompile(`\b(u|t)\d+\b`)

func (n names) in(text string) string {
	return drawnNames.ReplaceAllStringFunc(text, func(drawn string) string {
		if n[drawn] == "" {
			same := 0
			for other := range n {
				same += one(other[0] == drawn[0])
			}
			n[drawn] = string(rune('a' + same))
			if drawn[0] == 't' {
				n[drawn] = fmt.Sprintf("revision-%d", same+1)
			}
		}
		return n[drawn]
	})
}

// sorted returns the keys of maps in the order of the names that readers see.
func sorted[V any](n names, all ...map[string]V) []string {
	var keys []string
	for _, m := range all {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys) // those that get their names now get them in this order
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(n.in(a), n.in(b)) })
	return slices.Compact(keys)
}
