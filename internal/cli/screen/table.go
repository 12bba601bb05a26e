package screen

import (
	"strconv"
	"strings"
)

func count(n int) string { return strconv.Itoa(n) }

// Count returns a number as a piece of a table.
func Count(n int) Piece { return Text(count(n)) }

// Table adds rows below headings. A column is as wide as its widest cell. The last column is
// truncated at the width of the screen.
func (p *Page) Table(indent int, headings []string, rows [][]Piece) {
	head := make([]Piece, len(headings))
	for i, text := range headings {
		head[i] = In(Faint, text)
	}
	all := append([][]Piece{head}, rows...)
	columns := make([]int, len(headings))
	for _, row := range all {
		for i, cell := range row {
			columns[i] = max(columns[i], Width(cell.text))
		}
	}
	for _, row := range all {
		p.lines = append(p.lines, strings.TrimRight(strings.Repeat(" ", indent)+p.row(row, columns, indent), " "))
	}
}

func (p *Page) row(row []Piece, columns []int, indent int) string {
	const gap = 2
	var b strings.Builder
	used := indent
	for i, cell := range row {
		text := cell.text
		if last := i == len(row)-1; last && p.Style.Columns > 0 {
			text = short(text, max(10, p.Style.Columns-used))
		} else if !last {
			text = padded(text, columns[i]+gap)
		}
		used += columns[i] + gap
		b.WriteString(p.paint(cell, text))
	}
	return b.String()
}
