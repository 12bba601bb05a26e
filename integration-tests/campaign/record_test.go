package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func resultsWith(t *testing.T, lines string) *results {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sub", "faults.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := openResults(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeedsSkipsRecordedSeeds(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":2,"code":"now"}
{"seed":3,"code":"formerly"}
{"seed":4,"code":"now"}
{"seed":5,"co`)
	c := campaign{settings: settings{plans: 5, seed: 1}, code: "now", results: r}
	if got := c.seeds(); !slices.Equal(got, []uint64{1, 3, 5}) {
		t.Errorf("seeds %v are tried", got)
	}
	c.only = 4
	if got := c.seeds(); !slices.Equal(got, []uint64{4}) {
		t.Errorf("got seeds %v, want 4", got)
	}
}

func TestResultsAreReadBack(t *testing.T) {
	t.Parallel()
	r, err := openResults(filepath.Join(t.TempDir(), "new", "faults.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		if err := r.add(record{Seed: seed, Code: "now", Violations: []string{"v"}, Faults: map[string]int{"f": 2}, Missed: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openResults(r.path)
	if err != nil {
		t.Fatal(err)
	}
	s := sumUp(again.all)
	if s.plans != 3 || s.violations != 3 || s.faults["f"] != 6 || s.reached != 0 {
		t.Errorf("added up to %+v", s)
	}
}

func TestSummaryOfAllCode(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":1,"code":"now","faults":{"f":2},"takedowns":3,"granted":1,"reached":true}
{"seed":1,"code":"formerly","faults":{"f":9},"reached":true,"takedowns":3,"granted":1}
{"seed":2,"code":"formerly","faults":{"f":1},"violations":["v"]}
`)
	const want = "of whatever code: 2 seeds, 10 faults, 3 pods, 1 evictions granted, 1 of 2 goals reached, 1 violations"
	if got := summaryOfAllCode(r.of("")); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestInvalidResultLineIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "faults.jsonl")
	if err := os.WriteFile(path, []byte("{}\nnothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openResults(path); err == nil {
		t.Error("it was read")
	}
}

func TestRecordedViolationIsKept(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":2,"code":"now","violations":["v"]}
{"seed":3,"code":"formerly","violations":["v"]}
`)
	for _, test := range []struct {
		settings settings
		done     []record
		fine     bool
	}{
		{settings{seed: 1, plans: 3}, nil, false},
		{settings{seed: 2, plans: 1}, nil, false},
		{settings{seed: 3, plans: 3}, nil, true},
		{settings{seed: 1, plans: 1}, nil, true},
		{settings{seed: 3, plans: 1}, []record{{Seed: 3, Failures: []string{"f"}}}, false},
		{settings{seed: 1, plans: 3, only: 1}, []record{{Seed: 1}}, true},
	} {
		c := campaign{settings: test.settings, code: "now", results: r}
		if got := c.succeeded(test.done); got != test.fine {
			t.Errorf("%+v with %v went as it must: %t, want %t", test.settings, test.done, got, test.fine)
		}
	}
}

func TestInconclusivePlanIsRepeatedAndCounted(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":1,"code":"now","unjudged":["no request"]}
{"seed":2,"code":"now","undone":"no zones"}
{"seed":3,"code":"now","unjudged":["no request"],"violations":["v"]}
{"seed":3,"code":"now"}
{"seed":4,"code":"now","undone":"no operator","failures":["f"]}
{"seed":5,"code":"now","missed":"m"}
{"seed":5,"code":"now","reached":true}
{"seed":6,"code":"now","missed":"m","unjudged":["no request"]}
{"seed":6,"code":"now","reached":true}
{"seed":7,"code":"now","missed":"m","undone":"the cluster is lost"}
{"seed":7,"code":"now","reached":true}
`)
	c := campaign{settings: settings{plans: 8, seed: 1}, code: "now", results: r}
	if got := c.seeds(); !slices.Equal(got, []uint64{1, 2, 8}) {
		t.Errorf("seeds %v are tried", got)
	}
	s := sumUp(r.of("now"))
	if s.attempts != 11 || s.plans != 5 || s.judged != 1 || s.unjudged != 3 || s.undone != 3 || s.violations != 1 || s.failures != 1 || s.reached != 0 {
		t.Errorf("added up to %+v", s)
	}
	for seed := uint64(3); seed < 8; seed++ {
		c.settings = settings{plans: 1, seed: seed}
		if c.succeeded(nil) {
			t.Errorf("the findings of seed %d are lost", seed)
		}
	}
}

func TestTruncatedResultLineIsRemoved(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":2,"code":"now"}`+"\n"+`{"seed":5,"co`)
	if err := r.add(record{Seed: 7, Code: "now"}); err != nil {
		t.Fatal(err)
	}
	again, err := openResults(r.path)
	if err != nil || len(again.all) != 2 || again.all[0].Seed != 2 || again.all[1].Seed != 7 {
		t.Errorf("read %+v, %v", again, err)
	}
}

func TestSumUp(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, "")
	var adding sync.WaitGroup
	const workers, each = 8, 20
	for worker := range uint64(workers) {
		adding.Go(func() {
			for i := range uint64(each) {
				if err := r.add(record{Seed: worker*each + i, Code: "now"}); err != nil {
					t.Error(err)
				}
				r.of("now")
			}
		})
	}
	adding.Wait()
	again, err := openResults(r.path)
	if err != nil || len(conclusive(again.of("now"))) != workers*each || len(r.of("now")) != workers*each {
		t.Errorf("%d are known and %d are read, %v", len(r.of("now")), len(again.of("now")), err)
	}
}

func TestBrokenRecordsHaveFindings(t *testing.T) {
	t.Parallel()
	for _, r := range []record{{Violations: []string{"why"}}, {Missed: "why"}, {Failures: []string{"why"}}, {Unjudged: []string{"why"}}, {Undone: "why"}} {
		if !r.broken() || strings.Count(r.findings(), "why\n") != 1 {
			t.Errorf("%+v: broken %t, findings %q", r, r.broken(), r.findings())
		}
	}
	if r := (record{Remarks: []string{"r"}}); r.broken() || r.findings() != "" {
		t.Error("one is broken by a remark")
	}
}

func TestFindingsOfBrokenPlansEndTheOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &campaign{out: &out, results: &results{}}
	c.printSummary([]record{{Seed: 17, Violations: []string{"WithinBudget: two pods"}}, {Seed: 18, Reached: true}}, time.Second)
	if !strings.HasSuffix(out.String(), "\nplan 17:\n  violated  WithinBudget: two pods\n") {
		t.Errorf("the output ends otherwise: %s", out.String())
	}
}

func TestInterruptedPlanKeepsFindings(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("another worker failed")
	cancel(interrupted)
	for name, test := range map[string]struct {
		came record
		kept int
	}{
		"a violation":     {record{Seed: 1, Violations: []string{"two zones"}}, 1},
		"a failure":       {record{Seed: 1, Failures: []string{"it ended"}}, 1},
		"a missed goal":   {record{Seed: 1, Missed: "no rollout"}, 1},
		"nothing yet":     {record{Seed: 1}, 0},
		"no judgement":    {record{Seed: 1, Unjudged: []string{"no request"}}, 0},
		"a reached goal":  {record{Seed: 1, Reached: true}, 0},
		"worth a remark?": {record{Seed: 1, Remarks: []string{"slow"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := campaign{code: "now", results: resultsWith(t, "")}
			shown, err := os.Create(filepath.Join(t.TempDir(), "shown"))
			if err != nil {
				t.Fatal(err)
			}
			c.score = newScore(shown, 1)
			r, err := c.store(ctx, test.came, nil, nil)
			c.score.line.End()
			if !errors.Is(err, interrupted) {
				t.Errorf("it continues: %v", err)
			}
			if kept := c.results.of("now"); len(kept) != test.kept || (r.Code != "") != (test.kept == 1) {
				t.Errorf("recorded are %+v, handed on is %+v", kept, r)
			}
			text, err := os.ReadFile(shown.Name())
			if err != nil || strings.Contains(string(text), "-only 1") != (test.kept == 1) {
				t.Errorf("printed is %q, %v", text, err)
			}
		})
	}
}

func TestSumUpCountsEvictedPodsAndPlansWithoutFaults(t *testing.T) {
	t.Parallel()
	s := sumUp([]record{
		{Seed: 1, Granted: 3, Evicted: 2, Faults: map[string]int{"cut": 2}, Felt: map[string]int{"etcd restarted for another plan": 1}},
		{Seed: 2, Granted: 1, Evicted: 1, Felt: map[string]int{"etcd restarted for another plan": 4}},
	})
	text := table(s, s)
	for what, want := range map[string]int{
		"faults": 2, "plans that no fault of their own met": 1, "felt: etcd restarted for another plan": 5,
		"evictions granted, by the audit log": 4, "evictions that took down a pod that was up": 3,
	} {
		if row := fmt.Sprintf("| %-48s | %9v | %9v |\n", what, want, want); !strings.Contains(text, row) {
			t.Errorf("there is no row %q in\n%s", row, text)
		}
	}
}
