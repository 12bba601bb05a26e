package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTableIsAlignedMarkdown(t *testing.T) {
	got := table([]string{"floor", "lockstep"}, []row{
		{what: "30 pods", goal: "≤ 1.6 × floor", cells: map[string]string{"floor": "0.45 s", "lockstep": "0.60 s (1.33)"}, met: met},
		{what: "memory", goal: "≤ 40 MB", cells: map[string]string{"lockstep": "41 MB"}, met: missed},
	})
	want := `
| what    | goal          | floor  | lockstep      | met |
| ------- | ------------- | ------ | ------------- | --- |
| 30 pods | ≤ 1.6 × floor | 0.45 s | 0.60 s (1.33) | yes |
| memory  | ≤ 40 MB       |        | 41 MB         | no  |
`
	if got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestQuantile(t *testing.T) {
	values := []int{}
	if got := quantile(values, 0.99); got != 0 {
		t.Errorf("without one: %d", got)
	}
	for n := range 300 {
		values = append(values, 300-n)
	}
	if got := []int{quantile(values, 0), median(values), quantile(values, 0.99), quantile(values, 1)}; !slices.Equal(got, []int{1, 151, 298, 300}) {
		t.Errorf("got %v", got)
	}
}

func TestRatiosByRun(t *testing.T) {
	got := ratios([]time.Duration{3, 8, 5}, []time.Duration{2, 4, 0})
	if !slices.Equal(got, []float64{1.5, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestSpread(t *testing.T) {
	for want, all := range map[string][]float64{"(1.50)": {1.5}, "(2.00, 1.25 to 4.00)": {4, 1.25, 2}, "(0.00)": nil} {
		if got := spread(all); got != want {
			t.Errorf("of %v: %s, want %s", all, got, want)
		}
	}
}

func TestAuditLogReadsAppendedLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log := &auditLog{path: path}
	if got, err := log.next(); len(got) != 0 || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	const line = `{"verb":"delete","user":{"username":"u"},"objectRef":{"resource":"pods","subresource":"eviction","namespace":"n","name":"p"},` +
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2030-01-01T00:00:00.000007Z"}` + "\n"
	for _, part := range []struct {
		text string
		want int
	}{{line[:40], 0}, {line[40:] + line + line[:7], 2}, {line[7:], 1}, {"", 0}} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(part.text); err != nil {
			t.Fatal(err)
		}
		file.Close()
		got, err := log.next()
		if err != nil || len(got) != part.want {
			t.Fatalf("got %v, %v, want %d requests", got, err, part.want)
		}
		for _, r := range got {
			if want := (request{start.Add(7 * time.Microsecond), "u", "delete", "n", "pods/eviction", "p", 200, false}); r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		}
	}
}

func TestProcFigures(t *testing.T) {
	const stat = "4711 (a (strange) name) S 1 4711 4711 0 -1 4194560 1 0 0 0 250 31 0 0 20 0 9 0 100 1000 200\n"
	if got := cpuOf(stat); got != 2810*time.Millisecond {
		t.Errorf("CPU time %s", got)
	}
	if got := cpuOf("4711 (gone"); got != 0 {
		t.Errorf("CPU time of no process %s", got)
	}
	const status = "Name:\tx\nVmHWM:\t  99 kB\nVmRSS:\t   51234 kB\nRssAnon:\t 7 kB\n"
	for name, want := range map[string]int{"VmRSS": 51234, "VmHWM": 99, "RssAnon": 7, "RssFile": 0} {
		if got := statusOf(status, name); got != want {
			t.Errorf("%s is %d KB, want %d", name, got, want)
		}
	}
}

func TestMemoryRows(t *testing.T) {
	rows := memoryRows(map[string]footprint{lockstepName: {
		base: point{30, 30 << 10, 49 << 10}, managed: []point{{1230, 43 << 10, 57 << 10}, {5120, 57 << 10, 90 << 10}}, others: point{20480, 65 << 10, 0},
	}})
	var got []string
	for _, r := range rows {
		got = append(got, r.goal+": "+r.cells[lockstepName]+" "+string(r.met))
	}
	want := []string{
		"≤ 40.1 MB: 30.0 MB yes", "≤ 43.6 MB: 43.0 MB (11.1 KB) yes", "≤ 55.0 MB: 57.0 MB (5.4 KB) no",
		"≤ 49.0 MB: 49.0 MB yes", "≤ 57.0 MB: 57.0 MB yes", "≤ 82.9 MB: 90.0 MB no",
		"≤ 65.0 MB: 65.0 MB (0.40 KB) yes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
