package pool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CompletePod creates the missing claims of a pod, and then lets the pod be scheduled, unless it keeps the gate. No scheduler
// sees the pod before all of its claims exist.
type CompletePod struct {
	Pool      string
	ID        ID
	Pod       string
	UID       string
	From      string          // UID of the pod that the identity had before; empty: none
	KeepGate  bool            // the identity may be kept, so its claims are marked before the pod can be scheduled
	Templates []ClaimTemplate // of the claims to create
	Siblings  []string        // the claim templates of all claims that the identity will have; if it was handed over: that it had
}

// Reason implements plan.Action.
func (CompletePod) Reason() reason.Code { return reason.IdentityCompleted }

// Effect implements plan.Action. Each pod is completed by itself.
func (a CompletePod) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pod, Pod: a.Pod, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action. The birth has one already.
func (CompletePod) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: complete web-0123456789abcdef with data, logs.
func (a CompletePod) String() string {
	if len(a.Templates) == 0 {
		return "complete " + a.Pod
	}
	then := ""
	if a.KeepGate {
		then = ", keeping its gate"
	}
	var names []string
	for _, t := range a.Templates {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("complete %s with %s%s", a.Pod, strings.Join(names, ", "), then)
}

// completions completes the pods that wait for their claims. Pods that are too many are never completed, so that a pod
// that was created twice leaves without a trace, nor are those that are replaced now because of an update. A claim that an
// identity had before is never created again.
func (p *poolState) completions(updates []plan.Action) []plan.Action {
	var steps []plan.Action
	replaced := map[string]bool{}
	for _, d := range plan.Disruptions(updates) {
		replaced[d.Pod] = p.held().None()
	}
	for _, pod := range p.needed() {
		if mark := p.lateMark(&pod); mark != "" {
			steps = append(steps, p.markedAgain(&pod, mark))
		}
		if !pod.Gated || p.lacksTemplate(&pod) || p.isSpoiled(&pod) || replaced[pod.Name] {
			continue
		}
		complete := CompletePod{Pool: p.Key.Name, ID: pod.ID, Pod: pod.Name, UID: pod.UID, From: pod.From, Siblings: p.siblings(&pod)}
		claims := p.claimsOf(pod.ID)
		if slices.ContainsFunc(claims, func(c Claim) bool { return c.Deleting && pod.mounts(c.Name) }) {
			continue // until it is gone: then it may be created again, because no container has used it
		}
		for _, t := range p.templatesOf(pod.Revision).Claims {
			if !slices.ContainsFunc(claims, func(c Claim) bool { return c.Template == t.Name }) {
				complete.Templates = append(complete.Templates, t)
			}
		}
		marksFirst := p.Object.Keep.Any() || pod.From != ""
		prepare, marked := p.marksOfNew(&pod)
		switch complete.KeepGate = marksFirst && len(complete.Templates) > 0; {
		case marksFirst && !complete.KeepGate && !marked && p.whole(&pod):
			steps = append(steps, prepare)
		default:
			steps = append(steps, complete)
		}
	}
	return steps
}

// siblings returns the claim templates that each new claim of a pod names. Those of an identity that was handed over do not
// name each other: with one of them missing, the identity would look like one that has lost a claim.
func (p *poolState) siblings(pod *Pod) []string {
	var names []string
	if pod.From == "" {
		for _, t := range p.templatesOf(pod.Revision).Claims {
			names = append(names, t.Name)
		}
		return names
	}
	for _, c := range p.mounted(pod) {
		names = append(names, c.Siblings...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isSpoiled reports whether a pod never gets all of its claims: its identity has lost one, or another owner has one of the name.
// A handed-over identity has data, so its claims are tried again until a person has removed the other one.
func (p *poolState) isSpoiled(pod *Pod) bool {
	if pod.From != "" {
		return !p.complete(pod.ID, pod.From)
	}
	return p.Taken[pod.ID]
}

// lateMark returns the former pod that claims of an identity name although its pod was created after another one: a mark for the pod
// between these two came late, from a process that had been suspended. It is empty without such a mark, and if a claim is missing, has
// no mark, or has ended. Some claims may have the right mark: a late one, or the one after it, may not have reached all of them.
func (p *poolState) lateMark(pod *Pod) string {
	if !pod.Gated || pod.From == "" || p.complete(pod.ID, pod.From) {
		return ""
	}
	claims, late := p.claimsOf(pod.ID), ""
	for _, c := range claims {
		switch {
		case c.Retired || c.Deleting || c.From == "" || c.From == pod.UID:
			return ""
		case c.From == pod.From:
		case late != "" && c.From != late:
			return ""
		default:
			late = c.From
		}
		isMissing := func(sibling string) bool {
			return !slices.ContainsFunc(claims, func(c Claim) bool { return c.Template == sibling })
		}
		if slices.ContainsFunc(c.Siblings, isMissing) {
			return ""
		}
	}
	return late
}

// markedAgain marks the claims of a pod for the pod that it was created after, as they were before a late mark.
func (p *poolState) markedAgain(pod *Pod, late string) PrepareHandover {
	again := PrepareHandover{Pool: p.Key.Name, ID: pod.ID, From: pod.From, Claims: p.handedOver(pod.ID, late)}
	for _, c := range p.claimsOf(pod.ID) {
		again.Siblings, again.Retain = append(again.Siblings, c.Template), again.Retain || c.Retain
		again.Newer = again.Newer || c.Version > p.PodsAt
	}
	slices.Sort(again.Siblings)
	return again
}

// marksOfNew returns how the claims of a pod that may not be scheduled yet are marked, and whether they are already. Those of
// an identity that was handed over name its former pod until then, and each other, also the ones that were created now.
func (p *poolState) marksOfNew(pod *Pod) (_ PrepareHandover, marked bool) {
	if pod.From == "" {
		return p.prepare(pod)
	}
	mark := PrepareHandover{Pool: p.Key.Name, ID: pod.ID, From: pod.From}
	claims := p.mounted(pod)
	for _, c := range claims {
		mark.Siblings, mark.Retain = append(mark.Siblings, c.Template), mark.Retain || c.Retain
	}
	for _, c := range claims {
		if lacks := slices.ContainsFunc(mark.Siblings, func(name string) bool { return !slices.Contains(c.Siblings, name) }); lacks {
			mark.Claims = append(mark.Claims, c)
		}
	}
	return mark, len(mark.Claims) == 0
}
