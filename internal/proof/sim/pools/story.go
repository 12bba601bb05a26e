package pools

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Tell returns a story as a text. The lines of the script that begin with "#" say what it shows. Those that begin with "*" are
// what happens, in the words of story_words.go: each one once nothing more changes, or some time after the one before. Below them
// Tell writes what Kubernetes and one process of lockstep do. All other lines of the script are left out, so that a story is
// the script of itself. Nothing goes wrong that the story does not name. It is an error if a rule is broken, or if the story does
// not end at its goal.
func Tell(script string) (string, error) {
	t := newStory()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			t.line("%s", line)
		case strings.HasPrefix(line, "* "):
			if err := t.happens(strings.TrimPrefix(line, "* ")); err != nil {
				return t.String(), err
			}
		}
	}
	t.toRest()
	t.explains()
	if missed := missed(t.server); missed != "" {
		return t.String(), fmt.Errorf("the story does not end at its goal: %s", missed)
	}
	if broken := t.server.history.broken; len(broken) > 0 {
		return t.String(), fmt.Errorf("the story breaks rules: %q", broken)
	}
	return t.String(), nil
}

// story is the log of a server with one process.
type story struct {
	server *server
	text   strings.Builder
	names  names

	happened bool
	begins   bool      // what the script names last is how the story begins
	began    time.Time // when the last thing happened that the script names
	stamp    string    // of the last line
	actor    string    // of the last line
	waits    string    // the last ones
	looks    map[string]bool
	cordoned map[string]bool
	drain    *drain // nil: there is none
}

func newStory() *story {
	s := newServer(0)
	s.object.UID, s.object.Claim.DeleteWhenScaled = "", false
	s.beginsAt(firstTemplate)
	s.operatedWith(&faults{chance: &scripted{}, peace: true})
	t := &story{server: s, names: names{}, began: s.now, looks: map[string]bool{}, cordoned: map[string]bool{}}
	s.plans = t.plans
	return t
}

// firstTemplate is the number of the template with which stories begin.
const firstTemplate = 1 | dataOnly

// String returns the text so far.
func (t *story) String() string { return t.text.String() }

func (t *story) line(format string, args ...any) {
	t.text.WriteString(t.names.in(strings.TrimRight(fmt.Sprintf(format, args...), " ")) + "\n")
}

// says adds a line about what one of those that act does. The time and the one who acts stand only where they change.
func (t *story) says(actor, format string, args ...any) {
	text := t.names.in(fmt.Sprintf(format, args...))
	if t.begins {
		return
	}
	stamp, who := t.server.now.Sub(t.began).String(), actor
	if stamp == t.stamp {
		stamp = ""
		if actor == t.actor {
			who = ""
		}
	} else {
		t.stamp = stamp
	}
	t.actor = actor
	t.line("%7s  %-10s  %s", stamp, who, text)
}

// happens lets something happen, once nothing more changes or after a time.
func (t *story) happens(event string) error {
	after, what, is := strings.Cut(event, " later, ")
	d, err := time.ParseDuration(after)
	switch {
	case is && err == nil:
		for until := t.began.Add(d); t.server.now.Before(until); {
			t.round()
		}
	case t.happened:
		t.toRest()
		fallthrough
	default:
		what = event
	}
	t.happened = true
	t.line("\n* %s", event)
	t.began, t.stamp, t.begins = t.server.now, "", false
	clear(t.looks)
	return t.do(what)
}

// rest is how long nothing changes until nothing more is expected to.
const rest = 15 * time.Minute

// toRest lets rounds pass until nothing more changes, and then shows what exists.
func (t *story) toRest() {
	written, since := t.text.Len(), t.server.now
	if !t.happened {
		return
	}
	for t.server.now.Sub(since) < rest {
		t.round()
		if t.text.Len() != written {
			written, since = t.text.Len(), t.server.now
		}
	}
	if t.stamp == "" && !t.begins {
		t.line("    nothing changes")
		return
	}
	t.shows()
}

// round is a second: a process that sees everything does a whole reconcile, clients ask, and Kubernetes works.
func (t *story) round() {
	s := t.server
	p := s.processes[0]
	s.now = s.now.Add(time.Second)
	p.objects, p.pods, p.claims, p.leases = s.version, s.version, s.version, s.version
	before := s.state.clone()
	for p.step(); len(p.steps) > 0; {
		p.step()
	}
	t.tellsLease(before.lease)
	t.drains()
	before = s.state.clone()
	protects(s)
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		if !t.schedules(name) {
			s.faults.bringsFurther(s, name)
		}
	}
	t.tellsPods(before.pods)
}

// schedules puts a pod on the node that has the fewest and takes pods. It returns whether it did.
func (t *story) schedules(name string) bool {
	s := t.server
	if p := s.pods[name]; p.Scheduled || p.Gated || p.Phase == plan.Terminating {
		return false
	}
	on := map[string]int{}
	for _, p := range s.pods {
		on[p.Node.Name]++
	}
	var best string
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		takes := s.nodes[node].Silent.IsZero() && !t.cordoned[node]
		if takes && (best == "" || on[node] < on[best]) {
			best = node
		}
	}
	if best != "" {
		s.changePod(name, func(p *pool.Pod) { p.Scheduled, p.Node = true, pool.Node{Name: best} })
	}
	return best != ""
}

// plans tells what a process is about to do, and what it waits for if that has changed. What is only looked up stands once.
func (t *story) plans(steps []plan.Action) {
	var waits []string
	for _, a := range steps {
		switch effect := a.Effect(); {
		case effect == plan.Effect{}:
			waits = append(waits, a.String())
		case effect.Visible || effect.Records || !t.looks[a.String()]:
			t.looks[a.String()] = true
			t.says("lockstep", "%s", a)
		}
	}
	if awaited := strings.Join(waits, "\n"); awaited != t.waits {
		t.waits = awaited
		for _, wait := range waits {
			t.says("lockstep", "%s", wait)
		}
	}
}

// tellsLease tells what the Lease says, if that has changed.
func (t *story) tellsLease(before plan.Record) {
	if now := t.recorded(t.server.lease); now != t.recorded(before) {
		t.says("Lease", "%s", now)
	}
}

func (t *story) recorded(r plan.Record) string {
	var about []string
	if part := pool.PartOf(r.Part); part.Recorded {
		about = append(about, fmt.Sprintf("%d replicas", part.Replicas))
	}
	for _, i := range r.Intents {
		about = append(about, fmt.Sprintf("%s %s", i.Pod, i.Cause))
	}
	for _, w := range r.Waiting {
		about = append(about, fmt.Sprintf("%s of %s waits", w.Operation, w.Zone))
	}
	holder := "free"
	if !r.Holder.Free() {
		holder = string(r.Holder)
	}
	if len(about) == 0 {
		return holder
	}
	return holder + ": " + strings.Join(about, ", ")
}

// tellsPods tells what Kubernetes has done with pods.
func (t *story) tellsPods(before map[string]pool.Pod) {
	for _, name := range sorted(t.names, before, t.server.pods) {
		was, existed := before[name]
		is, exists := t.server.pods[name]
		switch {
		case !exists:
			t.says("Kubernetes", "%s is gone", name)
		case !existed, is.Phase == was.Phase && running(&is) == running(&was):
		case is.Phase == plan.Ready && running(&was) != "" && running(&is) != running(&was):
			t.says("Kubernetes", "%s runs %s on %s, and is Ready again", name, is.Containers[0].Image, is.Node.Name)
		case is.Phase == plan.Ready:
			t.says("Kubernetes", "%s runs %s on %s, and is Ready", name, is.Containers[0].Image, is.Node.Name)
		case is.Phase == plan.Failing:
			t.says("Kubernetes", "%s fails: %s of %s", name, is.Why, is.Containers[0].Image)
		}
	}
}

// running returns the container that runs in a pod.
func running(p *pool.Pod) string { return p.Containers[0].ID }

// shows writes what exists.
func (t *story) shows() {
	s := t.server
	title := "nothing more happens"
	switch {
	case t.begins:
		title = "at first"
	case missed(s) == "":
		title = "at rest"
	}
	t.line("\n    %s; the Lease: %s", title, t.recorded(s.lease))
	used := map[string]bool{}
	for _, pods := range []map[string]pool.Pod{s.outside, s.pods} {
		for _, name := range sorted(t.names, pods) {
			p := pods[name]
			t.row(&p)
			for _, m := range p.Mounts {
				used[m.Claim] = true
			}
		}
	}
	for _, name := range sorted(t.names, s.claims) {
		if c := s.claims[name]; !used[name] {
			t.line("      claim %s has no pod: %s", c.Name, c.Because)
		}
	}
}

// row writes a line about a pod that exists.
func (t *story) row(p *pool.Pod) {
	claims, remark := "", ""
	for _, m := range p.Mounts {
		claims += "  " + m.Claim
	}
	if p.Owner != t.server.object.UID || p.Owner == "" {
		remark = "  of " + cmp.Or(p.Owner, "nothing")
	}
	t.line("      %-5s %-11s  %s  %s%s%s", t.names.in(p.Name), p.Phase, p.Node.Name, p.Containers[0].Image, claims, remark)
}

// codes are words that may be codes of reasons.
var codes = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// explains writes what the codes of the story mean, in the order in which they appear.
func (t *story) explains() {
	var known []string
	for _, code := range codes.FindAllString(t.String(), -1) {
		if entry, is := reason.Explain(reason.Code(code)); is && !slices.Contains(known, code) {
			if len(known) == 0 {
				t.line("\nThe reasons:\n")
			}
			known = append(known, code)
			t.line("%s", wrapped("  "+code+": "+entry.Sentence))
		}
	}
}

// wrapped returns a text in lines that are not too long.
func wrapped(text string) string {
	const longest = 110
	lines, width := "", 0
	for _, word := range strings.SplitAfter(text, " ") {
		if width += len(word); width > longest {
			lines, width = strings.TrimRight(lines, " ")+"\n      ", 6+len(word)
		}
		lines += word
	}
	return lines
}
