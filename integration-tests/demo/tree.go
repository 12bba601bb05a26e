package main

import (
	"fmt"
	"strings"
	"time"
)

// barWidth is the width of the longest rollout in columns.
const barWidth = 40

var colours = map[string]colour{"rollout": bold, "zone": cyan, "pod": green}

// tree draws every rollout as a trace: the rollout, its zones and their pods, each with its start, its
// duration and a bar.
func tree(spans []rolloutSpan, s symbols) []line {
	var lines []line
	for _, root := range spans {
		if root.parent != "" {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, line{})
		}
		lines = append(lines, branch(spans, root, root, 0, s)...)
	}
	return lines
}

// branch draws a span and its children.
func branch(spans []rolloutSpan, root, of rolloutSpan, depth int, s symbols) []line {
	name := of.object()
	if depth == 0 {
		name = of.namespace + "/" + name
	}
	const names = longestPod + 6
	text := fmt.Sprintf("%-*s %7s %7s  ", names, strings.Repeat("  ", depth)+name, seconds(of.start.Sub(root.start)), seconds(of.end.Sub(of.start)))
	lines := []line{{{text, plain}, {bar(root, of, s), colours[of.kind()]}}}
	for _, below := range spans {
		if below.trace == of.trace && below.parent == of.id {
			lines = append(lines, branch(spans, root, below, depth+1, s)...)
		}
	}
	return lines
}

// bar draws the period of a span within the rollout.
func bar(root, of rolloutSpan, s symbols) string {
	whole := max(root.end.Sub(root.start), time.Millisecond)
	column := func(at time.Time) int {
		return min(max(int(int64(barWidth)*int64(at.Sub(root.start))/int64(whole)), 0), barWidth)
	}
	from := min(column(of.start), barWidth-1)
	return strings.Repeat(" ", from) + strings.Repeat(s.full, max(column(of.end)-from, 1))
}
