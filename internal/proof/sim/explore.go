package sim

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Report is what an exploration found.
type Report struct {
	States int                // different up to renumbering
	Moves  int                // between them
	Depth  int                // length of the longest of the shortest histories
	Goals  int                // states in which the goal is reached
	Covers [allDimensions]int // moves by what is special about them
	Broken *Story
}

// Story is the shortest history that breaks a rule.
type Story struct {
	Rule  string
	How   string
	Lines []string // one for each move
}

// String returns the story as people read it.
func (s *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", s.Rule, s.How)
	for n, line := range s.Lines {
		fmt.Fprintf(&b, "%3d %s\n", n+1, line)
	}
	return b.String()
}

// Explore visits every state that can be reached, breadth first, and stops at
// the first that breaks a rule. An error says that the configuration is
// impossible or that the world is larger than MaxStates.
func Explore(c Config, r Rules) (Report, error) {
	if err := c.validate(); err != nil {
		return Report{}, err
	}
	e := &explorer{
		config: c, rules: r, first: c.start(),
		index: map[key]uint32{}, decisions: map[view]*decision{}, answers: map[question]bool{}, verdicts: map[petition]verdict{}, permits: map[plea]permit{},
	}
	e.first.renumber(c)
	if err := e.run(); err != nil {
		return e.report(), err
	}
	if e.broken == nil && r.judges("Progress") {
		e.judgeProgress()
	}
	return e.report(), nil
}

// errTooLarge says that a world has more states than were to be visited. Those that were are
// judged.
var errTooLarge = errors.New("explore")

type explorer struct {
	config Config
	rules  Rules
	first  world

	index     map[key]uint32 // numbers of states, in the order in which they were found
	parents   []uint32
	wishes    []bool // fulfillable
	goals     []uint32
	fair      []uint32 // where fair moves lead to, state by state
	fairEnds  []uint32 // where in fair the moves of a state end
	moveCount int
	depth     int
	covers    [allDimensions]int
	broken    *Story
	decisions map[view]*decision
	answers   map[question]bool
	verdicts  map[petition]verdict
	permits   map[plea]permit
}

func (e *explorer) report() Report {
	return Report{
		States: len(e.index), Moves: e.moveCount, Depth: e.depth, Goals: len(e.goals), Covers: e.covers, Broken: e.broken,
	}
}

// run explores level by level: only the last level is kept as worlds.
func (e *explorer) run() error {
	e.add(&e.first, 0)
	var now, next level
	now.add(&e.first)
	for len(now) > 0 {
		for i, part := range now {
			for j := range part {
				e.expand(&part[j], &next)
				if e.broken != nil {
					return nil
				}
			}
			now[i] = nil // not needed any more
		}
		if e.config.MaxStates > 0 && len(e.index) > e.config.MaxStates {
			return fmt.Errorf("%w: more than %d states at depth %d", errTooLarge, e.config.MaxStates, e.depth)
		}
		if now, next = next, nil; len(now) > 0 {
			e.depth++
		}
	}
	return nil
}

// level is the worlds of one depth, in parts that are given up one by one.
type level [][]world

func (l *level) add(w *world) {
	const part = 1024
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == part {
		*l = append(*l, make([]world, 0, part))
		last++
	}
	(*l)[last] = append((*l)[last], *w)
}

// expand visits what can happen in the next state that was not expanded yet.
func (e *explorer) expand(w *world, next *level) {
	from := uint32(len(e.fairEnds))
	e.moves(w, func(m *move) {
		if e.broken != nil {
			return
		}
		if m.rule == "" {
			m.rule, m.how = e.judgeState(&m.next)
		}
		if m.rule != "" && e.rules.judges(m.rule) {
			e.broken = &Story{Rule: m.rule, How: m.how, Lines: append(e.story(from), m.line())}
			return
		}
		e.moveCount++
		e.exercise(m.exercises)
		m.next.renumber(e.config)
		to, isNew := e.add(&m.next, from)
		if isNew {
			next.add(&m.next)
		}
		if m.fair && to != from {
			e.fair = append(e.fair, to)
		}
	})
	e.fairEnds = append(e.fairEnds, uint32(len(e.fair)))
}

func (e *explorer) exercise(set dimensions) {
	for ; set != 0; set &= set - 1 {
		e.covers[bits.TrailingZeros64(uint64(set))]++
	}
}

func (e *explorer) add(w *world, parent uint32) (number uint32, isNew bool) {
	k := w.key(e.config)
	if n, ok := e.index[k]; ok {
		return n, false
	}
	n := uint32(len(e.index))
	e.index[k] = n
	e.parents = append(e.parents, parent)
	e.wishes = append(e.wishes, w.fulfillable(e.config))
	if w.reached(e.config) {
		e.goals = append(e.goals, n)
	}
	return n, true
}

// judgeProgress goes back from the goals along fair moves. Most of them lead to
// states of higher numbers, so a few passes from the last state to the first do.
func (e *explorer) judgeProgress() {
	reaches := make([]bool, len(e.index))
	for _, n := range e.goals {
		reaches[n] = true
	}
	for more := true; more; {
		more = false
		for n := len(reaches) - 1; n >= 0; n-- {
			if !reaches[n] && slices.ContainsFunc(e.fairFrom(n), func(to uint32) bool { return reaches[to] }) {
				reaches[n], more = true, true
			}
		}
	}
	for n := range reaches {
		if e.wishes[n] && !reaches[n] {
			e.broken = &Story{Rule: "Progress", How: "from here the goal cannot be reached", Lines: e.story(uint32(n))}
			return
		}
	}
}

// fairFrom returns where fair moves lead to from a state.
func (e *explorer) fairFrom(n int) []uint32 {
	begin := uint32(0)
	if n > 0 {
		begin = e.fairEnds[n-1]
	}
	return e.fair[begin:e.fairEnds[n]]
}

// story tells how a state was reached, by doing it again.
func (e *explorer) story(n uint32) []string {
	var lines []string
	w := e.first
	for _, k := range e.path(n) {
		found := false
		var next world
		e.moves(&w, func(m *move) {
			if found {
				return
			}
			m.next.renumber(e.config)
			if m.next.key(e.config) == k {
				found, next = true, m.next
				lines = append(lines, m.line())
			}
		})
		if !found {
			panic("explore: a history cannot be repeated")
		}
		w = next
	}
	return lines
}

// path returns the keys of the states on the way to one, without the first.
func (e *explorer) path(n uint32) []key {
	places := map[uint32]int{}
	for ; n != 0; n = e.parents[n] {
		places[n] = len(places)
	}
	keys := make([]key, len(places))
	for k, number := range e.index {
		if place, ok := places[number]; ok {
			keys[len(keys)-1-place] = k
		}
	}
	return keys
}
