package main

import (
	"strings"
	"testing"
)

// halfwaySnapshot is a rollout in which zone-b of north is half done, and south has begun.
func halfwaySnapshot(t *testing.T) snapshot {
	t.Helper()
	s := newRolloutFixture(t)
	s.hold("north", "rollout/"+zoneA, 1)
	s.rollZone("north", zoneA)
	s.adoptRevision("north", zoneA)
	s.hold("north", "rollout/"+zoneB, 1)
	s.replace("north", zoneB, 0)
	s.replace("north", zoneB, 1)
	s.terminate("north", zoneB, 2)
	s.remove("north", zoneB, 2)
	s.create("north", zoneB, 2)
	s.terminate("south", zoneA, 0)
	return snapshot{
		state: s.state, measures: s.measures, now: s.now,
		waits: map[string]groupWaits{
			"north": {"north", parseWaits([]string{
				"wait ingester-zone-b because PodStarting ingester-zone-b-2 (1 of at most 1 down)",
				"wait ingester-zone-c because NotItsTurn ingester-zone-b",
			})},
			"south": {"south", parseWaits([]string{
				"wait ingester-zone-a because PodTerminating ingester-zone-a-0 (1 of at most 1 down)",
				"wait ingester-zone-b because OtherZoneUnavailable ingester-zone-a-0 of ingester-zone-a",
				"wait ingester-zone-c because StatusBehind",
			})},
		},
	}
}

func TestViewShowsZonesAndWaits(t *testing.T) {
	t.Parallel()
	wantText(t, view{style{symbols: unicodeSymbols}, 80}.draw(halfwaySnapshot(t)), `
  3 s  lockstep replaces every pod of a group: zone by zone, one pod at a time
○ old   × terminating or missing   ◐ starting   ● new and Ready

north · opted in · Lease held by rollout/ingester-zone-b, 1 intent
  ingester-zone-a  ████████████  4/4  ●●●●  done in 1.5 s
  ingester-zone-b  ██████░░░░░░  2/4  ●●◐○  waits: ingester-zone-b-2 is starting
  ingester-zone-c  ░░░░░░░░░░░░  0/4  ○○○○  waits: ingester-zone-b comes first

south · opted in · Lease free
  ingester-zone-a  ░░░░░░░░░░░░  0/4  ×○○○  waits: ingester-zone-a-0 terminates
  ingester-zone-b  ░░░░░░░░░░░░  0/4  ○○○○  waits: ingester-zone-a not available
  ingester-zone-c  ░░░░░░░░░░░░  0/4  ○○○○  waits: its status is behind

bystander · did not opt in · must stay as it is
  ingester-zone-a  ░░░░░░░░░░░░  0/4  ○○○○
  ingester-zone-b  ░░░░░░░░░░░░  0/4  ○○○○
  ingester-zone-c  ░░░░░░░░░░░░  0/4  ○○○○
`)
}

func TestWideViewShowsReasonCodes(t *testing.T) {
	t.Parallel()
	lines := view{style{symbols: unicodeSymbols}, 120}.draw(halfwaySnapshot(t))
	wantText(t, lines[3:7], `
north · opted in · Lease held by rollout/ingester-zone-b, 1 intent
  ingester-zone-a  ████████████████████████  4/4  ●●●●  done in 1.5 s
  ingester-zone-b  ████████████░░░░░░░░░░░░  2/4  ●●◐○  waits: ingester-zone-b-2 is starting (PodStarting)
  ingester-zone-c  ░░░░░░░░░░░░░░░░░░░░░░░░  0/4  ○○○○  waits: ingester-zone-b comes first (NotItsTurn)
`)
}

func TestNarrowASCIIViewCutsLines(t *testing.T) {
	t.Parallel()
	wantText(t, view{style{symbols: asciiSymbols}, 40}.draw(halfwaySnapshot(t)), `
  3 s  lockstep replaces every pod of a>
o old   x terminating or missing   ~ st>

north - opted in - Lease held by rollou>
  zone-a  4/4  ****  done in 1.5 s
  zone-b  2/4  **~o  waits: zone-b-2 is>
  zone-c  0/4  oooo  waits: zone-b come>

south - opted in - Lease free
  zone-a  0/4  xooo  waits: zone-a-0 te>
  zone-b  0/4  oooo  waits: zone-a not >
  zone-c  0/4  oooo  waits: its status >

bystander - did not opt in - must stay >
  zone-a  0/4  oooo
  zone-b  0/4  oooo
  zone-c  0/4  oooo
`)
}

func TestViewShowsViolations(t *testing.T) {
	t.Parallel()
	s := halfwaySnapshot(t)
	s.violations = []violation{{"north", []string{zoneA}, "two pods were down"}}
	lines := view{style{symbols: unicodeSymbols}, 80}.draw(s)
	wantText(t, lines[len(lines)-1:], "\nVIOLATED  north: two pods were down\n")
}

func TestCutIgnoresColours(t *testing.T) {
	t.Parallel()
	painted := style{true, unicodeSymbols}.paint(line{{"○○○", green}, {"old", plain}}, 5)
	if want := "\x1b[32m○○○\x1b[0mo…"; painted != want {
		t.Errorf("got %q, want %q", painted, want)
	}
}

func TestStyleFollowsEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environment map[string]string
		terminal    bool
		want        style
	}{
		"colours in a terminal":      {map[string]string{"LANG": "en_US.UTF-8"}, true, style{true, unicodeSymbols}},
		"no colours in a file":       {map[string]string{"LANG": "C.utf8"}, false, style{false, unicodeSymbols}},
		"no colours where forbidden": {map[string]string{"LANG": "C.UTF-8", "NO_COLOR": "1"}, true, style{false, unicodeSymbols}},
		"LC_ALL wins":                {map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C"}, true, style{true, asciiSymbols}},
		"plain without a locale":     {nil, true, style{true, asciiSymbols}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := styleFrom(func(name string) string { return tc.environment[name] }, tc.terminal)
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestScreenIsRedrawnInPlace(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	height := 10
	s := &screen{out: &out, size: func() (int, int) { return 80, height }}
	drawn := func(lines ...string) string {
		out.Reset()
		s.draw(lines)
		return out.String()
	}
	for _, step := range []struct{ got, want string }{
		{drawn("a", "b", "c"), "\x1b[?25l\ra\x1b[K\nb\x1b[K\nc\x1b[K\n\x1b[J"},
		{drawn("a", "b", "c"), ""},
		{drawn("a", "x"), "\x1b[?25l\x1b[3A\ra\x1b[K\nx\x1b[K\n\x1b[J"},
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
	height = 3
	if got := drawn("1", "2", "3"); strings.Contains(got, "3\x1b[K") {
		t.Errorf("a screen of 3 lines shows 2, or it scrolls: got %q", got)
	}
}

func wantText(t *testing.T, lines []string, want string) {
	t.Helper()
	got := "\n" + strings.Join(lines, "\n") + "\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
