package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// whyView is the answer of why about a group.
type whyView struct {
	groupView
	Noted      []notedView `json:"noted,omitempty"`
	Queue      []queueView `json:"queue,omitempty"`
	Paused     []pauseView `json:"paused,omitempty"`
	OptedIn    *bool       `json:"optedIn,omitempty"`    // whether the namespace has opted in; omitted if the user cannot read it
	Unreadable string      `json:"unreadable,omitempty"` // why the hold is unreadable
	Pods       diagnoses   `json:"pods,omitempty"`       // pods that a reason names
	Events     []eventView `json:"events,omitempty"`
}

// notedView is a pod that the hold records.
type notedView struct {
	Pod   string    `json:"pod"`
	Zone  string    `json:"zone"`
	Cause string    `json:"cause"`
	Since time.Time `json:"since"`
}

// queueView is a refused operation that waits for its turn.
type queueView struct {
	Operation string    `json:"operation"`
	Zone      string    `json:"zone"`
	Since     time.Time `json:"since"`
}

func (a *app) why() *cobra.Command {
	var selector string
	command := &cobra.Command{
		Use:   "why GROUP|POD|statefulcluster/NAME",
		Short: "Show what a group or a pod waits for, which holder has the group, and what to do",
		Long: `Show what a group or a pod waits for, which holder has the group, and what to do.

For a group: every wait with the meaning of its reason, the records of the hold, the queue,
and recent Events. For a pod: its zone, its record in the hold, and the answer that an
eviction would get now. For a pod of a StatefulCluster also: its identity, and what becomes
of the identity if the pod is deleted or evicted. For each pod that a reason names and that
is not Ready: what Kubernetes knows of it, such as its finalizers, its node, the
scheduler's message, its claims and how its containers ended, as far as your permissions
allow.

The exit code is 2 if something waits, or if the eviction would be refused.`,
		Example: `  kubectl lockstep why ingester
  kubectl lockstep why pod/ingester-zone-a-3
  kubectl lockstep why statefulcluster/db
  kubectl lockstep why ingester -o json`,
		Args:              one("why GROUP, or why POD"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		opted, err := labels.Parse(selector)
		if err != nil {
			return fmt.Errorf("--namespaces-selector: %w; accepted: a label selector like %s", err, contract.OptInSelector)
		}
		kind, name, err := subject(args[0], groupKind, podKind, statefulClusterKind)
		if err != nil {
			return err
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if kind == statefulClusterKind {
			return a.whyStatefulCluster(c.Context(), cluster, name, opted)
		}
		if kind != podKind {
			s, err := cluster.readLive(c.Context(), cluster.group(name))
			if err != nil {
				return err
			}
			if exists(s) {
				return a.whyGroup(c.Context(), cluster, s, opted)
			}
		}
		if kind == groupKind {
			return cluster.unknownGroup(c.Context(), cluster.group(name))
		}
		return a.whyPod(c.Context(), cluster, name, opted)
	}
	command.Flags().StringVar(&selector, "namespaces-selector", contract.OptInSelector, "the namespaces of the operator: the value of its flag -namespaces.selector")
	return a.answers(command)
}

// reasons returns the waits and the remarks.
func (v whyView) reasons() []waitView { return slices.Concat(v.Waits, v.Remarks) }

func (a *app) whyGroup(ctx context.Context, c *cluster, s group.Snapshot, opted labels.Selector) error {
	v := whyView{OptedIn: c.optIn(ctx, s.Key.Namespace, opted), Unreadable: s.Hold.Unreadable}
	if v.OptedIn != nil && !*v.OptedIn {
		v.groupView = viewOf(s) // a RolloutGroup may be outdated here
	} else {
		v.groupView = viewOfSteps(s, c.steps(ctx, s))
	}
	for _, i := range s.Hold.Intents {
		if s.IntentStatus(i).Counts() {
			v.Noted = append(v.Noted, notedView{i.Pod, i.Zone, string(i.Cause), i.Since})
		}
	}
	for _, w := range s.Hold.Waiting {
		v.Queue = append(v.Queue, queueView{string(w.Operation), w.Zone, w.Since})
	}
	v.Paused = c.pauses(ctx, s)
	v.Pods = c.diagnose(ctx, s.Key.Namespace, s.Zones, podsOf(v.reasons()...))
	v.Events = c.events(ctx, s)
	if err := a.printWhy(v, opted); err != nil {
		return err
	}
	if len(v.Waits) > 0 {
		return errWaits
	}
	return nil
}

// optIn reports whether a namespace has opted in, or nil if the user cannot read it.
func (c *cluster) optIn(ctx context.Context, namespace string, opted labels.Selector) *bool {
	in, known := c.optedIn(ctx, namespace, opted)
	if !known {
		return nil
	}
	return &in
}

// addOptIn prints a warning unless the namespace has opted in.
func addOptIn(p *screen.Page, in *bool, namespace string, opted labels.Selector) {
	switch {
	case in == nil:
		p.Line()
		p.Indented(0, screen.In(screen.Faint, fmt.Sprintf(
			"Whether namespace %s matches %s is not known, because you cannot read it: if it does not, lockstep does nothing here.", namespace, opted)))
	case !*in:
		p.Line()
		p.Indented(0, screen.In(screen.Bad, fmt.Sprintf(
			"Namespace %s does not match %s: lockstep works here only if it runs for this namespace alone (-kubernetes.namespace).", namespace, opted)))
	}
}

func (a *app) printWhy(v whyView, opted labels.Selector) error {
	if a.form != formTable {
		return a.answer(v)
	}
	p, now := a.page(), a.now()
	p.Line(headline(v.groupView, now)...)
	addOptIn(p, v.OptedIn, v.Namespace, opted)
	if len(v.Waits) == 0 {
		p.Line()
		p.Line(screen.In(screen.Good, nothingAwaited(v.groupView)))
	}
	addWaits(p, v.reasons(), v.Pods, nil)
	addRecorded(p, v.Noted, v.Queue, v.Unreadable, now)
	addPauses(p, v.Paused, now)
	addEvents(p, v.Events, now)
	return a.print(p)
}

func nothingAwaited(v groupView) string {
	if v.Activity == string(group.Settled) {
		return "Nothing waits: every zone is available and runs its newest revision."
	}
	return "Nothing waits: the next step can be taken."
}

// addWaits prints waits and the diagnoses of the pods that they name. Waits with the same meaning are printed together, in the
// place of the first one, with their meaning below them. A meaning that was printed already, which may be nil, is left out.
func addWaits(p *screen.Page, waits []waitView, left diagnoses, printed *waitView) {
	for len(waits) > 0 {
		first := waits[0]
		same, others := splitWaits(waits, first.means)
		p.Line()
		for _, w := range same {
			addReason(p, w, screen.In(screen.Strong, w.Zone))
		}
		if printed == nil || !printed.means(first) {
			addMeaning(p, first.Sentence, first.ToDo)
		}
		for _, w := range same {
			left = left.addTo(p, w.Pod)
		}
		waits = others
	}
}

// splitWaits returns the waits that satisfy a condition, and the others, in their order.
func splitWaits(waits []waitView, is func(waitView) bool) (those, others []waitView) {
	for _, w := range waits {
		if is(w) {
			those = append(those, w)
		} else {
			others = append(others, w)
		}
	}
	return those, others
}

// addReason prints a reason in short form, in one line with what comes before it.
func addReason(p *screen.Page, w waitView, before ...screen.Piece) {
	p.Line(append(before, screen.In(urgency(w), w.short()), screen.In(screen.Faint, w.ID))...)
}

// addRecorded prints what the hold records.
func addRecorded(p *screen.Page, pods []notedView, queue []queueView, unreadable string, now time.Time) {
	if unreadable != "" {
		p.Line()
		p.Line(screen.In(screen.Bad, "The hold cannot be read: "+unreadable))
	}
	if len(pods)+len(queue) > 0 {
		p.Line()
	}
	for _, n := range pods {
		p.Line(screen.Text(fmt.Sprintf("Recorded in the hold: %s of %s, %s, %s ago", n.Pod, n.Zone, n.Cause, screen.Span(now.Sub(n.Since)))))
	}
	for _, q := range queue {
		p.Line(screen.Text(fmt.Sprintf("In the queue: %s in %s, for %s", q.Operation, q.Zone, screen.Span(now.Sub(q.Since)))))
	}
}
