package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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

func TestSeedsThatAreRecordedForThisCodeArePassedOver(t *testing.T) {
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
		t.Errorf("seeds %v are tried where 4 is asked for", got)
	}
}

func TestWhatIsAddedIsReadAgain(t *testing.T) {
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
	s := tally(again.all)
	if s.plans != 3 || s.violations != 3 || s.faults["f"] != 6 || s.reached != 0 {
		t.Errorf("added up to %+v", s)
	}
}

func TestALineThatIsNoResultIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "faults.jsonl")
	if err := os.WriteFile(path, []byte("{}\nnothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openResults(path); err == nil {
		t.Error("it was read")
	}
}

func TestAPlanIsBrokenByAViolationAndByAMissedGoal(t *testing.T) {
	t.Parallel()
	for _, r := range []record{{Violations: []string{"v"}}, {Missed: "m"}} {
		if !r.broken() {
			t.Errorf("%+v is not", r)
		}
	}
	if (record{Remarks: []string{"r"}}).broken() {
		t.Error("one is broken by a remark")
	}
}
