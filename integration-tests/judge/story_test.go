package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// story builds a history fact by fact, a tenth of a second apart: that of a
// namespace which opted in and whose zones have a newer template than their pods.
type story struct {
	namespace string
	facts     []Fact
	requests  []Request
	now       time.Time
	pods      map[string]Pod
	versions  map[string]uint64 // of the pods' last facts
	zones     map[string]Zone

	zoneVersions map[string]uint64 // of the zones' last facts
}

const (
	operatorUser = "system:serviceaccount:lockstep-system:lockstep"
	optIn        = "lockstep.dev/enabled"
)

var clusterWide = Operator{
	User: operatorUser, Selector: labels.SelectorFromSet(labels.Set{optIn: "true"}), Home: "lockstep-system",
}

// operatorAgent is who the operator of a story says it is.
const operatorAgent = "lockstep/first"

// storyBegins is when nothing has happened yet but that a story's world is there.
var storyBegins = newStory().now

// deafFor is a time from the beginning of a story in which caches hear nothing.
func deafFor(d time.Duration) Window { return Window{From: storyBegins, To: storyBegins.Add(d)} }

// lateBy lets caches hear everything late.
func lateBy(d time.Duration) Window {
	return Window{From: storyBegins, To: storyBegins.Add(time.Hour), Late: d}
}

func newStory() *story { return newStoryIn("n") }

// newUnwatchedStory is one of which watches tell nothing.
func newUnwatchedStory(namespace string) *story {
	return &story{namespace: namespace, now: storyBegins}
}

func newStoryIn(namespace string) *story {
	s := &story{
		namespace: namespace, now: time.Unix(0, 0),
		pods: map[string]Pod{}, versions: map[string]uint64{}, zones: map[string]Zone{}, zoneVersions: map[string]uint64{},
	}
	s.labelled("true")
	for _, zone := range []string{"zone-1", "zone-2"} {
		s.zone(zone, func(z *Zone) { z.Revision = "old" })
		s.pod(zone+"-0", nil)
		s.pod(zone+"-1", nil)
		s.zone(zone, func(z *Zone) { z.Revision = "new" })
	}
	return s.later(time.Minute)
}

// rolledAndAgain is a story in which a pod of zone-1 was rolled, and became Ready anew so long
// after it had become Ready.
func rolledAndAgain(after time.Duration) *story {
	return newStory().zone("zone-1", slowly).later(time.Minute).rolls("zone-1", "zone-1-0").later(after-300*time.Millisecond).
		pod("zone-1-0", func(p *Pod) { p.ReadySince = time.Time{} })
}

// young is a story in which pods of zone-1 are Ready, and have been so for a moment.
func young(pods ...string) *story {
	s := newStory().zone("zone-1", slowly).later(time.Minute)
	for _, pod := range pods {
		s.pod(pod, unready).pod(pod, func(p *Pod) { p.Ready = true })
	}
	return s.later(2 * time.Second)
}

func (s *story) later(d time.Duration) *story { s.now = s.now.Add(d); return s }

func (s *story) tell(f Fact) *story {
	s.later(100 * time.Millisecond)
	f.Version, f.At, f.Namespace = uint64(len(s.facts)+1), s.now, s.namespace
	s.facts = append(s.facts, f)
	return s
}

// labelled sets the label of the namespace; no value removes it.
func (s *story) labelled(value string) *story {
	home := &Home{Labels: map[string]string{"example.com/other": "true"}}
	if value != "" {
		home.Labels[optIn] = value
	}
	return s.tell(Fact{Home: home})
}

func (s *story) zone(name string, change func(*Zone)) *story {
	z, known := s.zones[name]
	if !known {
		z = Zone{Name: name, UID: name, Group: "g", Grouped: true, Replicas: 2, Budget: 1, OnDelete: true}
	}
	change(&z)
	s.zones[name] = z
	s.tell(Fact{Zone: &z})
	s.zoneVersions[name] = last(s.facts).Version
	return s
}

func (s *story) pod(name string, change func(*Pod)) *story {
	p, known := s.pods[name]
	if !known {
		zone, _, _ := ordinalOf(name)
		p = Pod{Name: name, UID: name + "@old", Owner: zone, Revision: "old", Ready: true}
	}
	if change != nil {
		change(&p)
	}
	if !p.Ready {
		p.ReadySince = time.Time{}
	} else if p.ReadySince.IsZero() {
		p.ReadySince = s.now
	}
	s.pods[name] = p
	s.tell(Fact{Pod: &p})
	s.versions[name] = last(s.facts).Version
	return s
}

// note notes what stands under these names in the Lease of the zone's rollout.
func (s *story) note(zone string, pods ...string) *story {
	var notes []Note
	for _, pod := range pods {
		notes = append(notes, s.noteOf(pod))
	}
	return s.hold("rollout/"+zone, notes...)
}

// notedBefore lets what operators asked to delete have been noted at the very
// beginning, long before all else.
func (s *story) notedBefore() *story {
	var notes []Note
	holder := ""
	for _, r := range s.requests {
		if _, ours := (Rules{Operators: []Operator{clusterWide}}).operator(r.User); ours && r.deletesPod() {
			zone, _, _ := ordinalOf(r.Name)
			holder, notes = "rollout/"+zone, append(notes, Note{r.Name, r.RequiredUID, r.RequiredVersion})
		}
	}
	s.hold(holder, notes...)
	f := &s.facts[len(s.facts)-1]
	f.Version, f.At = 0, storyBegins.Add(-time.Minute)
	return s
}

// shrinks notes the decrease of a zone in the Lease.
func (s *story) shrinks(zone string) *story {
	return s.shrinksTo(zone, 1, s.zoneVersions[zone])
}

// shrinksTo notes the decrease of a zone to so many pods, judged at a version.
func (s *story) shrinksTo(zone string, to int, version uint64) *story {
	noted := Shrink{Zone: zone, UID: s.zones[zone].UID, To: to, Version: version}
	return s.tell(Fact{Hold: &Hold{Group: "g", Holder: "downscale/" + zone, Shrinks: noted}})
}

// left lets a pod be gone by the StatefulSet controller's hand.
func (s *story) left(pod string) *story {
	return s.pod(pod, func(p *Pod) { p.Gone = true })
}

// decrease lets somebody shrink a zone.
func (s *story) decrease(zone string, replicas int) *story {
	return s.zone(zone, func(z *Zone) { z.Replicas = replicas })
}

func (s *story) noteOf(pod string) Note { return Note{pod, s.pods[pod].UID, s.versions[pod]} }

func (s *story) hold(holder string, notes ...Note) *story { return s.holdOf("g", holder, notes...) }

func (s *story) holdOf(group, holder string, notes ...Note) *story {
	return s.tell(Fact{Hold: &Hold{Group: group, Holder: holder, Notes: notes}})
}

// asks is a request of the operator's, as the audit log has it.
func (s *story) asks(r Request) *story {
	r.At, r.Namespace = s.now, s.namespace
	if r.User == "" {
		r.User, r.Agent = operatorUser, operatorAgent
	}
	s.requests = append(s.requests, r)
	return s
}

func (s *story) asksToDelete(pod string, change func(*Request)) *story {
	r := Request{
		Verb: "delete", Resource: "pods", Name: pod, Code: 200, Ended: s.now,
		UID: s.pods[pod].UID, RequiredUID: s.pods[pod].UID, RequiredVersion: s.versions[pod],
	}
	if change != nil {
		change(&r)
	}
	return s.asks(r)
}

// delete has the operator delete a pod.
func (s *story) delete(pod string) *story { return s.asksToDelete(pod, nil).leaves(pod) }

// breaks has somebody else delete a pod, who requires nothing of it.
func (s *story) breaks(pod string) *story {
	return s.asksToDelete(pod, func(r *Request) { r.User, r.RequiredUID, r.RequiredVersion = "somebody", "", 0 }).leaves(pod)
}

// asksToEvict is a request of somebody's, as the audit log has it.
func (s *story) asksToEvict(pod string, change func(*Request)) *story {
	r := Request{
		Verb: "create", Resource: "pods/eviction", Name: pod, Code: 201, User: "somebody",
		RequiredUID: s.pods[pod].UID, Ended: s.now.Add(time.Second),
	}
	if change != nil {
		change(&r)
	}
	return s.asks(r)
}

// evict has somebody evict a pod.
func (s *story) evict(pod string) *story { return s.asksToEvict(pod, nil).leaves(pod) }

// grants notes what stands under these names in the Lease of the zone's eviction.
func (s *story) grants(zone string, pods ...string) *story {
	var notes []Note
	for _, pod := range pods {
		notes = append(notes, s.noteOf(pod))
	}
	return s.hold("eviction/"+zone, notes...)
}

func (s *story) leaves(pod string) *story { return s.pod(pod, func(p *Pod) { p.Leaving = true }) }

// vanish has the operator delete a pod that is gone at once.
func (s *story) vanish(pod string) *story {
	return s.asksToDelete(pod, nil).pod(pod, func(p *Pod) { p.Gone = true })
}

func (s *story) replace(pod string, ready bool) *story {
	s.pod(pod, func(p *Pod) { p.Gone = true })
	return s.pod(pod, func(p *Pod) {
		p.UID, p.Revision = pod+"@new", "new"
		p.Ready, p.ReadySince, p.Leaving, p.Gone = ready, time.Time{}, false, false
	})
}

// rolls is one proper step of a rollout.
func (s *story) rolls(zone, pod string) *story {
	return s.note(zone, pod).delete(pod).replace(pod, true)
}

func (s *story) finishes(zone string) *story {
	return s.rolls(zone, zone+"-0").rolls(zone, zone+"-1").hold("")
}

// beside tells another story of other namespaces at the same time.
func (s *story) beside(other *story) *story {
	s.facts = append(s.facts, other.facts...)
	s.requests = append(s.requests, other.requests...)
	return s
}

// inGroup is a zone with two outdated pods in another group.
func (s *story) inGroup(group, zone string) *story {
	s.zone(zone, func(z *Zone) { z.Group, z.Revision = group, "new" })
	return s.pod(zone+"-0", nil).pod(zone+"-1", nil).later(3 * time.Second)
}
