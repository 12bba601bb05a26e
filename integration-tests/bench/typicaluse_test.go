package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTypicalUseRowChecksLargestSample(t *testing.T) {
	// 40 MB, 3 KB for each of 1024 pods and 0.5 KB for each of 2048 others are 44 MB.
	for largest, want := range map[int]verdict{44 << 10: met, 44<<10 + 1: missed} {
		d := typicalUse{every: 15 * time.Second, scrapes: 4, samples: []int{41 << 10, largest, 42 << 10}}
		rows := memoryRows(map[string]footprint{
			lockstepName: {managed: []point{{pods: 1024, kilobytes: 41 << 10}}, others: point{pods: 2048, kilobytes: 42 << 10}, typical: d},
		})
		r := rows[len(rows)-1]
		if r.cells[lockstepName] != "42.0 MB, 44.0 MB" || r.goal != "≤ 44.0 MB" || r.met != want || !strings.Contains(r.what, "1024 managed pods and 2048 others") {
			t.Errorf("largest %d KB: %+v, want %q", largest, r, want)
		}
	}
}

func TestScrapeRepeatsUntilEnd(t *testing.T) {
	var requested atomic.Int64
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || !strings.HasPrefix(r.Header.Get("Accept"), "application/openmetrics-text") || r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("requested %s as %s, %s", r.URL.Path, r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"))
		}
		requested.Add(1)
		w.WriteHeader(code)
	}))
	defer server.Close()
	p := &process{log: filepath.Join(t.TempDir(), "log")}
	if err := os.WriteFile(p.log, []byte(`{"msg":"listening","address":"`+strings.TrimPrefix(server.URL, "http://")+"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, fail := context.WithCancelCause(t.Context())
	a := &testbed{abort: fail}
	s := a.scrape(ctx, p, time.Millisecond)
	for s.answered.Load() < 3 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	s.end()
	if before := requested.Load(); ctx.Err() != nil || before < 3 {
		t.Fatalf("%d requests, %v", before, context.Cause(ctx))
	}
	code = http.StatusInternalServerError
	defer a.scrape(ctx, p, time.Hour).end()
	<-ctx.Done()
	if err := context.Cause(ctx); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("a scrape that fails ends it with %v", err)
	}
}

func TestTypicalUseOfOtherOperatorIsReportedAsNotMeasured(t *testing.T) {
	var output strings.Builder
	a := &testbed{bench: &bench{progress: &output, settings: settings{operator: "bin/other"}}}
	d, err := a.measureTypicalUse(t.Context(), nil, nil)
	if err != nil || len(d.samples) != 0 || !strings.Contains(output.String(), "NOT MEASURED") {
		t.Errorf("got %v, %v, output %q", d, err, output.String())
	}
}
