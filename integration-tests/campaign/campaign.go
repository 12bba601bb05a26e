package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// campaign is one run.
type campaign struct {
	settings
	out      io.Writer
	progress *os.File
	code     string
	results  *results
	show     *score
}

const (
	// plansOfACluster is after how many plans there is a new one: audit logs and what
	// the control plane remembers only grow.
	plansOfACluster = 100
	// formerCommit is the file with the commit of the former operator.
	formerCommit = "upgrade/from"
)

// run carries out all plans that are not recorded yet, and prints the table. It
// returns whether all went as it must.
func (c *campaign) run(ctx context.Context) (bool, error) {
	if c.settings.mutant != "" {
		dir, err := os.MkdirTemp("", "lockstep-mutant-")
		if err != nil {
			return false, fmt.Errorf("build mutant: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // what stays is the system's to remove
		if c.settings.program, err = buildMutant(ctx, c.settings.mutant, dir); err != nil {
			return false, err
		}
	}
	var err error
	if c.code, err = codeOf(ctx, c.settings.program); err != nil {
		return false, err
	}
	if c.results, err = openResults(c.settings.results); err != nil {
		return false, err
	}
	seeds := c.seeds()
	programs, err := c.build(ctx)
	if err != nil {
		return false, err
	}
	began := time.Now()
	c.show = keepScore(c.progress, len(seeds))
	var done []record
	for len(seeds) > 0 && err == nil {
		batch := seeds[:min(len(seeds), plansOfACluster)]
		seeds = seeds[len(batch):]
		var some []record
		some, err = c.onOneCluster(ctx, programs, batch)
		done = append(done, some...)
	}
	c.show.line.End()
	c.conclude(done, time.Since(began))
	return c.fine(done), err
}

// fine reports whether all plans of the seeds that were asked for went as they must,
// whether they were carried out now or are recorded for this code.
func (c *campaign) fine(done []record) bool {
	if c.only == 0 {
		for seed, r := range decided(c.results.of(c.code)) {
			if c.seed <= seed && seed-c.seed < uint64(c.plans) {
				done = append(done, r)
			}
		}
	}
	return !slices.ContainsFunc(done, record.broken)
}

// seeds returns those to try.
func (c *campaign) seeds() []uint64 {
	if c.only > 0 {
		return []uint64{c.only}
	}
	known := decided(c.results.of(c.code))
	var seeds []uint64
	for i := range uint64(c.plans) {
		if _, recorded := known[c.seed+i]; !recorded {
			seeds = append(seeds, c.seed+i)
		}
	}
	return seeds
}

// programs are paths of operators.
type programs struct {
	program string
	former  string // an older one
	bent    string // the program, but its clocks can be wrong; empty: there is none
}

func (c *campaign) build(ctx context.Context) (p programs, err error) {
	if p.program = c.settings.program; p.program == "" {
		if p.program, err = localcluster.BuildOperator(ctx, c.progress); err != nil {
			return p, err
		}
		if p.bent, err = localcluster.BuildOperatorWithWrongClocks(ctx, c.progress); err != nil {
			return p, err
		}
	}
	commit, err := os.ReadFile(formerCommit)
	if err != nil {
		return p, fmt.Errorf("read the former operator's commit: %w", err)
	}
	p.former, err = localcluster.BuildFormerOperator(ctx, strings.TrimSpace(string(commit)), c.progress)
	return p, err
}

// onOneCluster carries out plans, some at a time.
func (c *campaign) onOneCluster(ctx context.Context, programs programs, seeds []uint64) (done []record, err error) {
	g, err := prepareGround(ctx, programs, io.Discard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.leave()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan uint64)
	go func() {
		defer close(next)
		for _, seed := range seeds {
			select {
			case next <- seed:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range c.atOnce {
		workers.Go(func() {
			for seed := range next {
				r, err := c.try(ctx, g, seed)
				if r.Code != "" {
					mu.Lock()
					done = append(done, r)
					mu.Unlock()
				}
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	return done, nil
}

// try carries out the plan of a seed and records what came of it, also where it could not
// be carried out. The error says that no other can be, or that somebody has interrupted it.
func (c *campaign) try(ctx context.Context, g *ground, seed uint64) (record, error) {
	c.show.begin()
	r, err := g.carryOut(ctx, newPlan(seed))
	return c.keep(ctx, r, err, g.failed())
}

// keep records what came of a plan: whether it could be carried out, and whether its cluster
// was lost. Of one that was interrupted only what is held against the operator is kept.
func (c *campaign) keep(ctx context.Context, r record, err, lost error) (record, error) {
	interrupted := context.Cause(ctx)
	if interrupted != nil && !r.accuses() {
		return record{}, interrupted
	}
	if err = errors.Join(err, lost); err != nil {
		r.Undone = err.Error()
	}
	r.Code = c.code
	c.show.over(r)
	if r.broken() || c.only > 0 {
		c.tell(r)
	}
	if c.only > 0 {
		return r, errors.Join(interrupted, lost)
	}
	return r, errors.Join(interrupted, lost, c.results.add(r))
}

// tries are the flags that say which operator is tried.
func (c *campaign) tries() string {
	switch {
	case c.settings.mutant != "":
		return " -mutant " + c.settings.mutant
	case c.settings.program != "":
		return " -operator " + c.settings.program
	}
	return ""
}

// tell prints what went wrong in a plan, and writes its whole story beside the results.
func (c *campaign) tell(r record) {
	var b strings.Builder
	fmt.Fprint(&b, newPlan(r.Seed))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  violated  %s\n", v)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  failed    %s\n", f)
	}
	for _, u := range r.Unjudged {
		fmt.Fprintf(&b, "  unjudged  %s\n", u)
	}
	if r.Undone != "" {
		fmt.Fprintf(&b, "  undone    %s\n", r.Undone)
	}
	if r.Missed != "" {
		fmt.Fprintf(&b, "  missed    %s\n", r.Missed)
	}
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "  remark    %s\n", remark)
	}
	if r.story != "" {
		path := filepath.Join(filepath.Dir(c.settings.results), fmt.Sprintf("faults-%d.txt", r.Seed))
		if err := os.WriteFile(path, []byte(r.story), 0o644); err != nil {
			path = err.Error()
		}
		fmt.Fprintf(&b, "  all of it %s\n", path)
	}
	fmt.Fprintf(&b, "  again     make faults FAULTS_FLAGS='-only %d%s'\n", r.Seed, c.tries())
	c.show.line.Print(b.String())
}
