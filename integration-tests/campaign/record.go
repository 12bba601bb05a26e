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
	Faults     map[string]int `json:"faults"`         // of its own
	Felt       map[string]int `json:"felt,omitempty"` // what went wrong on behalf of other plans
	Takedowns  int            `json:"takedowns"`      // deletions by operators and evictions of pods that served
	Violations []string       `json:"violations,omitempty"`
	Failures   []string       `json:"failures,omitempty"` // of operators, whatever the judge says
	Unjudged   []string       `json:"unjudged,omitempty"` // why the judge cannot judge
	Undone     string         `json:"undone,omitempty"`   // why it could not be carried out
	Reached    bool           `json:"reached"`            // the goal
	Missed     string         `json:"missed,omitempty"`   // what of it was not, though the cluster stood
	Granted    int            `json:"granted"`            // evictions, by the audit log
	Evicted    int            `json:"evicted"`            // pods that served until then
	Grace      grace          `json:"graces"`             // at which it was judged
	Remarks    []string       `json:"remarks,omitempty"`

	story string
}

// broken reports whether a plan did not end as it must.
func (r record) broken() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || len(r.Unjudged) > 0 || r.Undone != "" || r.Missed != ""
}

// judged reports whether a plan was carried out and judged, and nothing is in doubt.
func (r record) judged() bool { return len(r.Unjudged) == 0 && r.Undone == "" }

// accuses reports whether something is held against the operator. That is known whatever
// else is not.
func (r record) accuses() bool {
	return len(r.Violations) > 0 || len(r.Failures) > 0 || r.Missed != ""
}

// decides reports whether what came of a plan is known, so that it is not tried again.
func (r record) decides() bool { return r.accuses() || r.judged() }

// soFar is what is known of a plan before it is judged.
func (t *trial) soFar() record {
	r := record{
		Seed: t.plan.seed, Began: t.began.UTC().Round(time.Second), Seconds: time.Since(t.began).Round(100 * time.Millisecond).Seconds(),
		Faults: t.happened(), Felt: t.felt(),
	}
	if t.missed != nil {
		r.Missed = t.missed.Error()
	}
	own := t.ownRules()
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Failures, r.Remarks = slices.Concat(t.failures, own), t.remarks
	return r
}

func (t *trial) record(verdict judge.Verdict, requests []judge.Request) record {
	r := t.soFar()
	r.Groups, r.Steps, r.Reached = len(t.plan.groups), map[string]int{}, t.reached
	r.Unjudged, r.Granted = verdict.Unexplained, granted(requests)
	for _, s := range t.plan.steps() {
		if s.kind != stepBack {
			r.Steps[s.kind]++
		}
	}
	for _, d := range verdict.Disruptions {
		if d.WasServing {
			r.Takedowns++
		}
		if d.WasServing && d.Evicted {
			r.Evicted++
		}
	}
	for _, v := range verdict.Violations {
		r.Violations = append(r.Violations, v.String())
	}
	wanted := r.Steps[stepEviction] + r.Steps[stepAdded] + r.Steps[stepBeside]
	if r.Reached && r.Granted < wanted {
		r.Reached = false
		r.Missed = fmt.Sprintf("%d evictions were granted by the audit log, %d wanted", r.Granted, wanted)
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

// of returns all records of a state of the code, "" for any.
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
