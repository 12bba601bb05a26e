package walk

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// script is what happens to one group: events, and how each reconcile ends.
type script struct {
	Events     []time.Duration // since the beginning
	Reconciles []reconcileEnd
}

// reconcileEnd is the end of a reconcile. The group is reconciled again after Next, or only after an event if it is 0.
type reconcileEnd struct {
	Takes, Next time.Duration
	Fails       bool
	Class       reason.Class
}

func (e reconcileEnd) err() error {
	if !e.Fails {
		return nil
	}
	return reason.WithClass(e.Class, errors.New("it failed"))
}

// A worker of a walk begins its reconciles at the same times as the real loop, whatever happens.
func TestAWorkerReconcilesWhenTheLoopDoes(t *testing.T) {
	duration := func(most time.Duration) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(1, int64(most/time.Microsecond)), func(n int64) time.Duration { return time.Duration(n) * time.Microsecond })
	}
	scripts := rapid.Custom(func(t *rapid.T) script {
		drawn := script{Events: rapid.SliceOfN(rapid.OneOf(duration(time.Second), duration(10*time.Minute)), 1, 20).Draw(t, "events")}
		drawn.Reconciles = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reconcileEnd {
			return reconcileEnd{
				Takes: rapid.OneOf(rapid.Just(time.Duration(0)), duration(100*time.Millisecond), duration(10*time.Second)).Draw(t, "takes"),
				Next:  rapid.OneOf(rapid.Just(time.Duration(0)), duration(time.Second), duration(time.Minute)).Draw(t, "next"),
				Fails: rapid.Bool().Draw(t, "fails"),
				Class: rapid.SampledFrom([]reason.Class{reason.Moved, reason.Human, reason.Again, reason.Again}).Draw(t, "class"),
			}
		}), 1, 40).Draw(t, "reconciles")
		slices.Sort(drawn.Events)
		for n := range drawn.Events {
			drawn.Events[n] += time.Duration(n) // nanoseconds: nothing else happens at the time of an event
		}
		return drawn
	})
	rapid.Check(t, func(r *rapid.T) {
		s := scripts.Draw(r, "script")
		if diff := cmp.Diff(s.ofLoop(t), s.ofWorker(t)); diff != "" {
			r.Errorf("begins of reconciles (-loop +worker):\n%s", diff)
		}
	})
}

// end returns the end of a reconcile, counted from 0. After those of the script, reconciles have nothing to do.
func (s script) end(n int) reconcileEnd {
	if n < len(s.Reconciles) {
		return s.Reconciles[n]
	}
	return reconcileEnd{}
}

// ofLoop returns when the real loop begins the reconciles of a script.
func (s script) ofLoop(t *testing.T) (begins []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.Out = io.Discard
		began := time.Now()
		since := func() time.Duration { return time.Since(began) }
		l := loop.New(loop.Options[string]{Name: "test", Log: log, Reconcile: func(context.Context, string) (loop.Outcome, error) {
			end := s.end(len(begins))
			begins = append(begins, since())
			time.Sleep(end.Takes)
			if end.Next == 0 {
				return loop.Done(), end.err()
			}
			return loop.After(end.Next), end.err()
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { l.Run(ctx); close(ended) }()
		for _, at := range s.Events {
			time.Sleep(at - since())
			l.Add("group")
		}
		time.Sleep(time.Hour)
		stop()
		<-ended
	})
	return begins
}

// ofWorker returns when a worker begins the reconciles of a script.
func (s script) ofWorker(t *testing.T) (begins []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &walk{ctx: t.Context(), schedule: Schedule{}}
		p := &process{walk: w, leads: true, clock: clock{rate: 1, steady: 1}}
		var wk *worker
		wk = p.newWorker(func() {
			end := s.end(len(begins))
			begins = append(begins, w.now)
			after := onlyEvents
			if end.Next > 0 {
				after = end.Next
			}
			p.after(end.Takes, func() { wk.end(after, end.err()) })
		})
		wk.latency = func() time.Duration { return 0 }
		for _, at := range s.Events {
			w.agenda.add(at, wk.add)
		}
		for len(w.agenda.events) > 0 {
			next := w.agenda.next()
			w.now = next.at
			next.fire()
		}
	})
	return begins
}
