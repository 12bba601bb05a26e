package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
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

func TestAViolationThatIsRecordedStaysOne(t *testing.T) {
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
		if got := c.fine(test.done); got != test.fine {
			t.Errorf("%+v with %v went as it must: %t, want %t", test.settings, test.done, got, test.fine)
		}
	}
}

func TestAPlanOfWhichNothingIsKnownIsTriedAgainAndCounted(t *testing.T) {
	t.Parallel()
	r := resultsWith(t, `{"seed":1,"code":"now","unjudged":["nobody asked"]}
{"seed":2,"code":"now","undone":"no zones"}
{"seed":3,"code":"now","unjudged":["nobody asked"],"violations":["v"]}
{"seed":3,"code":"now"}
{"seed":4,"code":"now","undone":"no operator","failures":["f"]}
{"seed":5,"code":"now","missed":"m"}
{"seed":5,"code":"now"}
`)
	c := campaign{settings: settings{plans: 6, seed: 1}, code: "now", results: r}
	if got := c.seeds(); !slices.Equal(got, []uint64{1, 2, 6}) {
		t.Errorf("seeds %v are tried", got)
	}
	s := tally(r.of("now"))
	if s.attempts != 7 || s.plans != 3 || s.unjudged != 2 || s.undone != 2 || s.violations != 1 || s.failures != 1 || s.reached != 2 {
		t.Errorf("added up to %+v", s)
	}
	for seed := uint64(3); seed < 6; seed++ {
		c.settings = settings{plans: 1, seed: seed}
		if c.fine(nil) {
			t.Errorf("what was wrong with seed %d is forgotten", seed)
		}
	}
}

func TestALineThatWasCutOffIsNotAddedTo(t *testing.T) {
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

func TestResultsAreAddedTogether(t *testing.T) {
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
	if err != nil || len(decided(again.of("now"))) != workers*each || len(r.of("now")) != workers*each {
		t.Errorf("%d are known and %d are read, %v", len(r.of("now")), len(again.of("now")), err)
	}
}

func TestAPlanIsBrokenByWhateverDidNotGoAsItMust(t *testing.T) {
	t.Parallel()
	for _, r := range []record{{Violations: []string{"v"}}, {Missed: "m"}, {Failures: []string{"f"}}, {Unjudged: []string{"u"}}, {Undone: "u"}} {
		if !r.broken() {
			t.Errorf("%+v is not", r)
		}
	}
	if (record{Remarks: []string{"r"}}).broken() {
		t.Error("one is broken by a remark")
	}
}
