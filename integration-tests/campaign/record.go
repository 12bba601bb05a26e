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
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// record is what came of a plan: a line of the file of results.
type record struct {
	Seed       uint64         `json:"seed"`
	Code       string         `json:"code"` // what was tried, and by what
	Began      time.Time      `json:"began"`
	Seconds    float64        `json:"seconds"`
	Groups     int            `json:"groups"`
	Steps      map[string]int `json:"steps"`
	Faults     map[string]int `json:"faults"`
	Takedowns  int            `json:"takedowns"` // deletions by operators and evictions of pods that served
	Violations []string       `json:"violations,omitempty"`
	Failures   []string       `json:"failures,omitempty"` // of operators, whatever the judge says
	Unjudged   []string       `json:"unjudged,omitempty"` // why the judge cannot judge
	Undone     string         `json:"undone,omitempty"`   // why it could not be carried out
	Missed     string         `json:"missed,omitempty"`   // what of the goal was not reached
	Granted    int            `json:"granted"`            // evictions, by the audit log
	Grace      grace          `json:"graces"`             // at which it was judged
	Remarks    []string       `json:"remarks,omitempty"`

	story string
}

// broken tells whether a plan did not end as it must.
func (r record) broken() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || len(r.Unjudged) > 0 || r.Undone != "" || r.Missed != ""
}

// decides tells whether what came of a plan is known, so that it is not tried again. A
// violation is known whatever else is not, and so is an operator that failed.
func (r record) decides() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || len(r.Unjudged) == 0 && r.Undone == ""
}

// undone is the record of a plan that could not be carried out, or not be judged.
func (t *trial) undone() record {
	own := t.ownRules()
	t.mu.Lock()
	defer t.mu.Unlock()
	return record{
		Seed: t.plan.seed, Began: t.began.UTC().Round(time.Second), Seconds: time.Since(t.began).Round(100 * time.Millisecond).Seconds(),
		Failures: slices.Concat(t.failures, own), Remarks: t.remarks,
	}
}

func (t *trial) record(verdict judge.Verdict, requests []judge.Request, missed error) record {
	r := record{
		Seed: t.plan.seed, Began: t.began.UTC().Round(time.Second), Seconds: time.Since(t.began).Round(100 * time.Millisecond).Seconds(),
		Groups: len(t.plan.groups), Steps: map[string]int{}, Faults: t.happened(), Remarks: t.remarks,
		Failures: slices.Concat(t.failures, t.ownRules()), Unjudged: verdict.Unexplained, Granted: granted(requests),
	}
	for _, s := range t.plan.steps() {
		if s.kind != stepBack {
			r.Steps[s.kind]++
		}
	}
	for _, d := range verdict.Takedowns {
		if d.WasUp {
			r.Takedowns++
		}
	}
	for _, v := range verdict.Violations {
		r.Violations = append(r.Violations, v.String())
	}
	if missed == nil && r.Granted < r.Steps[stepEviction] {
		missed = fmt.Errorf("%d evictions were granted by the audit log, %d wanted", r.Granted, r.Steps[stepEviction])
	}
	if missed != nil {
		r.Missed = missed.Error()
	}
	return r
}

// results is the file to which records are added.
type results struct {
	path string

	mu  sync.Mutex
	all []record // those that were there, and those that were added
}

// openResults reads what is there. A last line that was cut off is taken away.
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
	lines, whole := bufio.NewReader(file), int64(0)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return r, file.Truncate(whole)
		}
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		whole += int64(len(line))
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("read results: line %d of %s: %w", number, path, err)
		}
		r.all = append(r.all, one)
	}
}

// of returns all records of a state of the code.
func (r *results) of(code string) []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []record
	for _, one := range r.all {
		if one.Code == code {
			found = append(found, one)
		}
	}
	return found
}

// decided returns the records that decide about a seed. One with something wrong stays,
// whatever came of the seed later.
func decided(records []record) map[uint64]record {
	found := map[uint64]record{}
	for _, one := range records {
		if before, known := found[one.Seed]; one.decides() && (!known || !before.broken()) {
			found[one.Seed] = one
		}
	}
	return found
}

// add writes a record at the end of the file.
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
