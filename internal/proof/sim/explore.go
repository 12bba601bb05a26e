package sim

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Report is the result of an exploration.
type Report struct {
	States    int              // distinct up to renumbering
	Moves     int              // between states
	Depth     int              // maximum over all states of the shortest history
	Goals     int              // states in which the goal is reached
	Coverage  [coverPoints]int // number of moves, by cover point
	Violation *Counterexample
}

// Counterexample is the shortest history that breaks a rule.
type Counterexample struct {
	Rule   string
	Detail string
	Moves  []string // one for each move
}

// String returns the counterexample as text.
func (s *Counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", s.Rule, s.Detail)
	for n, line := range s.Moves {
		fmt.Fprintf(&b, "%3d %s\n", n+1, line)
	}
	return b.String()
}

// Explore visits every reachable state, breadth first, and stops at the first state that
// breaks a rule. It returns an error if the configuration is invalid or the world has more
// than MaxStates states.
func Explore(config Config, deviations Deviations) (Report, error) {
	if err := config.validate(); err != nil {
		return Report{}, err
	}
	e := &explorer{
		config: config, deviations: deviations, first: config.start(),
		index: map[key]uint32{}, decisions: map[view]*decision{}, freshnessAnswers: map[freshnessInput]bool{}, downscaleAnswers: map[downscaleInput]downscaleAnswer{}, evictionAnswers: map[evictionInput]evictionAnswer{},
	}
	e.first.renumber(config)
	if err := e.run(); err != nil {
		return e.report(), err
	}
	if e.violation == nil && deviations.checks("Progress") {
		e.checkProgress()
	}
	return e.report(), nil
}

// errTooLarge means that a world has more than MaxStates states. The visited states have been
// checked.
var errTooLarge = errors.New("explore")

type explorer struct {
	config     Config
	deviations Deviations
	first      world

	index            map[key]uint32 // numbers of states, in the order of discovery
	parents          []uint32
	fulfillable      []bool // by state
	goals            []uint32
	fair             []uint32 // targets of fair moves, state by state
	fairEnds         []uint32 // end of each state's targets in fair
	moveCount        int
	depth            int
	coverage         [coverPoints]int
	violation        *Counterexample
	decisions        map[view]*decision
	freshnessAnswers map[freshnessInput]bool
	downscaleAnswers map[downscaleInput]downscaleAnswer
	evictionAnswers  map[evictionInput]evictionAnswer
}

func (e *explorer) report() Report {
	return Report{
		States: len(e.index), Moves: e.moveCount, Depth: e.depth, Goals: len(e.goals), Coverage: e.coverage, Violation: e.violation,
	}
}

// run explores level by level. It keeps only the worlds of the last level.
func (e *explorer) run() error {
	e.add(&e.first, 0)
	var now, next level
	now.add(&e.first)
	for len(now) > 0 {
		for i, part := range now {
			for j := range part {
				e.expand(&part[j], &next)
				if e.violation != nil {
					return nil
				}
			}
			now[i] = nil // releases memory
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

// level has the worlds of one depth, in parts that can be released one by one.
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

// expand visits all moves from a state, and adds the new states to the next level.
func (e *explorer) expand(w *world, next *level) {
	from := uint32(len(e.fairEnds))
	e.moves(w, func(m *move) {
		if e.violation != nil {
			return
		}
		if m.rule == "" {
			m.rule, m.detail = e.checkState(&m.next)
		}
		if m.rule != "" && e.deviations.checks(m.rule) {
			e.violation = &Counterexample{Rule: m.rule, Detail: m.detail, Moves: append(e.trace(from), m.describe())}
			return
		}
		e.moveCount++
		e.exercise(m.covers)
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

func (e *explorer) exercise(set coverSet) {
	for ; set != 0; set &= set - 1 {
		e.coverage[bits.TrailingZeros64(uint64(set))]++
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
	e.fulfillable = append(e.fulfillable, w.fulfillable(e.config))
	if w.atGoal(e.config) {
		e.goals = append(e.goals, n)
	}
	return n, true
}

// checkProgress finds a state from which the goal must be reachable and is not. It goes back from
// the goals along fair moves. Most moves lead to states with higher numbers, so a few passes from
// the last state to the first suffice.
func (e *explorer) checkProgress() {
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
		if e.fulfillable[n] && !reaches[n] {
			e.violation = &Counterexample{Rule: "Progress", Detail: "the goal cannot be reached from this state", Moves: e.trace(uint32(n))}
			return
		}
	}
}

// fairFrom returns the targets of the fair moves from a state.
func (e *explorer) fairFrom(n int) []uint32 {
	begin := uint32(0)
	if n > 0 {
		begin = e.fairEnds[n-1]
	}
	return e.fair[begin:e.fairEnds[n]]
}

// trace returns the descriptions of the moves that lead to a state. It repeats the moves.
func (e *explorer) trace(n uint32) []string {
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
				lines = append(lines, m.describe())
			}
		})
		if !found {
			panic("explore: a history cannot be repeated")
		}
		w = next
	}
	return lines
}

// path returns the keys of the states that lead to a state, without the first one.
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
