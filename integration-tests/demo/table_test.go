package main

import (
	"strings"
	"testing"
	"time"
)

func printed(lines []line) []string {
	var text []string
	for _, l := range lines {
		text = append(text, style{symbols: unicodeSymbols}.paint(l, columns(l)))
	}
	return text
}

func TestTableShowsTimesAndGaps(t *testing.T) {
	t.Parallel()
	s := newRolloutFixture(t)
	s.rollAll()
	wantText(t, printed(table(s.state, s.measures, s.verifier.violations)), `
namespace  zone             new pods   time  longest gap  most down  verdict
north      ingester-zone-a    4 of 4  1.5 s       100 ms          1  ok
north      ingester-zone-b    4 of 4  1.5 s       100 ms          1  ok
north      ingester-zone-c    4 of 4  1.5 s       100 ms          1  ok
south      ingester-zone-a    4 of 4  1.5 s       100 ms          1  ok
south      ingester-zone-b    4 of 4  1.5 s       100 ms          1  ok
south      ingester-zone-c    4 of 4  1.5 s       100 ms          1  ok
bystander  ingester-zone-a    0 of 4      -            -          0  untouched
bystander  ingester-zone-b    0 of 4      -            -          0  untouched
bystander  ingester-zone-c    0 of 4      -            -          0  untouched
`)
	wantText(t, printed(result(s.state, s.measures, nil)), `
Nothing was violated. 24 pods in 2 groups replaced in 11.0 s; the next zone began at most
300 ms after the last pod of the one before was Ready.
`)
}

func TestTableMarksViolations(t *testing.T) {
	t.Parallel()
	s := newRolloutFixture(t)
	s.terminate("north", zoneB, 0)
	s.terminate("north", zoneB, 1)
	s.terminate("north", zoneC, 0)
	s.terminate("bystander", zoneC, 0)
	s.verifier.report("north", []string{zoneB}, "two pods were down at once")
	s.verifier.report("north", []string{zoneC, zoneB}, "pods of two zones were down at once")
	s.verifier.report("bystander", []string{zoneC}, "a pod was deleted")
	wantText(t, printed(table(s.state, s.measures, s.verifier.violations)), `
namespace  zone             new pods  time  longest gap  most down  verdict
north      ingester-zone-a    0 of 4     -            -          0  ok
north      ingester-zone-b    0 of 4     -            -          2  VIOLATED
north      ingester-zone-c    0 of 4     -            -          1  VIOLATED
south      ingester-zone-a    0 of 4     -            -          0  ok
south      ingester-zone-b    0 of 4     -            -          0  ok
south      ingester-zone-c    0 of 4     -            -          0  ok
bystander  ingester-zone-a    0 of 4     -            -          0  untouched
bystander  ingester-zone-b    0 of 4     -            -          0  untouched
bystander  ingester-zone-c    0 of 4     -            -          1  VIOLATED
`)
	last := strings.Join(printed(result(s.state, s.measures, s.verifier.violations)), "\n")
	if strings.Contains(last, "Nothing was violated") || strings.Count(last, "VIOLATED") != 3 {
		t.Errorf("three violations: got\n%s", last)
	}
}

func TestLongestGapIsFromReadyToNextDelete(t *testing.T) {
	t.Parallel()
	s := newRolloutFixture(t)
	s.replace("north", zoneA, 0)
	s.now = s.now.Add(2 * time.Second)
	s.replace("north", zoneA, 1)
	s.replace("north", zoneA, 2)
	if got, want := s.measures.zone("north", zoneA).gap, 2100*time.Millisecond; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChangeLogHasLineForEachChange(t *testing.T) {
	t.Parallel()
	s := newRolloutFixture(t)
	var out strings.Builder
	j := newChangeLog(&out)
	play := func(seen stateChange) {
		seen.at = s.now
		for _, c := range s.state.apply(seen) {
			j.change(s.state, c)
		}
	}
	play(stateChange{lease: &lease{"north", "lockstep-group-ingester", "rollout/" + zoneA, 1}})
	play(stateChange{lease: &lease{"north", "lockstep-group-ingester", "rollout/" + zoneA, 2}})
	old := s.pod("north", zoneA, 0)
	leaving := old
	leaving.terminating = true
	play(stateChange{pod: &leaving})
	play(stateChange{pod: &leaving, deleted: true})
	fresh := s.newPod("north", zoneA, 0, newRevision, false)
	play(stateChange{pod: fresh})
	ready := *fresh
	ready.ready = true
	play(stateChange{pod: &ready})
	waiting := groupWaits{"north", parseWaits([]string{
		"wait ingester-zone-a because PodStarting ingester-zone-a-0",
		"wait ingester-zone-b because GroupHeld ingester-zone-a-3 of ingester-zone-a (rollout/ingester-zone-a)",
	})}
	j.waits(s.now, waiting, s.state.namespace("north").zones)
	j.waits(s.now, waiting, s.state.namespace("north").zones)
	j.finished(s.now, zoneKey{"north", zoneA}, 12345*time.Millisecond)
	play(stateChange{lease: &lease{"north", "lockstep-group-ingester", "", 0}})
	wantText(t, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), `
15:04:05.900  north      Lease              held by rollout/ingester-zone-a
15:04:05.900  north      ingester-zone-a-0  deleted
15:04:05.900  north      ingester-zone-a-0  Ready, new revision
15:04:05.900  north      ingester-zone-b    waits: ingester-zone-a holds the group
15:04:05.900  north      ingester-zone-a    zone finished in 12.3 s
15:04:05.900  north      Lease              free
`)
}
