package main

import (
	"strings"
	"unicode/utf8"
)

// row is one figure of everybody beside its goal.
type row struct {
	what  string
	goal  string
	cells map[string]string // by racer
	met   verdict           // by lockstep
}

type verdict string

const (
	met     verdict = "yes"
	missed  verdict = "no"
	unasked verdict = "" // there is no goal
)

func verdictOf(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// table prints rows in Markdown that also reads well in a terminal.
func table(names []string, rows []row) string {
	head := append(append([]string{"what", "goal"}, names...), "met")
	lines := [][]string{head, nil}
	for _, r := range rows {
		line := []string{r.what, r.goal}
		for _, name := range names {
			line = append(line, r.cells[name])
		}
		lines = append(lines, append(line, string(r.met)))
	}
	widths := make([]int, len(head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, width := range widths {
		lines[1] = append(lines[1], strings.Repeat("-", width))
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString("|\n")
	}
	return b.String()
}
