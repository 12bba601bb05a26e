package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestHistoryIsOfThePodAndItsGroup(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	pod := func(name string) *judge.Pod { return &judge.Pod{Name: name, UID: "uid-of-" + name} }
	events := []judge.Event{
		{At: at(1), Version: 1, Hold: &judge.Hold{Group: "store", Holder: "eviction/zone-b"}},
		{At: at(2), Version: 2, Hold: &judge.Hold{Group: "index", Holder: "rollout/zone-a"}},
		{At: at(3), Version: 3, Pod: pod("zone-b-1")},
		{At: at(5), Version: 5, Pod: pod("zone-b-3")},
	}
	requests := []judge.Request{
		{At: at(4), Ended: at(4), Verb: "create", Resource: "pods/eviction", Name: "zone-b-3", Code: 201, RequiredUID: "uid"},
		{At: at(4), Ended: at(4), Verb: "get", Resource: "pods", Name: "zone-b-3", Code: 200},
	}
	violations := []judge.Violation{{Group: "store", Text: `zone-b-3 was evicted while "" had the Lease of its group`}}
	got := historyOf(violations, events, requests)
	want := []string{`holder="eviction/zone-b"`, `create pods/eviction /zone-b-3 by : 201, UID "uid"`, "pod zone-b-3 uid-of-zone-b-3"}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d is %q, want it to contain %q", i, got[i], want[i])
		}
	}
}
