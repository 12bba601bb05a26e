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

func TestTheTableHasTimesAndGapsOfEveryZone(t *testing.T) {
	t.Parallel()
	s := begunStory(t)
	s.rollsAll()
	wantText(t, printed(table(s.world, s.measures, s.court.violations)), `
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
	wantText(t, printed(result(s.world, s.measures, nil)), `
Nothing was violated. 24 pods in 2 groups replaced in 11.0 s; the next zone began at most
300 ms after the last pod of the one before was Ready.
`)
}

func TestTheTableMarksWhatWasViolated(t *testing.T) {
	t.Parallel()
	s := begunStory(t)
	s.leaves("north", zoneB, 0)
	s.leaves("north", zoneB, 1)
	s.leaves("north", zoneC, 0)
	s.leaves("bystander", zoneC, 0)
	s.court.add("north", []string{zoneB}, "two pods were down at once")
	s.court.add("north", []string{zoneC, zoneB}, "pods of two zones were down at once")
	s.court.add("bystander", []string{zoneC}, "a pod was deleted")
	wantText(t, printed(table(s.world, s.measures, s.court.violations)), `
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
	last := strings.Join(printed(result(s.world, s.measures, s.court.violations)), "\n")
	if strings.Contains(last, "Nothing was violated") || strings.Count(last, "VIOLATED") != 3 {
		t.Errorf("three violations: got\n%s", last)
	}
}

func TestTheLongestGapIsFromReadyToTheNextDelete(t *testing.T) {
	t.Parallel()
	s := begunStory(t)
	s.replaces("north", zoneA, 0)
	s.now = s.now.Add(2 * time.Second)
	s.replaces("north", zoneA, 1)
	s.replaces("north", zoneA, 2)
	if got, want := s.measures.zone("north", zoneA).gap, 2100*time.Millisecond; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheJournalHasALineForEveryChange(t *testing.T) {
	t.Parallel()
	s := begunStory(t)
	var out strings.Builder
	j := newJournal(&out)
	play := func(seen sighting) {
		seen.at = s.now
		for _, c := range s.world.apply(seen) {
			j.change(s.world, c)
		}
	}
	play(sighting{lease: &lease{"north", "lockstep-group-ingester", "rollout/" + zoneA, 1}})
	play(sighting{lease: &lease{"north", "lockstep-group-ingester", "rollout/" + zoneA, 2}})
	old := s.pod("north", zoneA, 0)
	leaving := old
	leaving.leaving = true
	play(sighting{pod: &leaving})
	play(sighting{pod: &leaving, gone: true})
	fresh := s.newPod("north", zoneA, 0, newRevision, false)
	play(sighting{pod: fresh})
	ready := *fresh
	ready.ready = true
	play(sighting{pod: &ready})
	waiting := waits{"north", waitsOf([]string{
		"wait ingester-zone-a because PodStarting ingester-zone-a-0",
		"wait ingester-zone-b because GroupHeld ingester-zone-a-3 of ingester-zone-a (rollout/ingester-zone-a)",
	})}
	j.waits(s.now, waiting, s.world.namespace("north").zones)
	j.waits(s.now, waiting, s.world.namespace("north").zones)
	j.finished(s.now, zoneKey{"north", zoneA}, 12345*time.Millisecond)
	play(sighting{lease: &lease{"north", "lockstep-group-ingester", "", 0}})
	wantText(t, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), `
15:04:05.900  north      Lease              held by rollout/ingester-zone-a
15:04:05.900  north      ingester-zone-a-0  deleted
15:04:05.900  north      ingester-zone-a-0  Ready, new revision
15:04:05.900  north      ingester-zone-b    waits: ingester-zone-a holds the group
15:04:05.900  north      ingester-zone-a    zone finished in 12.3 s
15:04:05.900  north      Lease              held by nobody
`)
}
