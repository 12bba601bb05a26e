package cli

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

// readAgain is how often a followed StatefulCluster is read.
const readAgain = 2 * time.Second

// statefulClusterStatus shows a StatefulCluster, or follows it until ctx ends.
func (a *app) statefulClusterStatus(ctx context.Context, c *cluster, name string, watch bool) error {
	drawn, began := "", a.now()
	for {
		s, err := c.readStatefulCluster(ctx, name)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user has ended it
		}
		if err != nil {
			return err
		}
		v := viewOfStatefulCluster(s)
		if a.form != formTable {
			return a.answer(v)
		}
		p := a.page()
		addStatefulCluster(p, v, a.now())
		if !watch {
			return a.print(p)
		}
		still := a.page()
		addStatefulCluster(still, v, began)
		if err := a.showChange(p, still.String(), &drawn); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readAgain):
		}
	}
}

// showChange shows a page that has changed: on a terminal in the place of the former one, elsewhere below it, with the time.
// still is the page without what changes all the time.
func (a *app) showChange(p *screen.Page, still string, drawn *string) error {
	if a.style.Bars {
		return a.redraw(p, drawn)
	}
	if still == *drawn {
		return nil
	}
	*drawn = still
	p.Head(screen.In(screen.Faint, screen.Clock(a.now())))
	return a.print(p)
}

// statefulClusterWhy is the answer of why about a StatefulCluster.
type statefulClusterWhy struct {
	statefulClusterView
	Queue      []queueView `json:"queue,omitempty"`
	OptedIn    *bool       `json:"optedIn,omitempty"`    // whether the namespace has opted in; omitted if the user cannot read it
	Unreadable string      `json:"unreadable,omitempty"` // why the hold is unreadable
	Diagnoses  diagnoses   `json:"diagnoses,omitempty"`  // of the pod that the reason names
}

// whyStatefulCluster shows what a StatefulCluster waits for.
func (a *app) whyStatefulCluster(ctx context.Context, c *cluster, name string, opted labels.Selector) error {
	s, err := c.readStatefulCluster(ctx, name)
	if err != nil {
		return err
	}
	v := statefulClusterWhy{statefulClusterView: viewOfStatefulCluster(s), OptedIn: c.optIn(ctx, c.namespace, opted), Unreadable: s.Hold.Unreadable}
	for _, w := range s.Hold.Waiting {
		if w.Counts(s.Now) {
			v.Queue = append(v.Queue, queueView{string(w.Operation), w.Zone, w.Since})
		}
	}
	if v.Waits != nil {
		v.Diagnoses = c.diagnose(ctx, c.namespace, nil, podsOf(*v.Waits)).withOneAdvice([]waitView{*v.Waits})
	}
	if a.form != formTable {
		err = a.answer(v)
	} else {
		err = a.printWhyStatefulCluster(v, opted)
	}
	if err == nil && v.Waits != nil {
		return errWaits
	}
	return err
}

func (a *app) printWhyStatefulCluster(v statefulClusterWhy, opted labels.Selector) error {
	p, now := a.page(), a.now()
	addStatefulCluster(p, v.statefulClusterView, now)
	addOptIn(p, v.OptedIn, v.Namespace, opted)
	p.Line()
	if v.Waits == nil {
		p.Line(screen.In(screen.Good, "Nothing waits."))
	} else {
		addReason(p, *v.Waits)
		if !v.Waits.says(v.Message) {
			p.Indented(2, screen.Text(v.Message))
		}
		addMeaning(p, v.Waits.Sentence, v.Waits.ToDo)
		v.Diagnoses.addTo(p, v.Waits.Pod)
	}
	addRecorded(p, nil, v.Queue, v.Unreadable, now)
	return a.print(p)
}
