package apiserver_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// rolloutsAnnotation is the annotation of a group's Lease that records rollouts.
const rolloutsAnnotation = "lockstep.dev/rollouts"

// rolledGroup is a rollout in the output of kubectl lockstep history.
type rolledGroup struct {
	Since   time.Time
	Until   *time.Time
	TraceID string
	Zones   []rolledZone
}

type rolledZone struct {
	Zone, From, To string
	Since          time.Time
	Until          *time.Time
	Replaced       int
}

// String returns the zones of a rollout with their revisions, and whether each has ended.
func (g rolledGroup) String() string {
	var ways []string
	for _, z := range g.Zones {
		ways = append(ways, fmt.Sprintf("%s %s->%s replaced %d over %t", z.Zone, z.From, z.To, z.Replaced, z.Until != nil))
	}
	return fmt.Sprintf("%s; over %t", strings.Join(ways, ", "), g.Until != nil)
}

// remembered returns the rollouts that the Lease of the default group records, newest first, in the
// form in which kubectl lockstep must print them.
func (s *scene) remembered() []rolledGroup {
	s.t.Helper()
	type zone struct {
		Name, From, To string
		Since, Until   time.Time
		Replaced       int
	}
	type group struct {
		Trace        string
		Since, Until time.Time
		Zones        []zone
	}
	var doc struct {
		Current  *group
		Finished []group
	}
	if text := s.lease(theLease).Annotations[rolloutsAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			s.t.Fatal(err)
		}
	}
	if doc.Current != nil {
		doc.Finished = slices.Insert(doc.Finished, 0, *doc.Current)
	}
	all := []rolledGroup{}
	for _, g := range doc.Finished {
		shown := rolledGroup{Since: g.Since, Until: toTheSecond(g.Until), Zones: []rolledZone{}}
		if parts := strings.Split(g.Trace, "-"); len(parts) == 4 {
			shown.TraceID = parts[1]
		}
		for _, z := range g.Zones {
			shown.Zones = append(shown.Zones, rolledZone{z.Name, z.From, z.To, z.Since, toTheSecond(z.Until), z.Replaced})
		}
		all = append(all, shown)
	}
	return all
}

func toTheSecond(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.Truncate(time.Second))
}

// showsHistory waits until kubectl lockstep history prints these rollouts, which must equal
// those of the Lease, and returns them.
func (p person) showsHistory(want ...string) []rolledGroup {
	s := p.scene
	s.t.Helper()
	var shown []rolledGroup
	s.eventually(fmt.Sprintf("history is %q", want), func(present) error {
		p.reads(&shown, 0, "history", defaultGroup)
		var got []string
		for _, g := range shown {
			got = append(got, g.String())
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("it is %q", got)
		}
		if lease := s.remembered(); !reflect.DeepEqual(shown, lease) {
			return fmt.Errorf("it prints\n%+v\nthe Lease contains\n%+v", shown, lease)
		}
		return nil
	})
	return shown
}

// revisions returns the update revision of each zone.
func (s *scene) revisions() map[string]string {
	revisions := map[string]string{}
	for name, set := range s.witness.now().sets {
		revisions[name] = set.Status.UpdateRevision
	}
	return revisions
}

func TestKubectlHistoryShowsTheRolloutsOfTheLease(t *testing.T) {
	t.Parallel()
	s := managed(t)
	p := s.person()
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	if out := p.ends(0, "history", defaultGroup); !strings.Contains(out, "has no rollout in its Lease") {
		t.Errorf("before the first rollout history says:\n%s", out)
	}
	first := s.revisions()
	began := time.Now()
	s.changeAll(version(2))
	s.settled()
	second := s.revisions()
	done := fmt.Sprintf("zone-a %s->%s replaced 2 over true, zone-b %s->%s replaced 1 over true; over true",
		first["zone-a"], second["zone-a"], first["zone-b"], second["zone-b"])
	s.hasItsTimes(p.showsHistory(done)[0], began)

	began = time.Now()
	s.changeAll(version(3), gated())
	s.awaitDeletions(4)
	s.isBroken("zone-a-0")
	third := s.revisions()
	way := fmt.Sprintf("zone-a %s->%s replaced ", second["zone-a"], third["zone-a"])
	p.showsHistory(way+"0 over false; over false", done)
	s.gate("zone-a-0", corev1.ConditionTrue)
	s.awaitDeletions(5)
	p.showsHistory(way+"1 over false; over false", done)
	s.opensGates("zone-a-1", "zone-b-0")
	s.settled()
	third = s.revisions() // read again, because zone-b may not have had its new revision before
	again := fmt.Sprintf("%s2 over true, zone-b %s->%s replaced 1 over true; over true", way, second["zone-b"], third["zone-b"])
	s.hasItsTimes(p.showsHistory(again, done)[0], began)
	text := p.ends(0, "history", defaultGroup)
	for _, zone := range []string{"zone-a", "zone-b"} {
		for _, way := range [][2]string{{first[zone], second[zone]}, {second[zone], third[zone]}} {
			if !regexp.MustCompile(`\n  ` + zone + ` .* ` + way[0] + ` +` + way[1] + `\n`).MatchString(text) {
				t.Errorf("history does not show %s from %s to %s:\n%s", zone, way[0], way[1], text)
			}
		}
	}
	if strings.Count(text, " done in ") != 2 || strings.Contains(text, "under way") {
		t.Errorf("history does not show two rollouts that are done:\n%s", text)
	}
}

// hasItsTimes checks the times of a finished rollout that was requested at requested, and
// of its zones. The times of a zone are those of its hold. It begins between the event
// before it and its first deletion. It ends between the readiness of its last pod and the
// next event, according to the API server.
func (s *scene) hasItsTimes(g rolledGroup, requested time.Time) {
	s.t.Helper()
	before := requested
	for i, z := range g.Zones {
		first, last := s.replacedIn(z.Zone, requested)
		next := s.freed()
		if i+1 < len(g.Zones) {
			next, _ = s.replacedIn(g.Zones[i+1].Zone, requested)
		}
		if !between(z.Since, before, first) || !between(*z.Until, last, next) {
			s.t.Errorf("%s lasts from %s to %s; its turn began at %s, its pods last from %s to %s, and the next event was at %s",
				z.Zone, z.Since, z.Until, before, first, last, next)
		}
		before = last
	}
	if begin, end := g.Zones[0], last(g.Zones); !between(g.Since, begin.Since, begin.Since) || !between(*g.Until, *end.Until, *end.Until) {
		s.t.Errorf("the rollout lasts from %s to %s, its first zone from %s, and its last one to %s", g.Since, g.Until, begin.Since, end.Until)
	}
}

// between reports whether a time lies between two others, with a tolerance: times of the API server
// and of Leases are whole seconds.
func between(t, from, to time.Time) bool {
	const about = 2 * time.Second
	return !t.Before(from.Add(-about)) && !t.After(to.Add(about))
}

// replacedIn returns when the first pod of a zone was deleted since a time, and when its last one
// was Ready again.
func (s *scene) replacedIn(zone string, since time.Time) (first, last time.Time) {
	s.t.Helper()
	for _, d := range s.disruptions() {
		if zoneOf(d.Pod) == zone && !d.At.Before(since) {
			first = earliest(first, d.At)
			last = latest(last, s.readySince(d.Pod))
		}
	}
	return first, last
}

// freed returns when the observer last received a release of the group's hold.
func (s *scene) freed() (at time.Time) {
	s.t.Helper()
	history, err := s.witness.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range slices.Backward(history) {
		switch {
		case f.Hold == nil:
		case f.Hold.Holder != "":
			return at
		default:
			at = f.At
		}
	}
	return at
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
