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
	score    *score
}

const (
	// plansOfACluster is the number of plans for one cluster. Audit logs and the memory of the control
	// plane grow with each plan.
	plansOfACluster = 100
	// formerCommit is the file with the commit of the former operator.
	formerCommit = "upgrade/from"
)

// run runs all plans that are not recorded yet, and prints the table. It reports whether all of them
// succeeded.
func (c *campaign) run(ctx context.Context) (bool, error) {
	if c.settings.mutant != "" {
		dir, err := os.MkdirTemp("", "lockstep-mutant-")
		if err != nil {
			return false, fmt.Errorf("build mutant: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // the system removes what remains
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
	c.score = newScore(c.progress, len(seeds))
	var done []record
	for len(seeds) > 0 && err == nil {
		batch := seeds[:min(len(seeds), plansOfACluster)]
		seeds = seeds[len(batch):]
		var some []record
		some, err = c.runOnCluster(ctx, programs, batch)
		done = append(done, some...)
	}
	c.score.line.End()
	c.printSummary(done, time.Since(began))
	return c.succeeded(done), err
}

// succeeded reports whether the plans of all requested seeds succeeded, in this run or as recorded for
// this code.
func (c *campaign) succeeded(done []record) bool {
	if c.only == 0 {
		for seed, r := range conclusive(c.results.of(c.code)) {
			if c.seed <= seed && seed-c.seed < uint64(c.plans) {
				done = append(done, r)
			}
		}
	}
	return !slices.ContainsFunc(done, record.broken)
}

// seeds returns the seeds to run.
func (c *campaign) seeds() []uint64 {
	if c.only > 0 {
		return []uint64{c.only}
	}
	known := conclusive(c.results.of(c.code))
	var seeds []uint64
	for i := range uint64(c.plans) {
		if _, recorded := known[c.seed+i]; !recorded {
			seeds = append(seeds, c.seed+i)
		}
	}
	return seeds
}

// programs are the paths of operators.
type programs struct {
	program     string
	former      string // an older version
	wrongClocks string // the program with clocks that can be wrong; empty: there is none
}

func (c *campaign) build(ctx context.Context) (p programs, err error) {
	if p.program = c.settings.program; p.program == "" {
		if p.program, err = localcluster.BuildOperator(ctx, c.progress); err != nil {
			return p, err
		}
		if p.wrongClocks, err = localcluster.BuildOperatorWithWrongClocks(ctx, c.progress); err != nil {
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

// runOnCluster runs plans on one cluster, several at a time.
func (c *campaign) runOnCluster(ctx context.Context, programs programs, seeds []uint64) (done []record, err error) {
	g, err := newEnvironment(ctx, programs, io.Discard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
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
	for range c.parallel {
		workers.Go(func() {
			for seed := range next {
				r, err := c.runPlan(ctx, g, seed)
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

// runPlan runs the plan of a seed and records the result, even if the plan could not be completed. It
// returns an error if no other plan can be run, or if the run was interrupted.
func (c *campaign) runPlan(ctx context.Context, g *environment, seed uint64) (record, error) {
	c.score.begin()
	r, err := g.runTrial(ctx, newPlan(seed))
	return c.store(ctx, r, err, g.err())
}

// store records the result of a plan: whether it was completed, and whether its cluster failed. If the
// run was interrupted, it only stores results with findings against the operator.
func (c *campaign) store(ctx context.Context, r record, err, lost error) (record, error) {
	interrupted := context.Cause(ctx)
	if interrupted != nil && !r.hasFindings() {
		return record{}, interrupted
	}
	if err = errors.Join(err, lost); err != nil {
		r.Undone = err.Error()
	}
	r.Code = c.code
	c.score.finish(r)
	if r.broken() || c.only > 0 {
		c.report(r)
	}
	if c.only > 0 {
		return r, errors.Join(interrupted, lost)
	}
	return r, errors.Join(interrupted, lost, c.results.add(r))
}

// operatorFlags returns the flags that select the tested operator.
func (c *campaign) operatorFlags() string {
	switch {
	case c.settings.mutant != "":
		return " -mutant " + c.settings.mutant
	case c.settings.program != "":
		return " -operator " + c.settings.program
	}
	return ""
}

// report prints the findings of a plan, and writes its event log next to the results.
func (c *campaign) report(r record) {
	var b strings.Builder
	fmt.Fprint(&b, newPlan(r.Seed))
	b.WriteString(r.findings())
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "  remark    %s\n", remark)
	}
	if r.log != "" {
		path := filepath.Join(filepath.Dir(c.settings.results), fmt.Sprintf("faults-%d.txt", r.Seed))
		if err := os.WriteFile(path, []byte(r.log), 0o644); err != nil {
			path = err.Error()
		}
		fmt.Fprintf(&b, "  all of it %s\n", path)
	}
	fmt.Fprintf(&b, "  again     make faults FAULTS_FLAGS='-only %d%s'\n", r.Seed, c.operatorFlags())
	c.score.line.Print(b.String())
}
