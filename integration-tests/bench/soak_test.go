package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSoakRowsCompareOuterThirdsAfterWarmUp(t *testing.T) {
	at := func(heap int) processStats {
		return processStats{heap: heap << 10, resident: 40 << 10, anonymous: 20 << 10, goroutines: 100}
	}
	for sentence, tc := range map[string]struct {
		samples []processStats
		want    string
		met     verdict
	}{
		"memory of the warm-up does not count": {
			[]processStats{at(100), at(1000), at(1000), at(1000), at(1000)}, "1000 KB, then 1000 KB (+0.00 %)", met,
		},
		"constant growth is found": {
			[]processStats{at(100), at(1000), at(1004), at(1006), at(1010)}, "1000 KB, then 1010 KB (+1.00 %)", missed,
		},
		"one outlier shows nothing": {
			[]processStats{at(100), at(1000), at(1000), at(1000), at(1000), at(1000), at(1000), at(9000), at(1000), at(1000)},
			"1000 KB, then 1000 KB (+0.00 %)", met,
		},
		"less is no growth": {[]processStats{at(100), at(1000), at(900), at(800)}, "1000 KB, then 800 KB (-20.00 %)", met},
	} {
		t.Run(sentence, func(t *testing.T) {
			rows := soakResult{minutes: len(tc.samples), warmUp: 1, samples: tc.samples}.rows()
			if got := rows[0].cells[lockstepName]; got != tc.want || rows[0].met != tc.met {
				t.Errorf("got %s, met %q", got, rows[0].met)
			}
			for _, r := range rows[1:] {
				if r.met != met {
					t.Errorf("%s, which does not change, is judged %q", r.what, r.met)
				}
			}
		})
	}
}

func TestOuterThirdsUseCompleteEventCycles(t *testing.T) {
	var values []int
	for i := range 50 {
		values = append(values, 1000+100*(i%eventCycle))
	}
	if first, last := outerThirds(values); first != last {
		t.Errorf("periodic values are %d first and %d last", first, last)
	}
}

func TestOuterThirdsOfFewValues(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var values []int
		for i := range n {
			values = append(values, i+1)
		}
		if first, last := outerThirds(values); first > last || first < 1 || last > n {
			t.Errorf("of %v: %d and %d", values, first, last)
		}
	}
}

func TestStatsAreReadFromProfiles(t *testing.T) {
	var requested []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		answer := "heap profile: 1: 2 [3: 4] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 5\n# HeapAlloc = 4711\n# HeapIdle = 300\n" +
			"# HeapInuse = 5000\n# HeapReleased = 100\n# Stack = 70 / 80\n# BuckHashSys = 90\n"
		if r.URL.Path == "/debug/pprof/goroutine" {
			answer = "goroutine profile: total 42\n7 @ 0x1\n"
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	log := filepath.Join(t.TempDir(), "log")
	p := &process{log: log, cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	if err := os.WriteFile(log, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.read(t.Context(), "/"); err == nil {
		t.Error("got no error for a process without an address")
	}
	line := `{"msg":"listening","address":"` + strings.TrimPrefix(server.URL, "http://") + "\"}\n"
	if err := os.WriteFile(log, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := p.stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.heap != 4711 || got.goroutines != 42 || got.runtime != (runtimeMemory{heapInUse: 5000, heapKept: 200, stacks: 70, allocations: 90}) {
		t.Errorf("read as %+v", got)
	}
	if got.anonymous <= 0 || got.resident <= got.anonymous {
		t.Errorf("%d KB resident, of these %d its own", got.resident, got.anonymous)
	}
	if want := []string{heapAfterCollection, heapAfterCollection, goroutineProfile}; !slices.Equal(requested, want) {
		t.Errorf("requested %q, want %q", requested, want)
	}
}

func TestIncompleteProfileIsError(t *testing.T) {
	if heap, _, err := memoryIn("# HeapAlloc = 4711\n"); err == nil {
		t.Errorf("a profile without most of its lines is read as %d", heap)
	}
	if n, err := goroutinesIn("heap profile: 1: 2 [3: 4] @ heap/1048576\n"); err == nil {
		t.Errorf("%d goroutines are read in a profile of the heap", n)
	}
}
