package cli

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// poolPodView is the answer of why about a pod of a StatefulCluster.
type poolPodView struct {
	Namespace       string `json:"namespace"`
	StatefulCluster string `json:"statefulCluster"`
	Identity        string `json:"identity"`
	identityView
	Revision       string     `json:"revision"`
	Wanted         string     `json:"wantedRevision,omitempty"`
	Asked          bool       `json:"asked"`              // a person asked to replace it
	Retained       bool       `json:"retained"`           // its identity is kept however it ends
	KeptDeleted    bool       `json:"keptIfDeleted"`      // its identity is kept if it is deleted
	KeptEvicted    bool       `json:"keptIfEvicted"`      // its identity is kept if it is evicted
	LeavesAs       int        `json:"leavesAs,omitempty"` // as which of the pods it leaves if fewer are asked for
	Noted          *notedView `json:"noted,omitempty"`
	Eviction       answerView `json:"eviction"`
	Steps          []stepView `json:"steps"`           // next steps that concern it
	Waits          []waitView `json:"waits,omitempty"` // waits that name it
	ClusterWaits   *waitView  `json:"statefulClusterWaits,omitempty"`
	ClusterMessage string     `json:"message,omitempty"` // of the operator, about what the StatefulCluster waits for
	Pods           diagnoses  `json:"pods,omitempty"`    // this pod, and pods that a reason names
	OptedIn        *bool      `json:"optedIn,omitempty"` // whether the namespace has opted in; omitted if the user cannot read it
}

// poolOf returns the StatefulCluster to which a pod belongs.
func poolOf(pod *corev1.Pod) (name string, is bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulCluster" || owner.APIVersion != pools.Resource.GroupVersion().String() {
		return "", false
	}
	return owner.Name, true
}

func (a *app) whyPodOfPool(ctx context.Context, c *cluster, of, name string, opted labels.Selector) error {
	s, err := c.readForPlanner(ctx, of)
	if err != nil {
		return err
	}
	pod, exists := podOfPool(s, name)
	if !exists {
		return c.notCounted(of, name)
	}
	v := podViewOfPool(s, &pod)
	v.OptedIn = c.optIn(ctx, c.namespace, opted)
	v.Pods = c.diagnose(ctx, c.namespace, nil, podsOf(append([]waitView{{Pod: name}}, v.reasons()...)...)).withOneAdvice(v.reasons())
	if a.form != formTable {
		err = a.answer(v)
	} else {
		err = a.printPodOfPool(v, opted)
	}
	if err == nil && !v.Eviction.Allowed {
		return errWaits
	}
	return err
}

// notCounted returns an error for a pod that a StatefulCluster owns and does not count.
func (c *cluster) notCounted(of, name string) error {
	return fmt.Errorf("StatefulCluster %s/%s does not count pod %s: the pod has ended meanwhile, or lacks the label %s=%s; accepted: a pod with that label", c.namespace, of, name, contract.PoolLabel, of)
}

// podOfPool returns a pod that belongs to a StatefulCluster.
func podOfPool(s statefulCluster, name string) (pool.Pod, bool) {
	i := slices.IndexFunc(s.Pods, func(p pool.Pod) bool { return p.Name == name && p.Owner == s.Object.UID })
	if i < 0 {
		return pool.Pod{}, false
	}
	return s.Pods[i], true
}

func podViewOfPool(s statefulCluster, pod *pool.Pod) poolPodView {
	name, outlook := pod.Name, pool.OutlookOf(s.Snapshot)
	v := poolPodView{
		Namespace: s.Key.Namespace, StatefulCluster: s.Key.Name, Identity: string(pod.ID), identityView: identityOf(s, pod),
		Revision: pod.Revision, Wanted: s.Newest().Name, Asked: pod.Asked,
		Retained: outlook.Retained(name), KeptDeleted: outlook.Keeps(name, false), KeptEvicted: outlook.Keeps(name, true), LeavesAs: outlook.LeavesAs(name),
		Eviction: viewOfAnswer(outlook.Evict(plan.EvictionRequest{Pod: name, UID: pod.UID})),
	}
	for _, i := range s.Hold.Intents {
		if i.Pod == name && s.IntentStatus(i).Counts() {
			v.Noted = &notedView{i.Pod, i.Zone, string(i.Cause), i.Since}
		}
	}
	v.Steps, v.Waits = stepsAbout(pool.Plan(s.Snapshot), name)
	v.ClusterWaits, v.ClusterMessage = operatorWait(s.status)
	return v
}

// stepsAbout returns the steps of a plan that concern a pod, and the waits that name it.
func stepsAbout(steps []plan.Action, pod string) ([]stepView, []waitView) {
	var about []plan.Action
	var waits []waitView
	for _, step := range steps {
		switch w, is := step.(plan.Wait); {
		case is && w.Because.Pod == pod:
			waits = append(waits, waitViewOf("", w.Because))
		case !is && step.Effect().Pod == pod:
			about = append(about, step)
		}
	}
	return viewsOfSteps(about), waits
}

// reasons returns why an eviction is refused, and what the pod and its StatefulCluster wait for, each once.
func (v poolPodView) reasons() []waitView {
	var reasons []waitView
	for _, w := range slices.Concat([]*waitView{v.Eviction.Because}, pointers(v.Waits), []*waitView{v.ClusterWaits}) {
		if w != nil && !slices.ContainsFunc(reasons, func(other waitView) bool { return other.Code == w.Code && other.Pod == w.Pod }) {
			reasons = append(reasons, *w)
		}
	}
	return reasons
}

func pointers(waits []waitView) []*waitView {
	var all []*waitView
	for i := range waits {
		all = append(all, &waits[i])
	}
	return all
}

func (a *app) printPodOfPool(v poolPodView, opted labels.Selector) error {
	p := a.page()
	p.Line(screen.In(screen.Strong, v.Namespace+"/"+v.Pod), screen.Text("of StatefulCluster "+v.StatefulCluster+", identity "+v.Identity))
	addOptIn(p, v.OptedIn, v.Namespace, opted)
	p.Line(screen.Text("It is"), screen.In(colourOfState[v.State], v.State+","), screen.Text(claimsText(v)+revisionText(v)+"."))
	if v.Noted != nil {
		p.Line(screen.Text(fmt.Sprintf("The hold records it: %s, %s ago.", v.Noted.Cause, screen.Span(a.now().Sub(v.Noted.Since)))))
	}
	if v.Asked {
		p.Line(screen.Text("A person asks for another pod in its place, with a new identity."))
	}
	p.Indented(0, screen.Text(endText(v)))
	if v.LeavesAs > 0 {
		p.Line(screen.Text(fmt.Sprintf("If fewer replicas are asked for, it is pod number %d to leave.", v.LeavesAs)))
	}
	if len(v.Steps) > 0 {
		p.Line(screen.Text("Next steps:"))
		addSteps(p, v.Steps)
	}
	left := addAnswer(p, v.Eviction, v.Pods.addTo(p, v.Pod))
	rest := v.reasons()
	if !v.Eviction.Allowed {
		rest = rest[1:]
	}
	addWaits(p, rest, left, v.Eviction.Because)
	return a.print(p)
}

func revisionText(v poolPodView) string {
	switch {
	case v.Wanted == "":
		return "of revision " + v.Revision + "; the present template is not accepted yet"
	case v.Revision == v.Wanted:
		return "of the wanted revision " + v.Revision
	}
	return "of revision " + v.Revision + "; the wanted revision is " + v.Wanted
}

func claimsText(v poolPodView) string {
	if v.Mounts == 0 {
		return "without claims, "
	}
	unbound := ""
	if v.Unbound > 0 {
		unbound = fmt.Sprintf(" (%d not bound to a volume yet)", v.Unbound)
	}
	return fmt.Sprintf("with %d of %d claims%s, ", v.Claims, v.Mounts, unbound)
}

// endText says what becomes of the identity of a pod that a client ends.
func endText(v poolPodView) string {
	const next, other = "another pod gets its name and its claims", "its identity ends, and a new one takes its place"
	switch {
	case v.Retained:
		return "However it ends, " + next + ": a person asked for it."
	case v.KeptDeleted == v.KeptEvicted && v.KeptDeleted:
		return "If it is deleted or evicted, " + next + "."
	case v.KeptDeleted:
		return "If it is deleted, " + next + ". If it is evicted, " + other + "."
	case v.KeptEvicted:
		return "If it is evicted, " + next + ". If it is deleted, " + other + "."
	}
	return "If it is deleted or evicted, " + other + "."
}
