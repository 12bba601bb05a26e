package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// podView is the answer of why about a pod.
type podView struct {
	Namespace string     `json:"namespace"`
	Pod       string     `json:"pod"`
	Group     string     `json:"group"`
	Zone      string     `json:"zone"`
	State     string     `json:"state"`
	Why       string     `json:"why,omitempty"`
	Revision  string     `json:"revision"`
	Wanted    string     `json:"wantedRevision"`
	Outdated  bool       `json:"outdated"`
	Noted     *notedView `json:"noted,omitempty"`
	Eviction  answerView `json:"eviction"`
	ZoneWaits *waitView  `json:"zoneWaits,omitempty"`
	Pods      diagnoses  `json:"pods,omitempty"`    // this pod, and pods that a reason names
	OptedIn   *bool      `json:"optedIn,omitempty"` // whether the namespace has opted in; omitted if the user cannot read it
}

// answerView is the answer that an eviction would get.
type answerView struct {
	Allowed bool      `json:"allowed"`
	Budget  string    `json:"budget,omitempty"` // the budget that covers the pod
	Because *waitView `json:"because,omitempty"`
	Tally   string    `json:"tally,omitempty"`
	Freely  bool      `json:"freely"` // the pod is unavailable already
}

func (a *app) whyPod(ctx context.Context, c *cluster, name string, opted labels.Selector) error {
	pod, err := c.pod(ctx, name)
	if err != nil {
		return err
	}
	if of, is := poolOf(pod); is {
		return a.whyPodOfPool(ctx, c, of, name, opted)
	}
	s, err := c.groupOfPod(ctx, pod)
	if err != nil {
		return err
	}
	v := podViewOf(s, name)
	if v.Zone == "" {
		return fmt.Errorf("pod %s/%s is not a pod of a zone any more: try again", c.namespace, name)
	}
	v.OptedIn = c.optIn(ctx, c.namespace, opted)
	v.Pods = c.diagnose(ctx, s.Key.Namespace, s.Zones, podsOf(append([]waitView{{Pod: name}}, v.reasons()...)...))
	if a.form != formTable {
		err = a.answer(v)
	} else {
		err = a.printPod(v, opted)
	}
	if err == nil && !v.Eviction.Allowed {
		return errWaits
	}
	return err
}

// reasons returns why an eviction is refused, and what the zone waits for.
func (v podView) reasons() []waitView {
	var reasons []waitView
	for _, w := range []*waitView{v.Eviction.Because, v.ZoneWaits} {
		if w != nil {
			reasons = append(reasons, *w)
		}
	}
	return reasons
}

// pod reads a pod. If it does not exist, the error names the groups, because an argument may name either.
func (c *cluster) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pod, err := c.client.CoreV1().Pods(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no pod %q either: %w", name, c.unknownGroup(ctx, c.group(name)))
	}
	if err != nil {
		return nil, withPermissionHint(fmt.Errorf("read pod %s/%s: %w", c.namespace, name, err))
	}
	return pod, nil
}

// groupOfPod reads the group of a pod, or else all pods of the budget that covers it.
func (c *cluster) groupOfPod(ctx context.Context, pod *corev1.Pod) (group.Snapshot, error) {
	seen, err := c.open(c.namespace, nil, nil)
	if err != nil {
		return group.Snapshot{}, err
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return group.Snapshot{}, c.unownedError(ctx, seen, pod)
	}
	set, err := seen.LiveSet(ctx, c.namespace, owner.Name)
	if err != nil {
		return group.Snapshot{}, withPermissionHint(err)
	}
	switch {
	case set.Held:
		return c.readLive(ctx, set.Key)
	case set.Ignored:
		return group.Snapshot{}, fmt.Errorf("StatefulSet %s/%s has the annotation %s, so lockstep has nothing to do with the pod", c.namespace, owner.Name, contract.IgnoreAnnotation)
	}
	return c.covering(ctx, pod.Name, owner.Name)
}

// covering reads the pods of the budget that covers a pod of a StatefulSet without a group.
func (c *cluster) covering(ctx context.Context, pod, set string) (group.Snapshot, error) {
	for _, b := range c.budgets(ctx, c.namespace).Budgets(c.namespace) {
		s, err := c.readLive(ctx, plan.Key{Namespace: c.namespace, Name: b.Name, Kind: plan.KindBudget})
		if err != nil {
			return s, err
		}
		if found, exists := s.Pod(pod); exists && len(group.Covering([]group.DisruptionBudget{b}, found)) > 0 {
			return s, nil
		}
	}
	return group.Snapshot{}, fmt.Errorf("StatefulSet %s/%s belongs to no group, asks for no preparation, and no budget covers the pod: lockstep has nothing to do with it", c.namespace, set)
}

func podViewOf(s group.Snapshot, name string) podView {
	v := podView{Namespace: s.Key.Namespace, Pod: name, Group: s.Key.Name}
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if pod.Name == name {
				v.Zone, v.State, v.Why, v.Revision = z.Name, pod.Phase.String(), pod.Why, pod.Revision
				v.Wanted, v.Outdated = z.UpdateRevision, z.Outdated(pod)
				v.Eviction = answerOf(s, pod)
			}
		}
	}
	for _, i := range s.Hold.Intents {
		if i.Pod == name && s.IntentStatus(i).Counts() {
			v.Noted = &notedView{i.Pod, i.Zone, string(i.Cause), i.Since}
		}
	}
	for _, w := range group.Describe(s, stepsFor(s)).Waits {
		if w.Zone == v.Zone && v.Zone != "" {
			v.ZoneWaits = new(waitViewOf(w.Zone, w.Because))
			break
		}
	}
	return v
}

func answerOf(s group.Snapshot, pod plan.Pod) answerView {
	return viewOfAnswer(group.Evict(s, plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}))
}

func viewOfAnswer(permit plan.EvictionAnswer) answerView {
	answer := answerView{Allowed: permit.Allowed(), Budget: permit.Budget, Tally: permit.Tally.String(), Freely: permit.Allowed() && !permit.NeedsRecord()}
	if !permit.Allowed() {
		answer.Because = new(waitViewOf(permit.Zone, permit.Because))
	}
	return answer
}

// sameReason reports whether an eviction is refused for the reason that the zone waits for.
func (a answerView) sameReason(w waitView) bool {
	return a.Because != nil && a.Because.short() == w.short()
}

func (a *app) printPod(v podView, opted labels.Selector) error {
	p := a.page()
	p.Line(screen.In(screen.Strong, v.Namespace+"/"+v.Pod), screen.Text("of zone "+v.Zone+" of "+v.Group))
	addOptIn(p, v.OptedIn, v.Namespace, opted)
	state := v.State
	if v.Why != "" {
		state += " (" + v.Why + ")"
	}
	revision := "of the wanted revision " + v.Revision
	if v.Outdated {
		revision = "of revision " + v.Revision + "; the wanted revision is " + v.Wanted
	}
	p.Line(screen.Text("It is " + state + ", " + revision + "."))
	if v.Noted != nil {
		p.Line(screen.Text(fmt.Sprintf("The hold records it: %s, %s ago.", v.Noted.Cause, screen.Span(a.now().Sub(v.Noted.Since)))))
	}
	left := v.Pods.addTo(p, v.Pod)
	left = addAnswer(p, v.Eviction, left)
	if v.ZoneWaits != nil && !v.Eviction.sameReason(*v.ZoneWaits) {
		addWaits(p, []waitView{*v.ZoneWaits}, left, v.Eviction.Because)
	}
	return a.print(p)
}

// addAnswer prints the answer that an eviction would get, and returns the diagnoses that it has not printed.
func addAnswer(p *screen.Page, answer answerView, left diagnoses) diagnoses {
	p.Line()
	switch {
	case answer.Freely:
		p.Line(screen.In(screen.Good, "An eviction would be granted at once: the pod is not available anyway."))
	case answer.Allowed:
		p.Line(screen.In(screen.Good, "An eviction would be granted."))
	default:
		addReason(p, *answer.Because, screen.In(screen.Slow, "An eviction would be refused:"))
		if answer.Tally != "" {
			p.Line(screen.Text("  Unavailable: " + answer.Tally + "."))
		}
		addMeaning(p, answer.Because.Sentence, answer.Because.ToDo)
		return left.addTo(p, answer.Because.Pod)
	}
	return left
}
