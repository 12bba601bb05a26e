package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// identitySnapshot is everything that one frame of the StatefulCluster draws.
type identitySnapshot struct {
	state      *identities
	heading    string // what happens now
	image      string // that the template has
	passed     time.Duration
	violations []violation
}

// identityHead names the columns of the rows.
var identityHead = []string{"pod", "node", "image", "claim"}

// identityWidest has the usual widths of the columns, so that no column moves when its first text appears.
var identityWidest = []string{strings.Repeat(" ", len(identityName+"-0123456789abcdef")), localcluster.NodeName(0), identityBefore, strings.Repeat(" ", longestClaim)}

// drawIdentities draws a row for each identity below what happens now.
func (v view) drawIdentities(s identitySnapshot) []string {
	lines := []line{
		{{fmt.Sprintf("%3.0f s  ", s.passed.Truncate(time.Second).Seconds()), faint}, {s.heading, bold}},
		v.identityLegend(), {}, v.identityHolder(s.state.holder),
	}
	lines = append(lines, v.identityRows(s)...)
	for _, broken := range s.violations {
		lines = append(lines, line{{"VIOLATED  " + broken.String(), red}})
	}
	painted := make([]string, len(lines))
	for i, l := range lines {
		painted[i] = v.style.paint(l, v.width)
	}
	return painted
}

func (v view) identityLegend() line {
	y := v.style.symbols
	return line{
		{y.outdated, faint}, {" old image   ", faint},
		{y.missing, yellow}, {" terminating or gone   ", faint},
		{y.starting, cyan}, {" starting   ", faint},
		{y.updated, green}, {" Ready", faint},
	}
}

func (v view) identityHolder(holder string) line {
	dot := " " + v.style.symbols.separator + " "
	l := line{{identityNamespace + "/" + identityName, bold}, {dot + "StatefulCluster" + dot, plain}}
	if holder == "" {
		return append(l, span{"Lease free", plain})
	}
	return append(l, span{"Lease held by ", plain}, span{holder, cyan})
}

// identityRows returns a row for each identity below the names of the columns.
func (v view) identityRows(s identitySnapshot) []line {
	cells := [][]string{identityHead}
	for _, i := range s.state.all {
		cells = append(cells, []string{i.pod.name, i.pod.node, i.pod.image, i.claim.name})
	}
	widths := columnWidths(append(cells, identityWidest))
	lines := []line{identityRow(cells[0], widths, span{" ", plain}, faint)}
	for n, i := range s.state.all {
		lines = append(lines, append(identityRow(cells[n+1], widths, v.identitySymbol(i, s.image), plain), i.note()))
	}
	return lines
}

func identityRow(cells []string, widths []int, symbol span, of colour) line {
	l := line{{"  ", plain}, symbol, {" ", plain}}
	for n, cell := range cells {
		l = append(l, span{cell + strings.Repeat(" ", widths[n]-len(cell)) + "  ", of})
	}
	return l
}

func (v view) identitySymbol(i *identity, image string) span {
	y := v.style.symbols
	switch {
	case !i.living():
		return span{y.missing, yellow}
	case !i.pod.serving():
		return span{y.starting, cyan}
	case i.pod.image == image:
		return span{y.updated, green}
	}
	return span{y.outdated, faint}
}

// note returns what distinguishes an identity from the others.
func (i *identity) note() span {
	switch {
	case i.claim.spent != "":
		return span{"spent " + i.claim.spent, yellow}
	case i.late:
		return span{"new", green}
	}
	return span{}
}
