package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// record is the result of a plan, and a line of the file of results.
type record struct {
	Seed        uint64         `json:"seed"`
	Code        string         `json:"code"` // hash of the operator and of the tests
	Began       time.Time      `json:"began"`
	Seconds     float64        `json:"seconds"`
	Groups      int            `json:"groups"`
	Pools       int            `json:"pools"` // StatefulClusters
	Steps       map[string]int `json:"steps"`
	Faults      map[string]int `json:"faults"`         // of the plan itself
	Felt        map[string]int `json:"felt,omitempty"` // faults of other plans that affected it
	Disruptions int            `json:"takedowns"`      // deletions by operators and evictions of ready pods
	OfPools     int            `json:"ofPools"`        // of these, pods of StatefulClusters
	Violations  []string       `json:"violations,omitempty"`
	History     []string       `json:"history,omitempty"`  // what was seen of what violations are about
	Failures    []string       `json:"failures,omitempty"` // of operators, independent of the judge
	Unjudged    []string       `json:"unjudged,omitempty"` // why the judge has no verdict
	Undone      string         `json:"undone,omitempty"`   // why the plan could not be completed
	Reached     bool           `json:"reached"`            // the goal was reached
	Missed      string         `json:"missed,omitempty"`   // the missed part of the goal, although the cluster was complete
	Granted     int            `json:"granted"`            // evictions, by the audit log
	Evicted     int            `json:"evicted"`            // evicted pods that were ready
	Grace       grace          `json:"graces"`             // of the verification
	Remarks     []string       `json:"remarks,omitempty"`

	log string
}

// broken reports whether a plan did not succeed.
func (r record) broken() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || len(r.Unjudged) > 0 || r.Undone != "" || r.Missed != ""
}

// judged reports whether a plan was completed and verified without doubt.
func (r record) judged() bool { return len(r.Unjudged) == 0 && r.Undone == "" }

// hasFindings reports whether there are findings against the operator. They are valid even if the plan
// was not completed.
func (r record) hasFindings() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || r.Missed != ""
}

// findings returns a line for each reason why a plan did not succeed.
func (r record) findings() string {
	var b strings.Builder
	line := func(what, finding string) { fmt.Fprintf(&b, "  %-9s %s\n", what, finding) }
	for _, v := range r.Violations {
		line("violated", v)
	}
	for _, f := range r.Failures {
		line("failed", f)
	}
	for _, u := range r.Unjudged {
		line("unjudged", u)
	}
	for _, h := range r.History {
		line("history", h)
	}
	if r.Undone != "" {
		line("undone", r.Undone)
	}
	if r.Missed != "" {
		line("missed", r.Missed)
	}
	return b.String()
}

// isConclusive reports whether the result is known, so that the plan is not repeated.
func (r record) isConclusive() bool { return r.hasFindings() || r.judged() }

// partialRecord returns the record of a plan before its verification.
func (t *trial) partialRecord() record {
	r := record{
		Seed: t.plan.seed, Began: t.began.UTC().Round(time.Second), Seconds: time.Since(t.began).Round(100 * time.Millisecond).Seconds(),
		Faults: t.ownFaults(), Felt: t.foreignFaults(),
	}
	if t.missed != nil {
		r.Missed = t.missed.Error()
	}
	own := t.invariantViolations()
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Failures, r.Remarks = slices.Concat(t.failures, own), t.remarks
	return r
}

func (t *trial) record(verdict judge.Verdict, requests []judge.Request) record {
	r := t.partialRecord()
	r.Groups, r.Steps, r.Reached = len(t.plan.groups), map[string]int{}, t.reached
	r.Unjudged, r.Granted = verdict.Unexplained, granted(requests)
	if t.plan.pool != nil {
		r.Pools = 1
	}
	for _, s := range t.plan.steps() {
		if s.kind != stepRevert {
			r.Steps[s.kind]++
		}
	}
	for _, d := range verdict.PoolDisruptions {
		if d.WasServing {
			r.OfPools++
		}
	}
	for _, d := range slices.Concat(verdict.Disruptions, verdict.PoolDisruptions) {
		if d.WasServing {
			r.Disruptions++
		}
		if d.WasServing && d.Evicted {
			r.Evicted++
		}
	}
	for _, v := range verdict.Violations {
		r.Violations = append(r.Violations, v.String())
	}
	wanted := r.Steps[stepEviction] + r.Steps[stepAdded] + r.Steps[stepBeside] + r.Steps[stepPoolEviction]
	if r.Reached && r.Granted < wanted {
		r.Reached = false
		r.Missed = fmt.Sprintf("%d evictions were granted by the audit log, %d wanted", r.Granted, wanted)
	}
	return r
}

// results is the file of records.
type results struct {
	path string

	mu  sync.Mutex
	all []record // the records of the file, and the added ones
}

// openResults reads the existing records. It removes an incomplete last line.
func openResults(path string) (*results, error) {
	r := &results{path: path}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return r, os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer file.Close()
	lines, complete := bufio.NewReader(file), int64(0)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return r, file.Truncate(complete)
		}
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		complete += int64(len(line))
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("read results: line %d of %s: %w", number, path, err)
		}
		r.all = append(r.all, one)
	}
}

// of returns all records of a code; an empty string returns all.
func (r *results) of(code string) []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []record
	for _, one := range r.all {
		if code == "" || one.Code == code {
			found = append(found, one)
		}
	}
	return found
}

// conclusive returns the deciding record of each seed. A broken record is kept, whatever the later
// results are.
func conclusive(records []record) map[uint64]record {
	found := map[uint64]record{}
	for _, one := range records {
		if before, known := found[one.Seed]; one.isConclusive() && (!known || !before.broken()) {
			found[one.Seed] = one
		}
	}
	return found
}

// add appends a record to the file.
func (r *results) add(one record) error {
	line, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	r.all = append(r.all, one)
	return nil
}
