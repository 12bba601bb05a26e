package pool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Orphans are the pods that match the selector of the object and do not belong to it, as a look has shown them. They lack
// the labels by which pods are observed, so they have to be looked for.
type Orphans struct {
	At   time.Time // of the look; zero: there was none
	Pods []Orphan
}

// Orphan is a pod that matches the selector of the object and does not belong to it. If it belongs to nothing, it neither
// terminates nor has it ended.
type Orphan struct {
	Name       string
	UID        string
	Version    plan.Version
	Controller string // what it belongs to, as StatefulSet/db; empty: to nothing
	Labelled   bool   // it has the labels of the pool and of its identity
}

// lookAgain is how long a look for orphans counts.
const lookAgain = 10 * time.Second

// LookForOrphans finds the pods that may be adopted. Missing pods are only created after it.
type LookForOrphans struct{ Pool string }

// Reason implements plan.Action.
func (LookForOrphans) Reason() reason.Code { return reason.OrphansLookedFor }

// Effect implements plan.Action. Nothing changes.
func (a LookForOrphans) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold}
}

// Event implements plan.Action.
func (LookForOrphans) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: look for orphans of web.
func (a LookForOrphans) String() string { return "look for orphans of " + a.Pool }

// AdoptPod makes a pod that belongs to nothing a pod of the object.
type AdoptPod struct {
	Pool    string
	ID      ID
	Pod     string
	UID     string
	Version plan.Version
}

// Reason implements plan.Action.
func (AdoptPod) Reason() reason.Code { return reason.PodAdopted }

// Effect implements plan.Action. A cache may show an object that exists no more.
func (a AdoptPod) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: a.Pod, Order: plan.WithoutHold, Visible: true, Read: plan.Always}
}

// Event implements plan.Action.
func (a AdoptPod) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Pod: a.Pod, PodUID: a.UID, Action: "AdoptPod", Note: fmt.Sprintf("adopted pod %s: %s", a.Pod, a.Reason().Sentence())}
}

// String implements plan.Action: adopt web-0 of web.
func (a AdoptPod) String() string { return fmt.Sprintf("adopt %s of %s", a.Pod, a.Pool) }

// LabelClaims gives claims that a pod of the object mounts the labels of its identity.
type LabelClaims struct {
	Pool     string
	ID       ID
	Pod      string
	Claims   []UnlabelledClaim
	Siblings []string // the claim templates of all claims of the pod
}

// UnlabelledClaim is a claim that a pod of the object mounts, and that lacks the labels of its identity.
type UnlabelledClaim struct {
	Name     string
	Template string
	UID      string
	Version  plan.Version
	Owner    string // what it belongs to, as StatefulSet/db; empty: to nothing, or to the object
}

// Reason implements plan.Action.
func (LabelClaims) Reason() reason.Code { return reason.ClaimsLabelled }

// Effect implements plan.Action. Caches show no claim without labels.
func (a LabelClaims) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: a.Pod, Order: plan.WithoutHold, Visible: true, Read: plan.Always}
}

// Event implements plan.Action. The adoption has one.
func (LabelClaims) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: label data-web-0 of web-0.
func (a LabelClaims) String() string {
	var names []string
	for _, c := range a.Claims {
		names = append(names, c.Name)
	}
	return fmt.Sprintf("label %s of %s", strings.Join(names, ", "), a.Pod)
}

// adoptions looks for pods to adopt, adopts them, and labels their claims. It returns why it leaves others.
func (p *poolState) adoptions() (steps, waits []plan.Action) {
	if p.looks() {
		steps = append(steps, LookForOrphans{Pool: p.Key.Name})
	}
	for _, o := range p.orphans() {
		id, objection := p.adoptable(o)
		if objection.None() {
			steps = append(steps, AdoptPod{Pool: p.Key.Name, ID: id, Pod: o.Name, UID: o.UID, Version: o.Version})
		} else if p.missing() > 0 {
			waits = append(waits, p.waits(objection)...)
		}
	}
	labels, noLabels := p.unlabelled()
	return append(steps, labels...), append(waits, noLabels...)
}

// looks reports whether pods without the labels of the pool have to be looked for: the last look is too long ago, and a person
// wants them to take the places of missing pods.
func (p *poolState) looks() bool {
	return p.Object.Adopt && p.missing() > 0 && !p.lookIsDue().After(p.Now)
}

// lookIsDue returns when the last look does not count any more.
func (p *poolState) lookIsDue() time.Time { return p.Orphans.At.Add(lookAgain) }

// orphans returns the pods that may take a place in the pool, now or later: those that the last look has shown, and those that
// have lost their owner and have all labels of the pool, which need no look. One that was adopted since the look is none.
func (p *poolState) orphans() []Orphan {
	var all []Orphan
	for _, o := range p.Orphans.Pods {
		pod, shown := p.podNamed(o.Name)
		known := shown && (pod.Owner == "" || pod.Owner == p.Object.UID)
		gone := !shown && o.Labelled && p.PodsAt >= o.Version // the view would show it
		if !known && !gone && (p.Object.Adopt || o.Labelled && o.Controller == "") {
			all = append(all, o)
		}
	}
	for i := range p.Pods {
		if pod := &p.Pods[i]; pod.Owner == "" && !pod.Unmatched && pod.Active() && pod.Name == PodName(p.Key.Name, pod.ID) {
			all = append(all, Orphan{Name: pod.Name, UID: pod.UID, Version: pod.Version, Labelled: true})
		}
	}
	return all
}

// moves reports whether pods are to be adopted that still belong to something else, and have names with which they can be. It may have
// others that are missing at the moment, and creates them again.
func (p *poolState) moves() bool {
	return slices.ContainsFunc(p.orphans(), func(o Orphan) bool {
		_, named := IDOf(p.Key.Name, o.Name)
		return o.Controller != "" && named
	})
}

// longestID is the maximum length of a label, which an identity is.
const longestID = 63

// adoptable returns the identity that an orphan gets, or why it is not adopted.
func (p *poolState) adoptable(o Orphan) (ID, plan.Refusal) {
	id, named := IDOf(p.Key.Name, o.Name)
	wait := plan.Refusal{Code: reason.AdoptionWaits, Pod: o.Name, Until: p.lookIsDue()}
	switch {
	case o.Controller != "":
		wait.Detail = "it belongs to " + o.Controller
	case !named || len(id) > longestID:
		wait.Detail = fmt.Sprintf("its name does not have the form %s-ID", p.Key.Name)
	case slices.ContainsFunc(p.Pods, func(other Pod) bool { return other.ID == id && other.UID != o.UID }):
		wait.Detail = "another pod has its identity"
	default:
		return id, plan.Refusal{}
	}
	return "", wait
}

// mostNamed is how many pods a wait for adoptions names.
const mostNamed = 5

// withAwaited adds to the first wait, if it is one for an adoption, how many pods are waited for, and which.
func withAwaited(first plan.Refusal, waits []plan.Wait) plan.Refusal {
	if first.Code != reason.AdoptionWaits {
		return first
	}
	var pods []string
	for _, w := range waits {
		if w.Because.Code == reason.AdoptionWaits {
			pods = append(pods, w.Because.Pod)
		}
	}
	slices.SortFunc(pods, plan.CompareNatural)
	if pods = slices.Compact(pods); len(pods) > 1 {
		names := strings.Join(pods[:min(len(pods), mostNamed)], ", ")
		if more := len(pods) - mostNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		first.Detail += fmt.Sprintf("; %d pods wait: %s", len(pods), names)
	}
	return first
}

// unlabelled labels the claims of pods of the object that lack their labels. A claim that belongs to something else waits.
func (p *poolState) unlabelled() (steps, waits []plan.Action) {
	for i := range p.Pods {
		pod := &p.Pods[i]
		if !p.owns(pod) || !pod.Active() || pod.Gated && pod.From == "" {
			continue
		}
		label, noLabels := p.labels(pod)
		if len(label.Claims) > 0 {
			steps = append(steps, label)
		}
		waits = append(waits, noLabels...)
	}
	return steps, waits
}

// labels returns how the claims of a pod get their labels. The claims of a gated pod are still being created.
func (p *poolState) labels(pod *Pod) (label LabelClaims, waits []plan.Action) {
	label = LabelClaims{Pool: p.Key.Name, ID: pod.ID, Pod: pod.Name}
	claims := p.claimsOf(pod.ID)
	for _, m := range pod.Mounts {
		if pod.Gated {
			continue // it may wait for a claim that its identity has never had
		}
		label.Siblings = append(label.Siblings, m.Template)
		if slices.ContainsFunc(claims, func(c Claim) bool { return c.Name == m.Claim }) {
			continue
		}
		j := slices.IndexFunc(p.Unlabelled, func(c UnlabelledClaim) bool { return c.Name == m.Claim })
		switch {
		case j >= 0 && p.Unlabelled[j].Owner != "":
			waits = append(waits, p.waits(plan.Refusal{Code: reason.AdoptionWaits, Pod: pod.Name, Detail: fmt.Sprintf("its claim %s belongs to %s", m.Claim, p.Unlabelled[j].Owner)})...)
		case j >= 0:
			label.Claims = append(label.Claims, p.Unlabelled[j])
		case !p.Live && p.mayLackLabels(pod, m.Claim): // a live read shows whether it exists
			label.Claims = append(label.Claims, UnlabelledClaim{Name: m.Claim, Template: m.Template})
		}
	}
	for _, c := range p.formerClaims(pod) {
		label.Siblings = append(append(label.Siblings, c.Template), c.Siblings...) // one that is missing stays known
		label.Claims = append(label.Claims, UnlabelledClaim{Name: c.Name, Template: c.Template, UID: c.UID, Version: c.Version})
	}
	slices.Sort(label.Siblings)
	label.Siblings = slices.Compact(label.Siblings)
	slices.SortFunc(label.Claims, func(a, b UnlabelledClaim) int { return strings.Compare(a.Name, b.Name) })
	return label, waits
}

// formerClaims returns the claims that the identity of a pod has had under an earlier object and that the pod does not mount,
// or cannot yet. Without labels, the next pod of the identity could not have them, nor others of their names.
func (p *poolState) formerClaims(pod *Pod) []Claim {
	var former []Claim
	for _, c := range p.index.former[pod.ID] {
		if !c.Deleting && c.Name == ClaimName(p.Key.Name, c.Template, c.ID) && (pod.Gated || !pod.mounts(c.Name)) {
			former = append(former, c)
		}
	}
	return former
}

// mayLackLabels reports whether caches that do not show a claim of a pod may do so because it lacks labels. A view of claims
// that is older than a pod lacks those that were created for the pod.
func (p *poolState) mayLackLabels(pod *Pod, claim string) bool {
	ofAnother := slices.ContainsFunc(p.Claims, func(c Claim) bool { return c.Name == claim })
	return ofAnother || !pod.ID.Drawn() || p.ClaimsAt >= pod.Version
}
