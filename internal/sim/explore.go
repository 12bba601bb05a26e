package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Report is what an exploration found.
type Report struct {
	States int // different up to renumbering
	Moves  int // between them
	Depth  int // length of the longest of the shortest histories
	Goals  int // states in which the goal is reached
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
	e := &explorer{config: c, rules: r, first: c.start(), index: map[key]uint32{}, decisions: map[view]*decision{}}
	e.first.renumber(c)
	if err := e.run(); err != nil {
		return e.report(), err
	}
	if e.broken == nil && r.judges("Progress") {
		e.judgeProgress()
	}
	return e.report(), nil
}

type explorer struct {
	config Config
	rules  Rules
	first  world

	index     map[key]uint32
	keys      []key
	parents   []uint32
	wishes    []bool // fulfillable
	goals     []uint32
	fair      [][2]uint32 // fair moves, from and to
	moveCount int
	depth     int
	broken    *Story
	decisions map[view]*decision
}

func (e *explorer) report() Report {
	return Report{States: len(e.keys), Moves: e.moveCount, Depth: e.depth, Goals: len(e.goals), Broken: e.broken}
}

// run explores level by level: only the last level is kept as worlds.
func (e *explorer) run() error {
	level := []world{e.first}
	e.add(&e.first, 0)
	from := uint32(0)
	for len(level) > 0 && e.broken == nil {
		var next []world
		for i := range level {
			e.expand(&level[i], from, &next)
			from++
			if e.broken != nil {
				return nil
			}
		}
		if e.config.MaxStates > 0 && len(e.keys) > e.config.MaxStates {
			return fmt.Errorf("explore: more than %d states at depth %d", e.config.MaxStates, e.depth)
		}
		if level = next; len(level) > 0 {
			e.depth++
		}
	}
	return nil
}

func (e *explorer) expand(w *world, from uint32, next *[]world) {
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
		m.next.renumber(e.config)
		to, isNew := e.add(&m.next, from)
		if isNew {
			*next = append(*next, m.next)
		}
		if m.fair && to != from {
			e.fair = append(e.fair, [2]uint32{from, to})
		}
	})
}

func (e *explorer) add(w *world, parent uint32) (number uint32, isNew bool) {
	k := w.key()
	if n, ok := e.index[k]; ok {
		return n, false
	}
	n := uint32(len(e.keys))
	e.index[k] = n
	e.keys = append(e.keys, k)
	e.parents = append(e.parents, parent)
	e.wishes = append(e.wishes, w.fulfillable(e.config))
	if w.reached(e.config) {
		e.goals = append(e.goals, n)
	}
	return n, true
}

// judgeProgress goes back from the goals along fair moves.
func (e *explorer) judgeProgress() {
	slices.SortFunc(e.fair, func(a, b [2]uint32) int { return int(int64(a[1]) - int64(b[1])) })
	begins := make([]uint32, len(e.keys)+1)
	for i, v := range slices.Backward(e.fair) {
		begins[v[1]] = uint32(i)
	}
	reaches := make([]bool, len(e.keys))
	todo := slices.Clone(e.goals)
	for _, n := range todo {
		reaches[n] = true
	}
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := int(begins[to]); i < len(e.fair) && e.fair[i][1] == to; i++ {
			if from := e.fair[i][0]; !reaches[from] {
				reaches[from] = true
				todo = append(todo, from)
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

// story tells how a state was reached, by doing it again.
func (e *explorer) story(n uint32) []string {
	var path []uint32
	for ; n != 0; n = e.parents[n] {
		path = append(path, n)
	}
	slices.Reverse(path)
	var lines []string
	w := e.first
	for _, n := range path {
		found := false
		var next world
		e.moves(&w, func(m *move) {
			if found {
				return
			}
			m.next.renumber(e.config)
			if m.next.key() == e.keys[n] {
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
