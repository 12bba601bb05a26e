package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestTableOmitsEmptyColumns(t *testing.T) {
	got := table([]string{"floor", "lockstep", "other"}, []row{{what: "memory", goal: "≤ 40 MB", cells: map[string]string{"lockstep": "39 MB", "floor": ""}, met: met}})
	if head, _, _ := strings.Cut(got, "\n"); head != "| what   | goal    | lockstep | met |" {
		t.Errorf("got %s", head)
	}
}

func TestVerdictOfBothNamesMissedGoal(t *testing.T) {
	of := func(took ...time.Duration) map[string]series {
		s := series{{total: time.Second}}
		for _, d := range took {
			s[0].steps = append(s[0].steps, step{sent: d})
		}
		return map[string]series{floorName: seriesOf(time.Second, ms), lockstepName: s}
	}
	for want, took := range map[verdict][]time.Duration{
		"yes":      {5 * ms, 10 * ms, 50 * ms},
		"no (p50)": {5 * ms, 11 * ms, 50 * ms},
		"no (p99)": {5 * ms, 10 * ms, 51 * ms},
		"no":       {5 * ms, 11 * ms, 51 * ms},
	} {
		if r := aloneRows(30, of(took...))[1]; r.met != want || r.goal != "≤ 10 / 50 ms" {
			t.Errorf("%v: %q of %s, want %q", took, r.met, r.goal, want)
		}
	}
	for want, took := range map[verdict][]time.Duration{"yes": {10 * ms, 50 * ms}, "no (p99)": {10 * ms, 51 * ms}, "no (p50)": {11 * ms, 11 * ms}} {
		r := withIdleRows(30, 200, of(8*ms), of(slices.Concat(took[:1], took)...))[1]
		if r.met != want || r.goal != "≤ 1.25 × alone / 50 ms" {
			t.Errorf("next to others %v: %q of %s, want %q", took, r.met, r.goal, want)
		}
	}
}

func TestUnchangedRatioIsInGoal(t *testing.T) {
	alone := map[string]series{floorName: {{cpu: ms}}, lockstepName: {{cpu: 100 * ms}}}
	for used, want := range map[time.Duration]verdict{125 * ms: met, 126 * ms: missed} {
		beside := map[string]series{floorName: {{cpu: ms}}, lockstepName: {{cpu: used}}}
		if r := withIdleRows(30, 200, alone, beside)[2]; r.met != want || r.goal != "≤ 1.25 × alone" {
			t.Errorf("%s: %q of %s, want %q", used, r.met, r.goal, want)
		}
	}
}

func TestParts(t *testing.T) {
	turns := []int{1, 2, 3, 4, 5}
	for runs, want := range map[int][]int{1: {5}, 2: {3, 2}, 3: {2, 2, 1}, 9: {1, 1, 1, 1, 1}} {
		var got []int
		for _, part := range parts(turns, runs) {
			got = append(got, len(part))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d runs of %v", runs, got)
		}
	}
	if got := parts([]int{}, 3); len(got) != 0 {
		t.Errorf("no turns are %v", got)
	}
}

func TestFairnessRowsCompareTotalsWithFloor(t *testing.T) {
	of := func(floor, own time.Duration) map[string]series {
		return map[string]series{
			floorName:    {{total: floor, steps: []step{{first: floor / 100}}}},
			lockstepName: {{total: own, steps: []step{{first: own / 100}}}},
		}
	}
	rows := fairnessRows(9, 1000, of(time.Second, 2*time.Second), of(20*time.Second, 30*time.Second))
	if rows[0].what != "quiet group of 9 pods, alone" || rows[0].cells[lockstepName] != "2.00 s (2.00)" || rows[1].cells[lockstepName] != "30.00 s (1.50)" {
		t.Errorf("got %q", cellsOf(rows, lockstepName))
	}
	if last := rows[len(rows)-1]; last.cells[floorName] != "20.00" || last.cells[lockstepName] != "15.00" || last.met != met {
		t.Errorf("got %+v", last)
	}
}

func TestPoolFairnessRowsCompareWithFloor(t *testing.T) {
	of := func(floor, own time.Duration) map[string]series {
		return map[string]series{floorName: {{total: floor}}, lockstepName: {{total: own}}}
	}
	alone := of(100*ms, 200*ms)
	for own, want := range map[time.Duration]verdict{400 * ms: met, 1200 * ms: met, 1300 * ms: missed} {
		rows := poolFairnessRows(10000, alone, of(300*ms, own))
		if last := rows[len(rows)-1]; last.cells[floorName] != "3.00" || last.met != want {
			t.Errorf("%s: got %+v", own, last)
		}
	}
}

func TestFailoverRowChecksSlowest(t *testing.T) {
	r := failoverRow("killed", []time.Duration{12 * time.Second, 18 * time.Second, 11 * time.Second}, maxAfterKill)
	if r.what != "killed, median, least and largest of 3" || r.cells[lockstepName] != "12.00 s, 11.00 s to 18.00 s" || r.goal != "≤ 17 s" || r.met != missed {
		t.Errorf("got %+v", r)
	}
}

func TestStatusRowsCompareByTurn(t *testing.T) {
	of := func(totals ...time.Duration) series {
		var s series
		for _, d := range totals {
			s = append(s, rollout{total: d})
		}
		return s
	}
	r := statusRows(5, 3, of(105*ms, 90*ms, 120*ms), of(100*ms, 100*ms, 100*ms))[1]
	if r.cells[lockstepName] != "0.10 s (1.05, 0.90 to 1.20)" || r.met != met || r.goal != "< 1.10" {
		t.Errorf("got %+v", r)
	}
}
