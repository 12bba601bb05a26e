package hold_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	outdated   = "zone-a rev=2 current=1\n zone-a-0 ready@1 zone-a-1 ready@1\n"
	broken     = "zone-a rev=2 current=1\n zone-a-0 failing@1 zone-a-1 ready@1\n"
	available  = "zone-b rev=2\n zone-b-0 ready@2\n"
	scaledDown = "zone-b rev=2 replicas=1\n zone-b-0 ready@2 zone-b-1 terminating@2\n"
	done       = "zone-a rev=2\n zone-a-0 ready@2\n"
	preparing  = "hold downscale/zone-b\n downscale zone-b from 2 to 1 preparing own\n" + done + "zone-b rev=2 leader=zone-a prepares\n zone-b-0 ready@2 ip=10.0.0.1 zone-b-1 ready@2 ip=10.0.0.2\n"
)

func TestCover(t *testing.T) {
	for sentence, tc := range map[string]struct {
		group string
		want  string // as formatted by fixture.Decision
	}{
		// Take
		"a free hold is read live before it is taken":                 {outdated, "read live"},
		"a free Lease is read live before it is taken":                {"hold free\n" + outdated, "read live"},
		"after the live read the hold is taken":                       {"live\n" + outdated, "write rollout/zone-a with zone-a-0"},
		"a rollout continues in its zone without a live read":         {"hold rollout/zone-a\n" + outdated, "write rollout/zone-a with zone-a-0"},
		"a record of another process is read live first":              {"hold rollout/zone-a inherited\n" + outdated, "read live"},
		"after the live read the inherited record is this process's":  {"live\nhold rollout/zone-a inherited\n" + outdated, "write rollout/zone-a with zone-a-0"},
		"a pod of an unknown revision is read live first":             {"hold rollout/zone-a\nzone-a rev=3 current=1\n zone-a-0 ready@2 zone-a-1 ready@1\n", "read live"},
		"the hold of a settled zone is read live before it passes on": {"hold rollout/zone-b\n" + outdated + available, "read live"},
		"after the live read a settled hold passes on":                {"live\nhold rollout/zone-b\n" + outdated + available, "write rollout/zone-a with zone-a-0"},
		"a settled downscale passes on":                               {"live\nhold downscale/zone-b\n" + outdated + available, "write rollout/zone-a with zone-a-0"},
		"a settled hold passes on also when expired":                  {"live\nhold rollout/zone-b renewed 5m ago\n" + outdated + available, "write rollout/zone-a with zone-a-0"},
		"a downscale in the zone becomes its rollout":                 {"live\nhold downscale/zone-a\n" + outdated, "write rollout/zone-a with zone-a-0"},
		"a foreign hold that expired is taken":                        {"live\nhold manual/x renewed 5m ago\n" + outdated, "write rollout/zone-a with zone-a-0"},
		"an ended intent is dropped when the next is recorded": {
			"hold rollout/zone-a\n intent zone-a-1 uid=former version=5\n" + outdated, "write rollout/zone-a with zone-a-0",
		},
		"an open intent stays when the next is recorded": {
			"hold rollout/zone-a\n intent zone-a-1 version=20\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1",
			"write rollout/zone-a with zone-a-1, zone-a-0",
		},
		"a cancelled intent is recorded again": {
			"hold rollout/zone-a\n intent zone-a-0 version=9\n" + outdated, "write rollout/zone-a with zone-a-0",
		},

		// Labels
		"a Lease that lost its label gets it back at rest":               {"live\nhold free unlabelled\n" + done, "label"},
		"a Lease that cannot be read gets its label back as well":        {"live\nhold free unlabelled unreadable=damaged\n" + done, "label"},
		"a Lease with a holder from outside gets its label back as well": {"live\nhold manual/x unlabelled\n" + outdated, "label"},
		"a missing label is not written by caches alone":                 {"hold free unlabelled\n" + done, "as it is"},
		"a write of the record adds the label":                           {"live\nhold free unlabelled\n" + outdated, "write rollout/zone-a with zone-a-0"},

		// Repairs
		"a repair is always read live first":                    {"hold rollout/zone-a\n" + broken, "read live"},
		"a repair takes a free hold":                            {"live\n" + broken, "write rollout/zone-a with zone-a-0"},
		"a repair joins the operation that holds its zone":      {"live\nhold downscale/zone-a\n" + broken, "write downscale/zone-a with zone-a-0"},
		"a repair in another zone needs no cover":               {"live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9\n" + broken + scaledDown, "as it is"},
		"a repair under a foreign hold needs no cover":          {"live\nhold manual/zone-a\n" + broken, "as it is"},
		"a repair under an unreadable hold needs no cover":      {"live\nhold rollout/zone-a unreadable=damaged\n" + broken, "as it is"},
		"a repair writes nothing to a free hold it cannot read": {"live\nhold free unreadable=damaged\n" + broken, "as it is"},
		"a zone that joined is remembered together with a repair that needs no cover": {
			"live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9\nmembers zone-b\n" + broken + scaledDown, "write downscale/zone-b",
		},
		"repairs in two zones: the first has the hold":           {"live\n" + broken + "zone-b rev=2\n zone-b-0 failing@1\n", "write rollout/zone-a with zone-a-0"},
		"repairs in two zones: the holder's zone keeps the hold": {"live\nhold rollout/zone-b\n" + broken + "zone-b rev=2\n zone-b-0 failing@1\n", "write rollout/zone-b with zone-b-0"},

		// Wait
		"a foreign hold is left alone":                    {"hold manual/x\n" + outdated, "as it is"},
		"an unreadable hold is left alone":                {"hold rollout/zone-a renewed 30s ago unreadable=damaged\n" + outdated, "as it is"},
		"an unreadable hold is never released":            {"hold rollout/zone-a unreadable=damaged\n" + done, "as it is"},
		"a fresh hold is not renewed":                     {"hold rollout/zone-a renewed 19s ago\nzone-a rev=2\n zone-a-0 starting@2", "as it is"},
		"a hold in use is renewed":                        {"hold rollout/zone-a renewed 20s ago\nzone-a rev=2\n zone-a-0 starting@2", "write rollout/zone-a"},
		"an expired hold in use is renewed":               {"hold rollout/zone-a renewed 5m ago\nzone-a rev=2\n zone-a-0 starting@2", "write rollout/zone-a"},
		"a renewal keeps open intents and drops the rest": {"hold rollout/zone-a renewed 20s ago\n intent zone-a-0 uid=former version=5\n intent zone-a-1 uid=former version=5\nzone-a rev=2\n zone-a-0 starting@2 zone-a-1 ready@2", "write rollout/zone-a with zone-a-0"},
		"a downscale is renewed as well":                  {"hold downscale/zone-b renewed 20s ago\n downscale zone-b from 2 to 1 admitted version=9\n" + done + scaledDown, "write downscale/zone-b"},
		"an eviction is renewed as well":                  {"hold eviction/zone-b renewed 20s ago\n" + done + "zone-b rev=2\n zone-b-0 starting@2\n", "write eviction/zone-b"},
		"a hold from outside is not renewed":              {"hold manual/zone-b renewed 30s ago\n" + done + "zone-b rev=2\n zone-b-0 starting@2\n", "as it is"},
		"a free hold is not renewed":                      {"hold free renewed 5m ago\n" + done, "as it is"},

		// Downscales
		"a detected downscale is read live before it is recorded":  {done + scaledDown, "read live"},
		"after the live read a detected downscale is recorded":     {"live\n" + done + scaledDown, "write downscale/zone-b"},
		"a downscale joins the rollout of its zone":                {"live\nhold rollout/zone-b\n" + done + scaledDown, "write downscale/zone-b"},
		"a downscale does not join the hold of another zone":       {"live\nhold rollout/zone-a\n intent zone-a-0 version=20\n" + done + scaledDown, "as it is"},
		"the end of a downscale is read live":                      {"hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9\n" + done + available, "read live"},
		"a downscale that has ended releases the hold":             {"live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9\n" + done + available, "write free"},
		"a downscale keeps the hold while its zone is unavailable": {"live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9\n" + done + "zone-b rev=2\n zone-b-0 starting@2\n", "write downscale/zone-b"},
		"a downscale that may still come keeps its record":         {"live\nhold downscale/zone-a\n downscale zone-a from 1 to 0 admitted\n" + done, "as it is"},
		"a downscale takes over from a foreign hold that expired":  {"live\nhold manual/x renewed 5m ago\n" + done + scaledDown, "write downscale/zone-b"},
		"a downscale of a zone that left the group has ended":      {"live\nhold downscale/zone-x\n downscale zone-x from 1 to 0 admitted\n" + done, "write free"},

		// Downscales by lockstep itself
		"a due downscale is read live before it is recorded":                           {"zone-a rev=2 force=0\n zone-a-0 ready@2\n", "read live"},
		"after the live read a due downscale is recorded":                              {"live\nzone-a rev=2 force=0\n zone-a-0 ready@2\n", "write downscale/zone-a"},
		"a downscale that this process recorded is carried out":                        {"hold downscale/zone-a\n downscale zone-a from 1 to 0 admitted own\nzone-a rev=2 force=0\n zone-a-0 ready@2\n", "write downscale/zone-a"},
		"a downscale that another process recorded is read live first":                 {"hold downscale/zone-a inherited\n downscale zone-a from 1 to 0 admitted own\nzone-a rev=2 force=0\n zone-a-0 ready@2\n", "read live"},
		"after the live read a downscale that another process recorded is carried out": {"live\nhold downscale/zone-a inherited\n downscale zone-a from 1 to 0 admitted own\nzone-a rev=2 force=0\n zone-a-0 ready@2\n", "write downscale/zone-a"},
		"pods are read live before they are called to prepare":                         {preparing, "read live"},
		"after the live read pods are called to prepare":                               {"live\n" + preparing, "as it is"},
		"a scale-up needs no hold, whatever holder has it":                             {"hold manual/x inherited\nzone-a rev=2 force=2\n zone-a-0 ready@2\n", "as it is"},
		"a due downscale takes a settled hold over from a rollout that ended":          {"live\nhold rollout/zone-b\nzone-a rev=2 force=0\n zone-a-0 ready@2\n" + available, "write downscale/zone-a"},

		// Release and removal
		"a finished rollout releases the hold":                         {"hold rollout/zone-a\n" + done, "write free"},
		"a finished group without a Lease needs nothing":               {done, "as it is"},
		"a group without zones loses its free Lease":                   {"hold free", "remove"},
		"a Lease that remembers orphans is not removed":                {"hold free\norphaned zone-a\n zone-a-0 ready@1", "as it is"},
		"a group without zones releases its hold":                      {"hold rollout/zone-a", "write free"},
		"a Lease with a foreign holder is not removed":                 {"hold manual/x", "as it is"},
		"an expired hold of a person is removed":                       {"hold manual/x renewed 5m ago", "remove"},
		"an expired hold stays while it records a pod":                 {"hold manual/x renewed 5m ago\n intent zone-a-0\nstray zone-a-0 ready@1", "as it is"},
		"an expired hold stays while it records a later downscale":     {"zones at 100\nhold manual/x renewed 5m ago\n downscale zone-a from 2 to 1 admitted version=200", "as it is"},
		"an expired hold stays while the group has zones":              {"hold manual/x renewed 5m ago\n" + done, "as it is"},
		"an unreadable Lease is not removed":                           {"hold free unreadable=damaged", "as it is"},
		"a Lease with an open intent is not removed":                   {"hold free\n intent zone-a-0\nstray zone-a-0 ready@1", "as it is"},
		"a Lease that records only the time of a downscale is removed": {"hold free\n downscaled zone-a 1h ago", "remove"},
		"a group without zones and Lease needs nothing":                {"", "as it is"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			steps := group.Plan(s)
			if got := fixture.Decision(hold.Decide(&s, steps)); got != tc.want {
				t.Errorf("got %q, want %q for\n%s", got, tc.want, plan.Notation(steps))
			}
		})
	}
}

// An unreadable record is not written even if a plan requests it.
func TestAnUnreadableRecordIsNotOverwritten(t *testing.T) {
	s := fixture.MustParse("live\nhold rollout/zone-a renewed 30s ago unreadable=damaged\n" + outdated)
	disruption := plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0", UID: "zone-a-0", Version: 10, Up: true}
	for _, steps := range [][]plan.Action{nil, {plan.Release{Holder: "rollout/zone-a"}}, {disruption}, {disruption, plan.EndIntent{}}, {disruption, group.RecordMembers{}}} {
		if got := hold.Decide(&s, steps).Need; got == hold.Write || got == hold.Remove {
			t.Errorf("verdict %d for %q", got, plan.Notation(steps))
		}
	}
}

func TestTheRecordThatIsWritten(t *testing.T) {
	s := fixture.MustParse(`
live
hold rollout/zone-b renewed 30s ago inherited transitions=4 trace=00-abc
zone-a rev=2 current=1
  zone-a-0 ready@1 uid=u version=17
` + available)
	want := group.Hold{
		Hold: plan.Hold{
			Exists:      true,
			Own:         true,
			Holder:      "rollout/zone-a",
			Renewed:     fixture.Now(),
			Duration:    hold.Duration,
			Transitions: 5,
			Trace:       "00-abc",
			Intents:     []plan.Intent{fixture.IntentAt("zone-a-0", "u", 17)},
			Rollouts: plan.Rollouts{Current: plan.RolledGroup{Since: fixture.Now(), Zones: []plan.RolledZone{
				{Name: "zone-a", UID: "zone-a", From: "1", To: "2", Budget: 1, Since: fixture.Now()},
			}}},
		},
		Part: group.Part{
			Members: []group.Member{{Zone: "zone-a", UID: "zone-a"}, {Zone: "zone-b", UID: "zone-b"}},
		},
	}
	got := hold.Decide(&s, group.Plan(s))
	if diff := cmp.Diff(want.Record(), got.Record); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTransitionsCountChangesOfHolder(t *testing.T) {
	for sentence, tc := range map[string]struct {
		group string
		want  int
	}{
		"a free hold is taken": {"live\nhold free transitions=4\n" + outdated, 5},
		"a hold is joined":     {"live\nhold downscale/zone-a transitions=4\n" + outdated, 5},
		"a rollout continues":  {"hold rollout/zone-a transitions=4\n" + outdated, 4},
		"a hold is renewed":    {"hold rollout/zone-a renewed 20s ago transitions=4\nzone-a rev=2\n zone-a-0 starting@2", 4},
		"a hold is released":   {"hold rollout/zone-a transitions=4\n" + done, 4},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			got := hold.Decide(&s, group.Plan(s))
			if got.Need != hold.Write || got.Record.Transitions != tc.want {
				t.Errorf("verdict %d with %d transitions, want a write with %d", got.Need, got.Record.Transitions, tc.want)
			}
		})
	}
}

func TestAPendingIntentIsNotWrittenTwice(t *testing.T) {
	s := fixture.MustParse("hold rollout/zone-a\n intent zone-a-0 since=9s trace=00-abc\n" + outdated)
	got := hold.Decide(&s, group.Plan(s)).Record.Intents
	if diff := cmp.Diff(s.Hold.Intents, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTimesOfAHold(t *testing.T) {
	record := group.Hold{Hold: plan.Hold{Holder: "rollout/zone-a", Renewed: fixture.Now(), Duration: hold.Duration}}
	if got, want := hold.Deadline(record.Record()), fixture.Now().Add(45*time.Second); !got.Equal(want) {
		t.Errorf("writers stop at %v, want %v", got, want)
	}
	if got, want := hold.RenewAt(record.Hold), fixture.Now().Add(20*time.Second); !got.Equal(want) {
		t.Errorf("renewed at %v, want %v", got, want)
	}
	for _, holder := range []plan.Holder{"", "manual/x"} {
		if got := hold.RenewAt(group.Hold{Hold: plan.Hold{Holder: holder, Renewed: fixture.Now()}}.Hold); !got.IsZero() {
			t.Errorf("%q is renewed at %v", holder, got)
		}
	}
	if hold.Margin <= hold.RequestTimeout {
		t.Error("a request may outlive the margin")
	}
	if hold.RenewEvery+hold.Margin+hold.RequestTimeout >= hold.Duration {
		t.Error("a single slow renewal would use up the hold")
	}
}

func TestTheTimeOfADownscaleIsKeptFromItsEnd(t *testing.T) {
	s := fixture.MustParse(`
live
hold downscale/zone-b
  downscale zone-b from 2 to 1 admitted version=9 since=10s
  downscaled zone-a 1h ago
  downscaled zone-x 168h ago
  waiting downscale/zone-a since 20s seen 5s
  waiting downscale/zone-b since 20s seen 5s
  waiting eviction/zone-a since 2m seen 1m
zone-a rev=2
  zone-a-0 ready@2
zone-b rev=2
  zone-b-0 ready@2
`)
	record := hold.Decide(&s, group.Plan(s)).Record
	wantTimes := map[string]time.Time{"zone-a": fixture.Now().Add(-time.Hour), "zone-b": fixture.Now()}
	if diff := cmp.Diff(wantTimes, group.HoldOf(record).Downscaled); diff != "" {
		t.Errorf("the time of a zone that left long ago is dropped, the new one is added (-want +got)\n%s", diff)
	}
	var queue []string
	for _, w := range record.Waiting {
		queue = append(queue, string(w.Operation.For(w.Zone)))
	}
	if diff := cmp.Diff([]string{"downscale/zone-a", "downscale/zone-b"}, queue); diff != "" {
		t.Errorf("a zone that did not ask for too long loses its place (-want +got)\n%s", diff)
	}
}

// The update may follow its admission by up to 34 seconds. If the time of the admission counted, two zones
// could be scaled down that much sooner after each other than they allow.
func TestADownscaleIsDatedByItsLatestPossibleTime(t *testing.T) {
	for since, want := range map[string]time.Duration{"3s": 0, "34s": 0, "35s": -time.Second, "10m": 34*time.Second - 10*time.Minute, "-5s": 5 * time.Second} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9 since=" + since + "\nzone-b rev=2\n zone-b-0 ready@2\nzone-a rev=2\n zone-a-0 ready@2\n")
		if got := group.HoldOf(hold.Decide(&s, group.Plan(s)).Record).Downscaled["zone-b"].Sub(fixture.Now()); got != want {
			t.Errorf("admitted %s ago: dated %s from now, want %s", since, got, want)
		}
	}
}

// lockstep sends its update after it has written the record. From then, the API server may work on it for the full time
// limit.
func TestADownscaleByLockstepIsDatedByTheLatestTimeOfItsUpdate(t *testing.T) {
	const latest = group.CarryLimit + plan.RequestLimit
	for since, want := range map[string]time.Duration{"3s": 0, "84s": 0, "85s": -time.Second, "10m": latest - 10*time.Minute} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted own version=9 since=" + since + "\nzone-b rev=2\n zone-b-0 ready@2\nzone-a rev=2\n zone-a-0 ready@2\n")
		if got := group.HoldOf(hold.Decide(&s, group.Plan(s)).Record).Downscaled["zone-b"].Sub(fixture.Now()); got != want {
			t.Errorf("intent %s ago: dated %s from now, want %s", since, got, want)
		}
	}
}

// The update is planned while the downscale is pending, under a hold that was renewed by then, and is sent
// before the hold could expire.
func TestTheUpdateOfLockstepsOwnDownscaleIsSentInTime(t *testing.T) {
	planned := fixture.Now().Add(group.UpdateLimit)
	last := hold.Deadline(group.Hold{Hold: plan.Hold{Renewed: planned, Duration: hold.Duration}}.Record())
	if got := last.Sub(fixture.Now()); got != group.CarryLimit {
		t.Errorf("it is sent within %s, want %s", got, group.CarryLimit)
	}
}

// If a recorded downscale does not happen, another downscale of the zone may be admitted that only records
// its time. Once the second one takes effect, the first one seems to have taken effect as well.
func TestTheLatestTimeOfADownscaleIsKept(t *testing.T) {
	for dated, want := range map[string]time.Duration{"1m": -time.Minute, "-34s": 34 * time.Second, "20m": 34*time.Second - 10*time.Minute} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted version=9 since=10m\n downscaled zone-b " + dated +
			" ago\nzone-b rev=2\n zone-b-0 ready@2\nzone-a rev=2\n zone-a-0 ready@2\n")
		if got := group.HoldOf(hold.Decide(&s, group.Plan(s)).Record).Downscaled["zone-b"].Sub(fixture.Now()); got != want {
			t.Errorf("dated %s ago: the hold says %s from now, want %s", dated, got, want)
		}
	}
}

// A downscale through /scale and its reversal leave no trace on the object. Two changes of the spec since the
// admission may have been just that.
func TestTheTimeOfADownscaleIsKeptIfItWasRevertedUnseen(t *testing.T) {
	for part, kept := range map[string]bool{
		"admitted version=9 since=10s\nzone-b rev=2 edits=3": true,
		"undoing version=9 since=10s\nzone-b rev=2 edits=3":  true,
		"admitted uid=former since=10s\nzone-b rev=2":        true, // recreated; the spec of the former StatefulSet is unknown
		"undoing uid=former since=10s\nzone-b rev=2":         true,
		"admitted version=9 since=10s\nzone-b rev=2 edits=2": false, // another writer's change instead
		"undoing version=9 since=10s\nzone-b rev=2":          false,
	} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 " + part + "\n zone-b-0 ready@2\n zone-b-1 ready@2\nzone-a rev=2\n zone-a-0 ready@2\n")
		decision := hold.Decide(&s, group.Plan(s))
		at, is := group.HoldOf(decision.Record).Downscaled["zone-b"]
		if decision.Need != hold.Write || is != kept || (kept && !at.Equal(fixture.Now())) {
			t.Errorf("%s: %v, scaled down at %v (%t), want %t", part, decision.Need, at, is, kept)
		}
	}
}

// No webhook was called, and the scale-up comes before any other write. A StatefulSet that was recreated has
// only ever shown this spec.
func TestTheTimeOfADetectedDownscaleIsKeptAfterItIsReverted(t *testing.T) {
	for edits := 1; edits <= 5; edits += 2 {
		s := fixture.MustParse(fmt.Sprintf("live\nhold free\nzone-a rev=1 edits=%d version=20 replicas=2\n zone-a-0 ready@1\n zone-a-1 ready@1\n zone-a-2 terminating@1\nzone-b rev=1\n zone-b-0 ready@1\n", edits))
		part := hold.Decide(&s, group.Plan(s)).Record
		later := fixture.MustParse(fmt.Sprintf("live\nhold free\nzone-a rev=1 edits=%d version=30 replicas=3\n zone-a-0 ready@1\n zone-a-1 ready@1\n zone-a-2 ready@1 version=40 uid=anew\nzone-b rev=1\n zone-b-0 ready@1\n", edits+1))
		later.Hold = group.HoldOf(part)
		if got := group.HoldOf(hold.Decide(&later, group.Plan(later)).Record).Downscaled["zone-a"]; group.HoldOf(part).Downscale.Zone != "zone-a" || !got.Equal(fixture.Now()) {
			t.Errorf("at generation %d recorded %s, and dated %v", edits, group.HoldOf(part).Downscale, got)
		}
	}
}

// The next downscale may be evaluated at the same version at which the previous one was seen.
func TestTheTimeOfADetectedDownscaleIsKeptWhenTheNextDownscaleReplacesIt(t *testing.T) {
	s := fixture.MustParse(`
live
hold free
zone-a rev=1 version=20 replicas=2 leader=zone-b prepares
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 terminating@1 ip=10.0.0.3
zone-b rev=1
  zone-b-0 ready@1
`)
	s.Hold = group.HoldOf(hold.Decide(&s, group.Plan(s)).Record)
	seen := s.Hold.Downscale
	next := hold.Decide(&s, group.Plan(s)).Record
	if got := group.HoldOf(next).Downscaled["zone-a"]; seen.Generation != group.SeenInEffect || group.HoldOf(next).Downscale.To != 1 || !got.Equal(fixture.Now()) {
		t.Errorf("intent %s, then %s, and dated %v", seen, group.HoldOf(next).Downscale, got)
	}
}

// Pods that the previous downscale deletes are recorded again. A pod that declines is not called again any
// sooner.
func TestADownscaleThatFailsWhilePodsOfThePreviousOneTerminateIsNotRetriedAtOnce(t *testing.T) {
	s := fixture.MustParse(`
live
hold downscale/zone-a
  downscale zone-a from 2 to 1 undoing own calls version=11
zone-a rev=1 replicas=2 version=11 leader=zone-b prepares
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 starting@1 zone-a-2 terminating@1 ip=10.0.0.3
zone-b rev=1
  zone-b-0 ready@1
`)
	got := hold.Decide(&s, group.Plan(s)).Record
	if group.HoldOf(got).Downscale.Generation != group.SeenInEffect || group.HoldOf(got).Downscale.Call == (group.Call{}) || !group.HoldOf(got).GivenUp["zone-a"].Equal(s.Now) {
		t.Errorf("intent %+v, given up %v", group.HoldOf(got).Downscale, group.HoldOf(got).GivenUp)
	}
}

func TestAnAdmittedDownscaleTakesTheHoldAndLeavesTheQueue(t *testing.T) {
	s := fixture.MustParse(`
live
hold rollout/zone-a transitions=3
  intent zone-a-0
  waiting downscale/zone-a since 20s seen 5s
zone-a rev=2 current=1
  zone-a-0 ready@1
zone-b rev=2
  zone-b-0 ready@2
`)
	granted := fixture.Shrinking("zone-a", 1, 0, group.Preparing)
	got := hold.Admit(&s, group.DownscaleAnswer{Record: granted}.Admission(&s, granted.Zone))
	if got.Holder != "downscale/zone-a" || got.Transitions != 4 || group.HoldOf(got).Downscale != granted || len(got.Intents) != 1 || len(got.Waiting) != 0 || !got.Own {
		t.Errorf("got %+v", got)
	}
}

// If another downscale replaces a downscale before any pod acknowledged, the replaced downscale did not fail.
func TestADownscaleThatTheNextOneReplacesIsTriedAgainAtOnce(t *testing.T) {
	s := fixture.MustParse("live\nhold downscale/zone-a\n downscale zone-a from 3 to 2 preparing own version=9\nzone-a rev=2\n zone-a-0 ready@2 zone-a-1 ready@2 zone-a-2 ready@2\n")
	if got := hold.Admit(&s, group.DownscaleAnswer{Record: fixture.Shrinking("zone-a", 3, 1, group.Preparing)}.Admission(&s, "zone-a")); len(group.HoldOf(got).GivenUp) > 0 {
		t.Errorf("given up: %v", group.HoldOf(got).GivenUp)
	}
}

// An eviction that is granted under the hold of its zone's rollout leaves the queue. Otherwise its place
// would block other operations.
func TestAnEvictionThatIsGrantedLeavesTheQueue(t *testing.T) {
	s := fixture.MustParse("hold rollout/zone-a\n waiting eviction/zone-a since 20s seen 5s\n waiting eviction/zone-b since 20s seen 5s\nzone-a rev=2\n zone-a-0 ready@2\n" + available)
	got := hold.DecideGrant(&s, granted("zone-a", "")).Record
	if len(got.Waiting) != 1 || got.Waiting[0].Zone != "zone-b" {
		t.Errorf("waiting: %+v, want zone-b alone", got.Waiting)
	}
}

// Another group may disrupt the pods of a zone that left, so caches do not show whether they are still ready.
func TestAnEvictionIsGrantedByALiveReadWhileAZoneThatLeftIsRemembered(t *testing.T) {
	const text = "hold eviction/zone-a\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\nzone-a rev=1 replicas=1\n orphan zone-a-0 ready@1\n"
	for live, want := range map[string]hold.Need{"": hold.ReadLive, "live\n": hold.Write} {
		if got := hold.DecideGrant(new(fixture.MustParse(live+text)), granted("zone-a", "")).Need; got != want {
			t.Errorf("%sgot %d, want %d", live, got, want)
		}
	}
}

func granted(zone, partition string) plan.Intent {
	granted := fixture.IntentOf(zone + "-0")
	granted.Zone, granted.Cause, granted.Partition = zone, reason.EvictionGranted, partition
	return granted
}

func TestHolderOfAGrantedEviction(t *testing.T) {
	for sentence, tc := range map[string]struct {
		hold, partition string
		want            plan.Holder
	}{
		"the hold is free":                                           {"hold free", "", "eviction/zone-a"},
		"a rollout of its zone has the hold":                         {"hold rollout/zone-a", "", "rollout/zone-a"},
		"partitions count, and an eviction of its zone has the hold": {"hold eviction/zone-a", "p1", "eviction/partitions"},
		"partitions count, and evictions by partition have the hold": {"hold eviction/partitions", "p1", "eviction/partitions"},
		"a manual hold has expired":                                  {"hold manual/zone-a renewed 5m ago", "", "eviction/zone-a"},
		"a rollout of another zone has the hold and is settled":      {"hold rollout/zone-b", "", "eviction/zone-a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("live\n" + tc.hold + "\nzone-a rev=2\n zone-a-0 ready@2\n" + available)
			if got := hold.DecideGrant(&s, granted("zone-a", tc.partition)).Record.Holder; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestARepeatedRequestKeepsItsPlaceInTheQueue(t *testing.T) {
	now := fixture.Now()
	place := func(zone string, since, seen time.Duration) plan.Waiting {
		return plan.Waiting{Operation: plan.EvictionOperation, Zone: zone, Since: now.Add(-since), LastSeen: now.Add(-seen)}
	}
	for sentence, tc := range map[string]struct{ queue, want []plan.Waiting }{
		"the earlier request keeps the first place":                  {[]plan.Waiting{place("zone-a", time.Minute, 15*time.Second), place("zone-b", 20*time.Second, 0)}, []plan.Waiting{place("zone-a", time.Minute, 0), place("zone-b", 20*time.Second, 0)}},
		"a zone that did not ask for too long gets a new place":      {[]plan.Waiting{place("zone-a", time.Hour, time.Minute), place("zone-b", 20*time.Second, 0)}, []plan.Waiting{place("zone-b", 20*time.Second, 0), place("zone-a", 0, 0)}},
		"another zone that did not ask for too long loses its place": {[]plan.Waiting{place("zone-b", time.Hour, time.Minute)}, []plan.Waiting{place("zone-a", 0, 0)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, changes := hold.Enqueued(group.Hold{Hold: plan.Hold{Exists: true, Waiting: tc.queue}}.Record(), place("zone-a", 0, 0))
			if diff := cmp.Diff(tc.want, got.Waiting); diff != "" || !changes {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The place of a rollout is written together with any other change, such as a renewal.
func TestARolloutTakesItsPlaceInTheQueueByTheNextWrite(t *testing.T) {
	s := fixture.MustParse("live\nhold eviction/zone-b renewed 20s ago\n" + outdated + "zone-b rev=2\n zone-b-0 terminating@2\n")
	d := hold.Decide(&s, group.Plan(s))
	if d.Need != hold.Write || len(d.Record.Waiting) != 1 || d.Record.Waiting[0].Zone != "zone-a" || !d.Record.Renewed.Equal(s.Now) {
		t.Errorf("got %s, renewed %s, waiting: %+v", fixture.Decision(d), d.Record.Renewed, d.Record.Waiting)
	}
}

func TestAGrantThatEndsDuringARepairIsRemovedFromTheHold(t *testing.T) {
	s := fixture.MustParse(`
live
hold eviction/zone-a
  intent zone-a-1 version=10 granted known=2m
zone-a rev=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=2 current=1
  zone-b-0 failing@1
`)
	steps := group.Plan(s)
	d := hold.Decide(&s, steps)
	if d.Need != hold.Write || len(d.Record.Intents) != 0 {
		t.Errorf("%s results in %s", plan.Notation(steps), fixture.Decision(d))
	}
}

// All pods of a large zone fail, and the last one replaces a pod that was evicted.
func TestAFullHoldHasRoomForARepairInThePlaceOfAnIntent(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("live\nhold rollout/zone-a\n")
	for n := 1; n < plan.MaxIntents; n++ {
		fmt.Fprintf(&text, "  intent zone-a-%d uid=former version=5\n", n)
	}
	fmt.Fprintf(&text, "  intent zone-a-%d uid=former version=5 granted known=5s\nzone-a rev=3 current=1 budget=150\n", plan.MaxIntents)
	for n := range plan.MaxIntents + 1 {
		fmt.Fprintf(&text, "  zone-a-%d failing@2 version=20\n", n)
	}
	s := fixture.MustParse(text.String())
	steps := group.Plan(s)
	d := hold.Decide(&s, steps)
	if broken := invariant.Check(s, steps, d); broken != nil || len(d.Record.Intents) != plan.MaxIntents {
		t.Errorf("%d steps and %d intents: %v", len(steps), len(d.Record.Intents), broken)
	}
}

// The intent of the new pod's eviction replaces the intent of the former pod.
func TestAnEvictionRightAfterAReplacementKeepsTheCountOfReplacedPods(t *testing.T) {
	s := fixture.MustParse(`
live
hold rollout/zone-a
  intent zone-a-0 uid=former version=5
zone-a rev=2 current=1 minReady=10s
  zone-a-0 ready@2 for=5s zone-a-1 ready@1
`)
	s.Hold.Rollouts.Current = plan.RolledGroup{Since: s.Now.Add(-time.Minute), Zones: []plan.RolledZone{{Name: "zone-a", UID: "zone-a", From: "1", To: "2", Since: s.Now.Add(-time.Minute)}}}
	permit := group.Evict(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"})
	d := hold.DecideGrant(&s, permit.Record)
	if got := d.Record.Rollouts.Current.Zones; !permit.NeedsRecord() || len(got) != 1 || got[0].Replaced != 1 {
		t.Errorf("%v: recorded zones %+v, want 1 replaced pod", permit, got)
	}
}

// A client other than lockstep's own command may write its holder while a downscale is recorded.
func TestADownscaleIsUndoneUnderTheHoldOfAnotherOperation(t *testing.T) {
	s := fixture.MustParse(`
live
hold manual/maintenance
  downscale zone-a from 2 to 1 admitted own calls version=9 since=10s
zone-a rev=1 replicas=2 version=11
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2
zone-b rev=2
  zone-b-0 failing@1
`)
	d := hold.Decide(&s, group.Plan(s))
	if broken := invariant.Check(s, group.Plan(s), d); broken != nil {
		t.Error(broken)
	}
	if group.HoldOf(d.Record).Downscale.Stage != group.Undoing || d.Record.Holder != "manual/maintenance" || !d.Record.ExpiresAt().Equal(s.Hold.ExpiresAt()) {
		t.Errorf("the Lease says %s of %s until %s", d.Record.Holder, group.HoldOf(d.Record).Downscale, d.Record.ExpiresAt())
	}
}

func TestAPreparationThatAnotherProcessGaveUpIsUndoneAgain(t *testing.T) {
	now := time.Now()
	preparing := fixture.Shrinking("zone-a", 2, 1, group.Preparing)
	seen := fixture.Shrinking("zone-a", 3, 2, group.Admitted)
	seen.Generation, seen.Since = group.SeenInEffect, now
	for sentence, tc := range map[string]struct {
		record group.Hold
		want   bool
	}{
		"the hold is free":                                 {group.Hold{}, true},
		"the downscale of the zone has the hold":           {group.Hold{Hold: plan.Hold{Exists: true, Holder: "downscale/zone-a"}}, true},
		"the preparation is still under way":               {group.Hold{Hold: plan.Hold{Exists: true, Holder: "downscale/zone-a"}, Part: group.Part{Downscale: preparing}}, false},
		"pods terminate because of the previous downscale": {group.Hold{Hold: plan.Hold{Exists: true, Holder: "downscale/zone-a"}, Part: group.Part{Downscale: seen}}, true},
		"another zone has an expired hold":                 {group.Hold{Hold: plan.Hold{Exists: true, Holder: "rollout/zone-b", Renewed: now.Add(-time.Hour), Duration: time.Minute}}, false},
		"another zone has the hold":                        {group.Hold{Hold: plan.Hold{Exists: true, Holder: "rollout/zone-b"}}, false},
		"a person has a manual hold":                       {group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance"}}, false},
		"a manual hold has not expired yet":                {group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance", Renewed: now.Add(-time.Hour), Duration: time.Hour}}, false},
		"a manual hold has expired since":                  {group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance", Renewed: now.Add(-time.Hour - time.Second), Duration: time.Hour}}, true},
		"the hold cannot be read":                          {group.Hold{Hold: plan.Hold{Exists: true, Unreadable: "damaged"}}, false},
	} {
		next, possible := undoneAgain(tc.record, preparing, now)
		undoes := next.Downscale.Stage == group.Undoing && next.Holder == "downscale/zone-a" && next.Renewed.Equal(now) &&
			(next.Transitions == 1) == (tc.record.Holder != next.Holder)
		if possible != tc.want || (tc.want && !undoes) {
			t.Errorf("%s: possible %t with %s under %q, want %t", sentence, possible, next.Downscale, next.Holder, tc.want)
		}
		if dated := next.Downscaled["zone-a"]; dated.Equal(now) != (tc.record.Downscale == seen) {
			t.Errorf("%s: the zone was scaled down at %v", sentence, dated)
		}
	}
}

// undoneAgain returns the record under which a downscale is undone again, or the given record if that is not possible.
func undoneAgain(record group.Hold, d group.Downscale, now time.Time) (group.Hold, bool) {
	part, possible := record.UndoAgain(d, now)
	if !possible {
		return record, false
	}
	next, possible := hold.Resume(record.Record(), part, now)
	return group.HoldOf(next), possible
}

func TestAFailedDownscaleByLockstepIsRemembered(t *testing.T) {
	const scenario = "zone-a rev=2 version=11\n zone-a-0 ready@2 zone-a-1 ready@2\n"
	for sentence, tc := range map[string]struct {
		hold string
		want bool
	}{
		"its update was not carried out in time": {"downscale zone-a from 2 to 1 admitted own since=5s", true},
		"its preparation was undone":             {"downscale zone-a from 2 to 1 undoing own", true},
		"another update came first":              {"downscale zone-a from 2 to 1 admitted own since=4s", false},
		"another client requested it":            {"downscale zone-a from 2 to 1 admitted since=5s", false},
		"it failed a moment ago":                 {"failed zone-a 29s ago\n downscale zone-a from 2 to 1 admitted since=5s", true},
		"it failed some time ago":                {"failed zone-a 30s ago\n downscale zone-a from 2 to 1 admitted since=5s", false},
		"it took effect early":                   {"downscale zone-a from 3 to 2 admitted own since=1h", false},
	} {
		s := fixture.MustParse("live\nhold downscale/zone-a\n " + tc.hold + "\n" + scenario)
		d := hold.Decide(&s, group.Plan(s))
		if _, remembered := group.HoldOf(d.Record).GivenUp["zone-a"]; remembered != tc.want || d.Need != hold.Write {
			t.Errorf("%s: remembered %t, want %t (%s)", sentence, remembered, tc.want, fixture.Decision(d))
		}
	}
}

// An expired hold stays on the Lease, and nothing else causes a write.
func TestARolloutEndsUnderAnExpiredHoldFromOutside(t *testing.T) {
	s := fixture.MustParse("hold manual/x renewed 5h ago\nzone-a rev=1\n  zone-a-0 ready@1")
	s.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now().Add(-time.Hour)}
	d := hold.Decide(&s, nil)
	if d.Need != hold.Write || d.Record.Rollouts.Current.Begun() {
		t.Errorf("got %+v, want that the rollout ends", d)
	}
	if d.Record.Holder != s.Hold.Holder || !d.Record.Renewed.Equal(s.Hold.Renewed) {
		t.Errorf("the holder is %s, renewed at %s, want the expired holder unchanged", d.Record.Holder, d.Record.Renewed)
	}
}

// A renewal needs no live read. Afterwards, the writes of the former process are still unknown.
func TestAProcessThatHasOnlyRenewedAHoldReadsTheGroupBeforeItDeletes(t *testing.T) {
	s := fixture.MustParse("hold rollout/zone-a renewed 20s ago inherited\nzone-a rev=2 current=1\n zone-a-0 starting@2 zone-a-1 ready@1\n" + available)
	renewal := hold.Decide(&s, group.Plan(s))
	if got := fixture.Decision(renewal); got != "write rollout/zone-a" {
		t.Fatalf("got %q, want a renewal", got)
	}
	s.Hold = group.HoldOf(renewal.Record)
	s.Zones[0].Pods[0].Phase = plan.Ready
	steps := group.Plan(s)
	if got := hold.Decide(&s, steps); !plan.Disrupts(steps) || got.Need != hold.ReadLive {
		t.Errorf("got %q, want a live read before\n%s", fixture.Decision(got), plan.Notation(steps))
	}
}
