package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Revision is a template that the API server has accepted: a ControllerRevision of the object.
type Revision struct {
	Name    string
	UID     string
	Version plan.Version
	Number  int64 // the newest revision has the highest
	Hash    string
	Templates
}

// RecordRevision asks the API server whether it accepts a pod of the template, by a strict dry run, and records the
// template as a revision. Pods are only created from revisions.
type RecordRevision struct {
	Pool   string
	Hash   string
	Number int64
}

// Reason implements plan.Action.
func (RecordRevision) Reason() reason.Code { return reason.RevisionRecorded }

// Effect implements plan.Action.
func (a RecordRevision) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action. The pods that get the revision have Events.
func (RecordRevision) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: record revision 2 of web.
func (a RecordRevision) String() string {
	return fmt.Sprintf("record revision %d of %s", a.Number, a.Pool)
}

// RenumberRevision makes an older revision the newest one again.
type RenumberRevision struct {
	Pool     string
	Revision Revision
	Number   int64
}

// Reason implements plan.Action.
func (RenumberRevision) Reason() reason.Code { return reason.RevisionRecorded }

// Effect implements plan.Action.
func (a RenumberRevision) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (RenumberRevision) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: renumber web-1 to 3.
func (a RenumberRevision) String() string {
	return fmt.Sprintf("renumber %s to %d", a.Revision.Name, a.Number)
}

// DeleteRevision deletes a revision that no pod has.
type DeleteRevision struct {
	Pool     string
	Revision Revision
}

// Reason implements plan.Action.
func (DeleteRevision) Reason() reason.Code { return reason.RevisionUnused }

// Effect implements plan.Action.
func (a DeleteRevision) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (DeleteRevision) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: delete revision web-1.
func (a DeleteRevision) String() string { return "delete revision " + a.Revision.Name }

// revisions records the template if it is new, makes an older revision the newest one if the template is that of it
// again, and deletes revisions that are no longer needed.
func (p *poolState) revisions() []plan.Action {
	next := int64(1)
	for _, r := range p.Revisions {
		next = max(next, r.Number+1)
	}
	switch {
	case p.newest.Name == "" && p.Refused.Until.After(p.Now):
		return nil
	case p.newest.Name == "":
		return []plan.Action{RecordRevision{Pool: p.Key.Name, Hash: p.Object.Hash, Number: next}}
	case p.newest.Number != next-1:
		return []plan.Action{RenumberRevision{Pool: p.Key.Name, Revision: p.newest, Number: next}}
	}
	return p.unused()
}

// unused deletes the oldest revisions that no pod has, beyond those that are kept for a way back. One that the status names stays until
// the status names another one: without it, nothing would say which one pods had.
func (p *poolState) unused() []plan.Action {
	unused := slices.DeleteFunc(slices.Clone(p.Revisions), func(r Revision) bool {
		return r.Name == p.newest.Name || r.Name == p.current.Name || r.Name == p.Object.Current || slices.ContainsFunc(p.Pods, func(pod Pod) bool { return pod.Revision == r.Name })
	})
	slices.SortFunc(unused, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	var steps []plan.Action
	for i := range len(unused) - p.Object.RevisionHistory {
		steps = append(steps, DeleteRevision{Pool: p.Key.Name, Revision: unused[i]})
	}
	return steps
}

// revisionOf returns the revision with that hash, of several the one with the highest number; the zero Revision if there is
// none.
func (s *Snapshot) revisionOf(hash string) Revision {
	var found Revision
	for _, r := range s.Revisions {
		if r.Hash == hash && (found.Name == "" || r.Number > found.Number) {
			found = r
		}
	}
	return found
}

// Newest returns the revision of the template; the zero Revision if it is not recorded.
func (s *Snapshot) Newest() Revision {
	if s.Object.InvalidTemplate != "" {
		return Revision{}
	}
	return s.revisionOf(s.Object.Hash)
}

// Current returns the revision that pods had before the newest one. It is that of the status until as many pods as asked for are at
// the newest one, because pods may have ended together, and an update may have been taken back. If the status names none, it is the one
// with the highest number that an active pod has, or the newest one.
func (s *Snapshot) Current() Revision {
	newest := s.Newest()
	current := newest
	if recorded := s.revisionNamed(s.Object.Current); recorded.Name != "" {
		if newest.Name != "" && s.atNewest() >= s.Object.Replicas && !s.hasEarlier() {
			return newest
		}
		return recorded
	}
	for _, r := range s.Revisions {
		used := slices.ContainsFunc(s.Pods, func(p Pod) bool { return s.owns(&p) && p.Active() && p.Revision == r.Name })
		if used && r.Name != newest.Name && (current.Name == newest.Name || r.Number > current.Number) {
			current = r
		}
	}
	if current.Name == "" && len(s.Revisions) > 0 { // the template is not accepted, and no pod has an earlier one
		current = slices.MaxFunc(s.Revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	}
	return current
}

// revisionNamed returns the revision of that name; the zero Revision if there is none.
func (s *Snapshot) revisionNamed(name string) Revision {
	i := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Name == name })
	if i < 0 {
		return Revision{}
	}
	return s.Revisions[i]
}

// hasEarlier reports whether an active pod has an earlier revision than the newest one. If replicas are lowered, such pods may be the
// ones that stay.
func (s *Snapshot) hasEarlier() bool {
	newest := s.Newest().Name
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return s.owns(&p) && p.Active() && p.Revision != newest })
}

// atNewest counts the active pods at the newest revision.
func (s *Snapshot) atNewest() int {
	newest, n := s.Newest().Name, 0
	for i := range s.Pods {
		p := &s.Pods[i]
		n += one(s.owns(p) && p.Active() && p.Revision == newest)
	}
	return n
}
