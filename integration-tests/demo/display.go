package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// display is the output of the demo, and the violations so far. Only one goroutine uses it.
type display struct {
	verifier *verifier
	evidence *evidence // nil without an audit log
	reported int       // number of printed violations

	out    io.Writer
	style  style
	screen *screen // nil if lines cannot be redrawn
}

func newDisplay(out *os.File) *display {
	terminal := isTerminal(out)
	d := &display{verifier: newVerifier(), out: out, style: ourStyle(terminal)}
	if terminal {
		d.screen = newScreen(out)
	}
	return d
}

// draw redraws the lines that a function returns for a view. It does nothing if lines cannot be redrawn.
func (d *display) draw(lines func(view) []string) {
	if d.screen == nil {
		return
	}
	width, _ := d.screen.size()
	d.screen.draw(lines(view{d.style, width}))
}

func (d *display) finishScreen() {
	if d.screen != nil {
		d.screen.finish()
	}
}

// verify adds the violations that the judge has found for some time, and prints new ones.
func (d *display) verify() error {
	_, err := d.verifyAt(time.Now())
	return err
}

// conclude verifies until all violations that the judge finds are confirmed. After some time it adds those that are not.
func (d *display) conclude(ctx context.Context) error {
	for deadline := time.Now().Add(2 * confirmAfter); ; {
		now := time.Now()
		unconfirmed, err := d.verifyAt(now)
		switch {
		case err != nil || len(unconfirmed) == 0:
			return err
		case now.After(deadline):
			d.add(unconfirmed)
			return nil
		}
		select {
		case <-time.After(frameInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// verifyAt adds the confirmed violations and returns the others.
func (d *display) verifyAt(now time.Time) (unconfirmed []judge.Violation, err error) {
	found, err := d.evidence.violations()
	if err != nil {
		return nil, err
	}
	confirmed := d.verifier.confirm(found, now)
	d.add(confirmed)
	return slices.DeleteFunc(found, func(one judge.Violation) bool { return slices.Contains(confirmed, one) }), nil
}

// add adds violations of the judge, and prints all that are new.
func (d *display) add(found []judge.Violation) {
	d.verifier.add(found)
	for _, v := range d.verifier.violations[d.reported:] {
		if d.screen == nil {
			fmt.Fprintf(d.out, "%s  VIOLATED  %s\n", clock(time.Now()), v)
		}
	}
	d.reported = len(d.verifier.violations)
}

func (d *display) printLines(lines []line) {
	for _, l := range lines {
		fmt.Fprintln(d.out, d.style.paint(l, columns(l))) // a terminal wraps long lines
	}
	fmt.Fprintln(d.out)
}
