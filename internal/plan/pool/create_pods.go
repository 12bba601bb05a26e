package pool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// MostBirths bounds the pods that one plan creates.
const MostBirths = 500

// CreatePods creates the pods of new identities. The first refusal ends it, because the next one would be refused as
// well. A pod of an identity is created once; the process that finds it later completes it.
type CreatePods struct {
	Pool      string
	Revision  string
	Templates Templates
	IDs       []ID
	Careful   bool // caches do not suffice: they may lack a later end of a pause, or claims or the hand-over of an identity that keeps its place
}

// Reason implements plan.Action.
func (CreatePods) Reason() reason.Code { return reason.IdentityBorn }

// Effect implements plan.Action. A birth needs no hold: an identity that is one too many leaves before it has run (ADR 51).
func (a CreatePods) Effect() plan.Effect {
	read := plan.OnCaches
	if a.Careful {
		read = plan.Always
	}
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true, Read: read}
}

// Event implements plan.Action.
func (a CreatePods) Event() plan.Event {
	what := fmt.Sprintf("%d pods", len(a.IDs))
	if len(a.IDs) == 1 {
		what = "pod " + PodName(a.Pool, a.IDs[0])
	}
	return plan.Event{Zone: a.Pool, Action: "CreatePods", Note: fmt.Sprintf("created %s: %s", what, a.Reason().Sentence())}
}

// String implements plan.Action: create 2 pods of web at web-1: web-0123456789abcdef web-fedcba9876543210.
func (a CreatePods) String() string {
	var names []string
	for _, id := range a.IDs {
		names = append(names, PodName(a.Pool, id))
	}
	return fmt.Sprintf("create %d pods of %s at %s: %s", len(a.IDs), a.Pool, a.Revision, strings.Join(names, " "))
}

// births creates the pods that are missing, whatever else is broken and whichever operation has the hold. A pod whose
// deletion is being cancelled keeps its place, and so does an identity that is handed over. While fewer pods have an
// earlier revision than are to stay there, missing ones get the current revision.
func (p *poolState) births() []plan.Action {
	if p.looks() || p.moves() {
		return nil // an orphan may have a place, also one that is to come back
	}
	missing := min(max(0, p.missing()-len(p.orphans())), MostBirths)
	switch {
	case p.Object.Ordered && missing > 0:
		missing = one(p.inOrder())
	case p.Object.ScaleMaxUnavailable != Share{}:
		missing = min(missing, max(0, p.Object.ScaleMaxUnavailable.AtMost(p.Object.Replicas)-p.starting()))
	}
	if p.current.Name == "" {
		return nil // the template is not accepted yet
	}
	successors := len(p.handovers)
	atCurrent := p.atCurrent(successors+missing) - p.atCurrent(successors)
	return append(p.birth(p.current, atCurrent), p.birth(p.newest, missing-atCurrent)...)
}

// atCurrent is how many of the next pods get the current revision instead of the newest one. Those of identities that are handed over
// come before those of new ones.
func (p *poolState) atCurrent(pods int) int {
	switch {
	case p.newest.Name == "", p.paused():
		return pods
	case p.newest.Name == p.current.Name:
		return 0
	}
	earlier := len(slices.DeleteFunc(slices.Clone(p.staying), func(pod Pod) bool { return pod.Revision == p.newest.Name }))
	return max(0, min(pods, p.Object.Strategy.Partition.Of(p.Object.Replicas)-earlier))
}

// inOrder reports whether the next pod may be created although pods are ordered: no pod terminates, and each one is available or has
// had its time to become Ready, so a pod that never does so blocks no other permanently.
func (p *poolState) inOrder() bool {
	for i := range p.Pods {
		pod := &p.Pods[i]
		if p.terminatesInTime(*pod) || p.owns(pod) && !pod.Finished && p.starts(pod) {
			return false
		}
	}
	return true
}

// limitsBirths reports whether missing pods wait for others to become available.
func (o *Object) limitsBirths() bool { return o.Ordered || o.ScaleMaxUnavailable != Share{} }

// starts reports whether a pod is not available and has not had its time to become Ready.
func (p *poolState) starts(pod *Pod) bool {
	startup := p.Object.Liveness.Startup
	late := startup > 0 && !p.Now.Before(pod.Created.Time().Add(startup))
	return pod.Active() && !p.available(pod) && !late
}

// starting counts the pods that are not available and have not had their time to become Ready.
func (p *poolState) starting() int {
	n := 0
	for i := range p.staying {
		n += one(p.starts(&p.staying[i]))
	}
	return n
}

func (p *poolState) birth(of Revision, pods int) []plan.Action {
	if pods <= 0 {
		return nil
	}
	birth := CreatePods{Pool: p.Key.Name, Revision: of.Name, Templates: p.templatesOf(of.Name), Careful: p.mayKeep() || p.Object.Paused && !p.paused()}
	if len(birth.Templates.Claims) == 0 && slices.ContainsFunc(p.Claims, func(c Claim) bool { return !c.Retired }) { // no gate keeps the pod from its place
		birth.Careful = true
	}
	for range pods {
		birth.IDs = append(birth.IDs, p.draw())
	}
	return []plan.Action{birth}
}

// draw draws an identity that no pod and no claim is known to have.
func (p *poolState) draw() ID {
	for {
		id := p.Draw()
		taken := p.lives(id)
		for _, c := range p.Claims {
			taken = taken || c.ID == id
		}
		if !taken {
			return id
		}
	}
}
