package main

import (
	"fmt"
	"strings"
	"time"
)

var tableHead = []string{"namespace", "zone", "new pods", "time", "longest gap", "most down", "verdict"}

// rightFrom is the first column with numbers, rightTo the last one.
const rightFrom, rightTo = 2, 5

// table returns the result of every zone, one line each, below the column names.
func table(w *clusterState, m *measures, violations []violation) []line {
	rows := [][]string{tableHead}
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			rows = append(rows, row(n, z, m.zone(n.name, z.name), verdict(n, z, violations)))
		}
	}
	widths := columnWidths(rows)
	lines := make([]line, len(rows))
	for i, cells := range rows {
		lines[i] = tableLine(cells, widths, i == 0)
	}
	return lines
}

func row(n *namespace, z *zone, m *zoneMeasure, verdict string) []string {
	took, gap := "-", "-"
	if m.took() > 0 {
		took = seconds(m.took())
	}
	if m.gapCount > 0 {
		gap = milliseconds(m.gap)
	}
	return []string{
		n.name, z.name, fmt.Sprintf("%d of %d", z.updatedPods(), z.replicas), took, gap, fmt.Sprint(m.maxDown), verdict,
	}
}

const (
	verdictFine      = "ok"
	verdictUntouched = "untouched"
	verdictViolated  = "VIOLATED"
)

func verdict(n *namespace, z *zone, violations []violation) string {
	switch {
	case concerns(violations, n.name, z.name):
		return verdictViolated
	case !n.optedIn:
		return verdictUntouched
	}
	return verdictFine
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	return widths
}

func tableLine(cells []string, widths []int, head bool) line {
	var l line
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-len(cell))
		text := cell + pad
		if i >= rightFrom && i <= rightTo {
			text = pad + cell
		}
		l = append(l, span{text + "  ", tableColour(cell, head)})
	}
	return l
}

func tableColour(cell string, head bool) colour {
	switch {
	case head:
		return faint
	case cell == verdictFine || cell == verdictUntouched:
		return green
	case cell == verdictViolated:
		return red
	}
	return plain
}

// columnNotes explain the columns.
const columnNotes = `new pods:    on the new revision and Ready
time:        from the first delete to the last replacement's Ready
longest gap: from a replacement's Ready to the next delete in its zone
most down:   pods of the zone that were not Ready at the same time`

// result returns the summary: the violations, or that there were none.
func result(w *clusterState, m *measures, violations []violation) []line {
	var lines []line
	for _, v := range violations {
		lines = append(lines, line{{"VIOLATED  " + v.String(), red}})
	}
	if len(violations) > 0 {
		return lines
	}
	pods, groups := 0, 0
	for _, n := range w.namespaces {
		if n.optedIn {
			groups++
			pods += n.updatedPods()
		}
	}
	return []line{
		{{fmt.Sprintf("Nothing was violated. %s in %s replaced in %s; the next zone began at most",
			counted(pods, "pod"), counted(groups, "group"), seconds(m.finished.Sub(m.began))), green}},
		{{fmt.Sprintf("%s after the last pod of the one before was Ready.", milliseconds(m.handOver)), green}},
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
