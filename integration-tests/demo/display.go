package main

import (
	"fmt"
	"io"
	"os"
	"time"
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

// verify adds the violations that the judge has found so far, and prints new ones.
func (d *display) verify() error {
	found, err := d.evidence.violations()
	if err != nil {
		return err
	}
	d.verifier.add(found)
	for _, v := range d.verifier.violations[d.reported:] {
		if d.screen == nil {
			fmt.Fprintf(d.out, "%s  VIOLATED  %s\n", clock(time.Now()), v)
		}
	}
	d.reported = len(d.verifier.violations)
	return nil
}

func (d *display) printLines(lines []line) {
	for _, l := range lines {
		fmt.Fprintln(d.out, d.style.paint(l, columns(l))) // a terminal wraps long lines
	}
	fmt.Fprintln(d.out)
}
