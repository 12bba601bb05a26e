package pool

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Change is how the pods of one revision differ from the pods of another one, both as the API server returns them.
type Change struct {
	Equal   bool // in nothing
	InPlace bool // only in what can be changed in a running pod

	From   map[string]string // the images of the earlier pods by container
	Images map[string]string // the images that change by container
	// Resources are those of the containers whose resources change.
	Resources map[string]Resources
	// Labels and Annotations that change; nil removes one.
	Labels      map[string]*string
	Annotations map[string]*string
}

// CompareRevisions finds out how the pods of earlier revisions differ from those of the newest one. It creates no pod: it
// asks the API server for dry runs, so that defaults and admission count as well.
type CompareRevisions struct {
	Pool   string
	Newest Revision
	With   []Revision
	Pods   []ComparedPod // pods whose revision is not known, which are compared themselves
}

// ComparedPod is a pod that is compared with those of the newest revision.
type ComparedPod struct{ Name, UID string }

// Reason implements plan.Action.
func (CompareRevisions) Reason() reason.Code { return reason.RevisionsCompared }

// Effect implements plan.Action. Nothing changes.
func (a CompareRevisions) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold}
}

// Event implements plan.Action.
func (CompareRevisions) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: compare revisions web-1 with web-2.
func (a CompareRevisions) String() string {
	var names []string
	for i := range a.With {
		names = append(names, a.With[i].Name)
	}
	for _, p := range a.Pods {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("compare revisions %v with %s", names, a.Newest.Name)
}

// comparisons asks for the changes that are not known yet.
func (p *poolState) comparisons() []plan.Action {
	if p.newest.Name == "" {
		return nil
	}
	compare := CompareRevisions{Pool: p.Key.Name, Newest: p.newest}
	for _, r := range p.Revisions {
		_, known := p.Changes[r.Name]
		used := slices.ContainsFunc(p.staying, func(pod Pod) bool { return pod.Revision == r.Name })
		if used && !known && r.Name != p.newest.Name {
			compare.With = append(compare.With, r)
		}
	}
	for i := range p.staying {
		pod := &p.staying[i]
		if _, known := p.Changes[pod.UID]; !known && !p.isKnown(pod.Revision) {
			compare.Pods = append(compare.Pods, ComparedPod{pod.Name, pod.UID})
		}
	}
	if len(compare.With)+len(compare.Pods) == 0 {
		return nil
	}
	return []plan.Action{compare}
}

func imagesOf(pod *Pod) map[string]string {
	images := map[string]string{}
	for _, c := range pod.Containers {
		images[c.Name] = c.Image
	}
	return images
}

// isKnown reports whether a revision is one of the object.
func (p *poolState) isKnown(revision string) bool {
	return slices.ContainsFunc(p.Revisions, func(r Revision) bool { return r.Name == revision })
}

// changeOf returns how a pod differs from a pod of the newest revision. The second result is false if it is not known
// yet. A pod whose image another client has changed differs in more than can be changed in place.
func (p *poolState) changeOf(pod *Pod) (Change, bool) {
	change, known := p.Changes[pod.Revision]
	if pod.Revision == p.newest.Name && !known { // its update to another revision has begun; known: the way back was refused
		change, known = Change{InPlace: true, From: imagesOf(pod)}, true
	}
	if !p.isKnown(pod.Revision) {
		change, known = p.Changes[pod.UID]
	}
	if !known {
		return Change{}, false
	}
	for _, c := range pod.Containers {
		if !change.Equal && change.From[c.Name] != c.Image {
			return Change{}, true
		}
	}
	return change, true
}
