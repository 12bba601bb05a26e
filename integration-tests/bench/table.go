package main

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// row is one figure of all contenders and its goal.
type row struct {
	what  string
	goal  string
	cells map[string]string // by contender
	met   verdict           // by lockstep
}

type verdict string

const (
	met    verdict = "yes"
	missed verdict = "no"
	noGoal verdict = "" // there is no goal
)

func verdictOf(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// verdictOfBoth returns which of the goals for p50 and p99 is missed.
func verdictOfBoth(p50, p99 bool) verdict {
	switch {
	case p50 && !p99:
		return missed + " (p99)"
	case p99 && !p50:
		return missed + " (p50)"
	}
	return verdictOf(p50)
}

// table formats rows as aligned Markdown. A contender without figures has no column.
func table(names []string, rows []row) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return r.cells[name] != "" })
	})
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
