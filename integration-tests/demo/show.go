package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	rolloutTimeout = 3 * time.Minute        // for the rollout of simulated pods
	afterGoal      = 2 * time.Second        // after the goal, while no pod may change
	traceTimeout   = 5 * time.Second        // for the last spans
	frameInterval  = 100 * time.Millisecond // at the latest
)

// demo runs everything and prints it. It returns the violations, which it also prints.
func demo(ctx context.Context, out *os.File, keep bool) (_ []violation, err error) {
	fmt.Fprintln(out, "Demo: one operator, two opted-in namespaces and one that is not")
	began := time.Now()
	s, err := setUp(ctx, out, keep)
	defer func() {
		if err == nil && keep {
			printKept(out, s)
			err = s.stopTraces()
			return
		}
		if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
			err = errInterrupted
		}
		if cleanupErr := s.tearDown(ctx); cleanupErr != nil {
			err = errors.Join(err, cleanupErr)
		}
	}()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s and the operator (process %d, its own service account) are up after %s\n",
		s.name, s.operator.pid, seconds(time.Since(began)))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := newDisplay(out)
	if d.evidence, err = startEvidence(ctx, s.client, s.AuditLog()); err != nil {
		return nil, err
	}
	if err := newRolloutShow(d).run(ctx, s); err != nil {
		return nil, err
	}
	if err := showIdentities(ctx, d, s); err != nil {
		return nil, err
	}
	d.printTraces(ctx, s)
	return d.verifier.violations, nil
}

// rolloutShow is one rollout and its display. Only one goroutine uses it.
type rolloutShow struct {
	*display
	state    *clusterState
	measures *measures
	waits    map[string]groupWaits

	observations <-chan observation[stateChange]
	reasons      chan groupWaits
	changeLog    *changeLog // nil if lines can be redrawn
}

func newRolloutShow(d *display) *rolloutShow {
	p := &rolloutShow{display: d, state: newClusterState(), waits: map[string]groupWaits{}, reasons: make(chan groupWaits)}
	if d.screen == nil {
		p.changeLog = newChangeLog(d.out)
	}
	return p
}

// run plays the rollout and prints its result.
func (p *rolloutShow) run(ctx context.Context, s *environment) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.observations, err = watchGroups(ctx, s.client); err != nil {
		return err
	}
	if err := p.roll(ctx, s); err != nil {
		return err
	}
	if err := p.conclude(ctx); err != nil {
		return err
	}
	p.printResult()
	return nil
}

// roll creates the groups, changes their templates and watches until shortly after the goal is reached,
// or until a timeout.
func (p *rolloutShow) roll(ctx context.Context, s *environment) error {
	if err := s.createGroups(ctx, p.state); err != nil {
		return err
	}
	if err := p.awaitReady(ctx, s); err != nil {
		return err
	}
	for _, n := range p.state.namespaces {
		if n.optedIn {
			go pollWaits(ctx, s.operator.url, n.name, groupName, p.reasons)
		}
	}
	p.state.startRollout()
	p.measures = newMeasures(time.Now())
	if err := s.changeTemplates(ctx, p.state); err != nil {
		return err
	}
	defer p.finishScreen()
	if err := p.watchUntil(ctx, s, s.rolloutTimeout, p.state.finished); err != nil {
		return err
	}
	p.verifier.verifyGoal(p.state, s.rolloutTimeout)
	return p.watchUntil(ctx, s, afterGoal, func() bool { return false })
}

func (p *rolloutShow) awaitReady(ctx context.Context, s *environment) error {
	_, all := p.state.countServing()
	fmt.Fprintf(p.out, "%d namespaces with %d zones of %d pods each; a pod needs %s until it is Ready\n",
		len(p.state.namespaces), len(zoneNames), podsPerZone, s.readyTime)
	began := time.Now()
	limit := time.After(s.setUpTimeout)
	for !p.state.ready() {
		select {
		case o := <-p.observations:
			if o.err != nil {
				return o.err
			}
			p.state.apply(o.event)
		case <-s.operator.exited:
			return fmt.Errorf("the operator ended by itself; %s", logTail(s.operator.log))
		case <-limit:
			up, _ := p.state.countServing()
			return fmt.Errorf("only %d of %d pods are Ready after %s, before anything was rolled, with the image %s",
				up, all, s.setUpTimeout, s.template.Spec.Containers[0].Image)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	fmt.Fprintf(p.out, "all %d pods are Ready after %s; now %s in all of them\n\n", all, seconds(time.Since(began)), s.changes)
	return nil
}

// watchUntil applies and draws events until done returns true or the time is over.
func (p *rolloutShow) watchUntil(ctx context.Context, s *environment, limit time.Duration, done func() bool) error {
	over := time.After(limit)
	frames := time.NewTicker(frameInterval)
	defer frames.Stop()
	p.draw()
	for !done() {
		select {
		case o := <-p.observations:
			if o.err != nil {
				return o.err
			}
			p.apply(o.event)
		case w := <-p.reasons:
			p.waits[w.namespace] = w
			if p.changeLog != nil {
				p.changeLog.waits(time.Now(), w, p.state.namespace(w.namespace).zones)
			}
			continue // the next frame draws it
		case <-frames.C:
			if err := p.verify(); err != nil {
				return err
			}
		case <-s.operator.exited:
			p.verifier.report("", nil, "the operator ended by itself; %s", logTail(s.operator.log))
			return nil
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p.draw()
	}
	return nil
}

func (p *rolloutShow) apply(s stateChange) {
	changes := p.state.apply(s)
	if len(changes) == 0 {
		return
	}
	if p.evidence == nil {
		p.verifier.verifyChanges(p.state, changes)
	}
	finished := p.measures.add(p.state, s.at, changes)
	if p.changeLog == nil {
		return
	}
	for _, c := range changes {
		p.changeLog.change(p.state, c)
	}
	for _, key := range finished {
		p.changeLog.finished(s.at, key, p.measures.zone(key.namespace, key.zone).took())
	}
}

// draw draws the current state.
func (p *rolloutShow) draw() {
	p.display.draw(func(v view) []string {
		return v.draw(snapshot{
			state: p.state, measures: p.measures, waits: p.waits, violations: p.verifier.violations, now: time.Now(),
		})
	})
}

// printTraces draws the trace of each rollout. If Jaeger is running, it also prints the addresses of
// the traces and waits for Ctrl-C.
func (d *display) printTraces(ctx context.Context, s *environment) {
	spans := s.traces.await(ctx, len(optedIn), traceTimeout)
	if len(spans) == 0 {
		return
	}
	fmt.Fprintln(d.out, "The traces of the operator: the start and the duration of each zone and pod.")
	d.printLines(tree(spans, d.style.symbols))
	if s.jaeger == nil {
		return
	}
	for _, root := range spans {
		if root.parent == "" {
			fmt.Fprintf(d.out, "Jaeger has the trace of %s at %s/api/traces/%s\n", root.namespace, s.jaeger.Query(), root.trace)
		}
	}
	if d.screen != nil {
		fmt.Fprintln(d.out, "Jaeger ends with this demo: press Ctrl-C for that")
		<-ctx.Done()
	}
}

func (p *rolloutShow) printResult() {
	fmt.Fprintln(p.out)
	p.printLines(table(p.state, p.measures, p.verifier.violations))
	fmt.Fprintln(p.out, p.style.paint(line{{columnNotes, faint}}, len(columnNotes)))
	fmt.Fprintln(p.out)
	p.printLines(result(p.state, p.measures, p.verifier.violations))
	if p.evidence == nil {
		fmt.Fprintln(p.out, "NOT JUDGED by the audit log of this cluster, which is not accessible, but by its watches.")
	}
}
