package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// violation is a promise that was not kept.
type violation struct {
	namespace string   // empty: not about one
	zones     []string // none: about the whole namespace
	text      string
}

func (v violation) String() string {
	if v.namespace == "" {
		return v.text
	}
	return v.namespace + ": " + v.text
}

// judge checks what lockstep promises, from the moment the rollout begins. It
// believes only what the demo's own watches show: all pods come from one watch, so
// they are seen in the order in which things happened.
type judge struct {
	violations []violation
	standing   map[string]bool // broken right now, and told
}

// budget is how many pods of a zone may be down; the demo's StatefulSets ask for
// nothing else.
const budget = 1

func newJudge() *judge { return &judge{standing: map[string]bool{}} }

// see judges one sighting that the world has taken in, with what it changed.
func (j *judge) see(w *world, at time.Time, changes []change) {
	for _, c := range changes {
		if n := w.namespace(c.namespace); n.optedIn {
			j.seeDeed(w, c)
		} else {
			j.seeDeedOutside(c)
		}
	}
	for _, n := range w.namespaces {
		if n.optedIn {
			j.seeDown(n, at)
		}
	}
}

func (j *judge) seeDeed(w *world, c change) {
	if c.deed == taken && w.zone(c.namespace, c.zone).isNew(c.pod) {
		j.add(c.namespace, []string{c.zone}, "%s was deleted at %s although it already ran the new revision", c.pod.name, clock(c.at))
	}
}

func (j *judge) seeDeedOutside(c change) {
	const outside = ", although the namespace did not opt in"
	switch c.deed {
	case taken:
		j.add(c.namespace, []string{c.zone}, "pod %s was deleted at %s%s", c.pod.name, clock(c.at), outside)
	case becameUnready:
		j.add(c.namespace, []string{c.zone}, "pod %s stopped being Ready at %s%s", c.pod.name, clock(c.at), outside)
	case held:
		j.add(c.namespace, nil, "Lease %s was written at %s%s", c.lease, clock(c.at), outside)
	case adopted:
		j.add(c.namespace, []string{c.zone}, "status.currentRevision was changed at %s%s", clock(c.at), outside)
	case created, gone, becameReady: // they follow from being taken
	}
}

func (j *judge) seeDown(n *namespace, at time.Time) {
	var zones, pods []string
	for _, z := range n.zones {
		down := z.down()
		if len(down) > 0 {
			zones, pods = append(zones, z.name), append(pods, down...)
		}
		if j.begins("budget of "+n.name+"/"+z.name, len(down) > budget) {
			j.add(n.name, []string{z.name}, "%d pods of %s were down at once at %s, the budget is %d: %s",
				len(down), z.name, clock(at), budget, strings.Join(down, ", "))
		}
	}
	if j.begins("zones of "+n.name, len(zones) > 1) {
		j.add(n.name, zones, "pods of %d zones were down at once at %s: %s", len(zones), clock(at), strings.Join(pods, ", "))
	}
}

// end judges what should have come about by now.
func (j *judge) end(w *world, patience time.Duration) {
	for _, n := range w.namespaces {
		if n.optedIn {
			j.endOf(n, patience)
		}
	}
}

func (j *judge) endOf(n *namespace, patience time.Duration) {
	for _, z := range n.zones {
		switch {
		case z.renewed() < z.replicas:
			j.add(n.name, []string{z.name}, "%s was not finished after %s: %d of %d pods run the new revision and are Ready",
				z.name, patience, z.renewed(), z.replicas)
		case !z.adopted():
			j.add(n.name, []string{z.name}, "%s was not finished after %s: all pods are new, but status.currentRevision is still %s, not %s",
				z.name, patience, z.currentRevision, z.updateRevision)
		}
	}
	if holder := n.holder(); holder != "" {
		j.add(n.name, nil, "the group's hold was not given back after %s: %s has it", patience, holder)
	}
}

// begins tells whether something is wrong that was not wrong before.
func (j *judge) begins(what string, wrong bool) bool {
	was := j.standing[what]
	j.standing[what] = wrong
	return wrong && !was
}

func (j *judge) add(namespace string, zones []string, format string, args ...any) {
	j.violations = append(j.violations, violation{namespace, zones, fmt.Sprintf(format, args...)})
}

// blames tells whether a violation is about the zone, or about its whole namespace.
func blames(violations []violation, namespace, zone string) bool {
	for _, v := range violations {
		if v.namespace == namespace && (len(v.zones) == 0 || slices.Contains(v.zones, zone)) {
			return true
		}
	}
	return false
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }
