package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	patience      = 3 * time.Minute        // for the rollout of simulated pods
	afterwards    = 2 * time.Second        // watched on after the goal, when nothing may happen any more
	tracePatience = 5 * time.Second        // for the last spans
	redraw        = 100 * time.Millisecond // at the latest
)

// demo runs everything and prints it. What was violated is printed as well.
func demo(ctx context.Context, out *os.File, keep bool) (_ []violation, err error) {
	fmt.Fprintln(out, "lockstep at work: one operator, two namespaces that opted in and one that did not")
	began := time.Now()
	s, err := setUp(ctx, out, keep)
	defer func() {
		if err == nil && keep {
			sayKept(out, s)
			err = s.endTraces()
			return
		}
		if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
			err = errInterrupted
		}
		if struck := s.strike(ctx); struck != nil {
			err = errors.Join(err, struck)
		}
	}()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s and the operator (process %d, its own service account) are up after %s\n",
		s.name, s.operator.pid, seconds(time.Since(began)))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPlay(out)
	if p.seen, err = watchEverything(ctx, s.client); err != nil {
		return nil, err
	}
	if p.record, err = startRecord(ctx, s.client, s.AuditLog()); err != nil {
		return nil, err
	}
	if err := p.perform(ctx, s); err != nil {
		return nil, err
	}
	if err := p.judge(); err != nil {
		return nil, err
	}
	p.printResult()
	p.printTraces(ctx, s)
	return p.court.violations, nil
}

// play is one rollout as it is watched. One goroutine has it.
type play struct {
	world    *world
	court    *court
	record   *record // nil: there is no audit log
	told     int     // of the violations
	measures *measures
	waits    map[string]waits

	seen    <-chan observation
	answers chan waits

	out     io.Writer
	style   style
	screen  *screen // nil where lines cannot be redrawn
	journal *journal
}

func newPlay(out *os.File) *play {
	terminal := isTerminal(out)
	p := &play{
		world: newWorld(), court: newCourt(), waits: map[string]waits{},
		answers: make(chan waits), out: out, style: ourStyle(terminal),
	}
	if terminal {
		p.screen = newScreen(out)
	} else {
		p.journal = newJournal(out)
	}
	return p
}

// perform creates the groups, changes their templates and watches until the goal is
// reached and a moment longer, or patience ends.
func (p *play) perform(ctx context.Context, s *stage) error {
	if err := s.createGroups(ctx, p.world); err != nil {
		return err
	}
	if err := p.awaitReady(ctx, s); err != nil {
		return err
	}
	for _, n := range p.world.namespaces {
		if n.optedIn {
			go askForWaits(ctx, s.operator.url, n.name, groupName, p.answers)
		}
	}
	p.world.begin()
	p.measures = newMeasures(time.Now())
	if err := s.changeTemplates(ctx, p.world); err != nil {
		return err
	}
	defer p.leaveScreen()
	if err := p.watchUntil(ctx, s, s.patience, p.world.finished); err != nil {
		return err
	}
	p.court.end(p.world, s.patience)
	return p.watchUntil(ctx, s, afterwards, func() bool { return false })
}

func (p *play) awaitReady(ctx context.Context, s *stage) error {
	_, all := p.world.podsUp()
	fmt.Fprintf(p.out, "%d namespaces with %d zones of %d pods each; a pod needs %s until it is Ready\n",
		len(p.world.namespaces), len(zoneNames), podsPerZone, s.need)
	began := time.Now()
	limit := time.After(s.setUpPatience)
	for !p.world.ready() {
		select {
		case o := <-p.seen:
			if o.err != nil {
				return o.err
			}
			p.world.apply(o.sighting)
		case <-s.operator.exited:
			return fmt.Errorf("the operator ended by itself; %s", logTail(s.operator.log))
		case <-limit:
			up, _ := p.world.podsUp()
			return fmt.Errorf("only %d of %d pods are Ready after %s, before anything was rolled, with the image %s",
				up, all, s.setUpPatience, s.before.Spec.Containers[0].Image)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	fmt.Fprintf(p.out, "all %d pods are Ready after %s; now %s in all of them\n\n", all, seconds(time.Since(began)), s.changes)
	return nil
}

// watchUntil takes in and shows what happens until done, or until the time is over.
func (p *play) watchUntil(ctx context.Context, s *stage, limit time.Duration, done func() bool) error {
	over := time.After(limit)
	frames := time.NewTicker(redraw)
	defer frames.Stop()
	p.show()
	for !done() {
		select {
		case o := <-p.seen:
			if o.err != nil {
				return o.err
			}
			p.takeIn(o.sighting)
		case w := <-p.answers:
			p.waits[w.namespace] = w
			if p.journal != nil {
				p.journal.waits(time.Now(), w, p.world.namespace(w.namespace).zones)
			}
			continue // the next frame shows it
		case <-frames.C:
			if err := p.judge(); err != nil {
				return err
			}
		case <-s.operator.exited:
			p.court.add("", nil, "the operator ended by itself; %s", logTail(s.operator.log))
			return nil
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p.show()
	}
	return nil
}

func (p *play) takeIn(s sighting) {
	changes := p.world.apply(s)
	if len(changes) == 0 {
		return
	}
	if p.record == nil {
		p.court.testify(p.world, changes)
	}
	finished := p.measures.see(p.world, s.at, changes)
	if p.journal == nil {
		return
	}
	for _, c := range changes {
		p.journal.change(p.world, c)
	}
	for _, key := range finished {
		p.journal.finished(s.at, key, p.measures.zone(key.namespace, key.zone).took())
	}
}

// show draws what is known now.
func (p *play) show() {
	if p.screen == nil {
		return
	}
	width, _ := p.screen.size()
	p.screen.draw(view{p.style, width}.draw(scene{
		world: p.world, measures: p.measures, waits: p.waits, violations: p.court.violations, now: time.Now(),
	}))
}

func (p *play) leaveScreen() {
	if p.screen != nil {
		p.screen.leave()
	}
}

// judge takes in what the judge has found so far, and tells what is new.
func (p *play) judge() error {
	found, err := p.record.violations()
	if err != nil {
		return err
	}
	p.court.hear(found)
	for _, v := range p.court.violations[p.told:] {
		if p.journal != nil {
			fmt.Fprintf(p.out, "%s  VIOLATED  %s\n", clock(time.Now()), v)
		}
	}
	p.told = len(p.court.violations)
	return nil
}

// printTraces draws the trace of each rollout and, where Jaeger has them as well, says
// where to look and waits until somebody has.
func (p *play) printTraces(ctx context.Context, s *stage) {
	spans := s.traces.await(ctx, len(optedIn), tracePatience)
	if len(spans) == 0 {
		return
	}
	fmt.Fprintln(p.out, "What the operator told of it as traces: when a zone or a pod began, how long it took.")
	p.printLines(tree(spans, p.style.symbols))
	if s.jaeger == nil {
		return
	}
	for _, root := range spans {
		if root.parent == "" {
			fmt.Fprintf(p.out, "Jaeger has the trace of %s at %s/api/traces/%s\n", root.namespace, s.jaeger.Query(), root.trace)
		}
	}
	if p.screen != nil {
		fmt.Fprintln(p.out, "Jaeger ends with this demo: press Ctrl-C for that")
		<-ctx.Done()
	}
}

func (p *play) printLines(lines []line) {
	for _, l := range lines {
		fmt.Fprintln(p.out, p.style.paint(l, columns(l))) // whole: a terminal wraps
	}
	fmt.Fprintln(p.out)
}

func (p *play) printResult() {
	fmt.Fprintln(p.out)
	p.printLines(table(p.world, p.measures, p.court.violations))
	fmt.Fprintln(p.out, p.style.paint(line{{tableNotes, faint}}, len(tableNotes)))
	fmt.Fprintln(p.out)
	p.printLines(result(p.world, p.measures, p.court.violations))
	if p.record == nil {
		fmt.Fprintln(p.out, "NOT JUDGED by the audit log of this cluster, which is not at hand, but by what its watches show.")
	}
}
