package hold_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestWhoAgreedComesBackAsNoted(t *testing.T) {
	at := fixture.Now().Add(5 * time.Millisecond)
	agreed := map[string]group.DelayRecord{
		"zone-a": {
			OrdinalRanges: []group.OrdinalRange{
				{From: 0, To: 3, Pods: "Abcd-1Abcd_1Abcd-2", Since: at}, {From: 3, To: 4, Pods: "______", Since: at.Add(time.Hour)}, {From: 9, To: 10, Pods: "000000", Since: at},
			},
			Call: group.Call{TLS: true, Port: 8080, Path: "/leave?a=b", Service: "app"},
		},
		"zone-b": {OrdinalRanges: []group.OrdinalRange{group.StretchOf("zone-b-1", 1, at)}, Call: group.Call{Port: 1, Path: "/", Service: "b"}, Over: true},
	}
	if diff := cmp.Diff(agreed, hold.ParseAcknowledged(hold.FormatAcknowledged(agreed))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := hold.FormatAcknowledged(map[string]group.DelayRecord{"zone-a": {Over: true}}); text != "" {
		t.Errorf("nobody is written as %s", text)
	}
}

func TestWhoeverCannotBeReadHasNotAgreed(t *testing.T) {
	const (
		whenever = `"since":"2026-01-05T12:00:00Z"`
		since    = whenever + `,"pods":"abcdef"`
	)
	many := make([]string, group.MaxOrdinalRanges+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"from":%d,"to":%d,%s}`, 2*i, 2*i+1, since)
	}
	for sentence, text := range map[string]string{
		"nothing":                   "",
		"no JSON":                   "zone-a",
		"a list":                    "[]",
		"null":                      "null",
		"no stretches":              `{"zone-a":{"pods":[]}}`,
		"a stretch without end":     `{"zone-a":{"pods":[{"from":1,` + since + `}]}}`,
		"an empty stretch":          `{"zone-a":{"pods":[{"from":1,"to":1,` + since + `}]}}`,
		"a place below the first":   `{"zone-a":{"pods":[{"from":-1,"to":1,` + since + `}]}}`,
		"stretches that overlap":    `{"zone-a":{"pods":[{"from":1,"to":3,` + since + `},{"from":2,"to":4,` + since + `}]}}`,
		"stretches that descend":    `{"zone-a":{"pods":[{"from":3,"to":4,` + since + `},{"from":1,"to":2,` + since + `}]}}`,
		"no time":                   `{"zone-a":{"pods":[{"from":1,"to":2}]}}`,
		"a time that is none":       `{"zone-a":{"pods":[{"from":1,"to":2,"since":"yesterday"}]}}`,
		"a time before all clocks":  `{"zone-a":{"pods":[{"from":1,"to":2,"since":"1969-12-31T23:59:59Z"}]}}`,
		"a time that is not a year": `{"zone-a":{"pods":[{"from":1,"to":2,"since":"9999-12-31T23:59:59-23:59"}]}}`,
		"a number that is none":     `{"zone-a":{"pods":[{"from":1,"to":99999999999999999999,` + since + `}]}}`,
		"more than there can be":    `{"zone-a":{"pods":[` + strings.Join(many, ",") + `]}}`,
		"a form of former days":     `{"zone-a":[{"from":1,"to":2,` + since + `}]}`,
		"nobody in particular":      `{"zone-a":{"pods":[{"from":1,"to":2,` + whenever + `}]}}`,
		"fewer pods than places":    `{"zone-a":{"pods":[{"from":1,"to":3,` + since + `}]}}`,
		"more pods than places":     `{"zone-a":{"pods":[{"from":1,"to":2,` + whenever + `,"pods":"abcdefghijkl"}]}}`,
		"half a pod":                `{"zone-a":{"pods":[{"from":1,"to":2,` + whenever + `,"pods":"abc"}]}}`,
		"no mark":                   `{"zone-a":{"pods":[{"from":1,"to":2,` + whenever + `,"pods":"abc=ef"}]}}`,
		"too many pods":             `{"zone-a":{"pods":[{"from":0,"to":1001,` + whenever + `,"pods":"` + strings.Repeat("abcdef", group.MaxAcknowledged+1) + `"}]}}`,
		"no zone":                   `{"":{"pods":[{"from":1,"to":2,` + since + `}]}}`,
	} {
		if got := hold.ParseAcknowledged(text); got != nil {
			t.Errorf("%s is read as %v", sentence, got)
		}
	}
	one := hold.ParseAcknowledged(`{"zone-a":{"pods":[{"from":1,"to":1,` + since + `}]},"zone-b":{"pods":[{"from":1,"to":2,` + since + `}]}}`)
	if len(one) != 1 || len(one["zone-b"].OrdinalRanges) != 1 {
		t.Errorf("one zone that cannot be read costs another: %v", one)
	}
}

func TestWhoAgreedTakesLittleRoom(t *testing.T) {
	const annotations = 256 << 10 // the limit for all annotations of an object
	for pods, most := range map[int]int{300: 16 << 10, group.MaxAcknowledged: annotations / 16} {
		var all []group.OrdinalRange
		each := pods / group.MaxOrdinalRanges
		for i := range group.MaxOrdinalRanges {
			from := 1_000_000 + i*2*each
			all = append(all, group.OrdinalRange{From: from, To: from + each, Pods: strings.Repeat("abcdef", each), Since: fixture.Now().Add(time.Millisecond)})
		}
		if n := len(hold.FormatAcknowledged(map[string]group.DelayRecord{strings.Repeat("z", 253): {OrdinalRanges: all, Call: group.Call{TLS: true, Port: 65535, Path: "/" + strings.Repeat("p", 1000), Service: strings.Repeat("s", 63)}}})); n > most {
			t.Errorf("the fullest record of %d pods takes %d bytes, want no more than %d", pods, n, most)
		}
	}
}

// If its annotations were too large, a Lease could not be written any more.
func TestAGroupOfManyZonesOfWhichAllPodsAgreedIsNotedInOneLease(t *testing.T) {
	const half = 128 << 10 // half the limit for all annotations of an object
	s := fixture.Group(fixture.Held(""))
	for n := range 30 {
		zone := fixture.Zone(fmt.Sprintf("zone-%d", n), "1", fixture.Mirrors("web", 0), fixture.Delays(time.Hour))
		zone(&s)
		z := &s.Zones[n]
		z.Told = map[string]group.Told{}
		z.Replicas = group.MaxAcknowledged
		for i := range z.Replicas {
			fixture.Pod(i, plan.Ready, "1")(z)
			z.Pods[i].IP = "10.0.0.1"
			at := s.Now.Add(-time.Duration(i*7919%1000) * time.Second)
			z.Told[z.Pods[i].UID] = group.Told{Message: group.Leave, Call: z.Delay.Call, Ready: z.Pods[i].ReadySince, At: at, Since: at}
		}
	}
	noted := map[string]group.DelayRecord{}
	for _, step := range group.Plan(s) {
		if note, is := step.(group.RecordAcknowledged); is {
			noted[note.Zone] = note.Acknowledged
		}
	}
	if len(noted) != len(s.Zones) {
		t.Errorf("pods of %d zones are noted, want those of %d", len(noted), len(s.Zones))
	}
	if n := len(hold.FormatAcknowledged(noted)); n > half {
		t.Errorf("they take %d bytes, want no more than %d", n, half)
	}
}

func FuzzAgreed(f *testing.F) {
	f.Add(`{"zone-a":{"pods":[{"from":1,"to":2,"pods":"abcdef","since":"2026-01-05T12:00:00+01:00"},{"from":2,"to":4,"pods":"abcdef------","since":"2026-01-05T12:00:00.123456Z"}]}}`)
	f.Add(`{"zone-a":{"pods":[{"from":0,"to":1,"pods":"abcdef","since":"9999-12-31T23:59:59Z"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		written := hold.FormatAcknowledged(hold.ParseAcknowledged(text))
		if again := hold.FormatAcknowledged(hold.ParseAcknowledged(written)); again != written {
			t.Errorf("written as %s, then as %s", written, again)
		}
	})
}

const left = "zone-a rev=2 mirror=web asks=0 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n told leave zone-a-0 ago=1s\n"

// lockstep records which pods acknowledged without a live read. It does not take the hold for that, and does
// not prolong a hold from outside.
func TestANoteOfWhoAgreedLeavesTheHoldAsItIs(t *testing.T) {
	for sentence, tc := range map[string]struct {
		group, want string
		prolongs    bool
	}{
		"a free hold":                      {"hold free renewed 5h ago\n", "write free", true},
		"no Lease":                         {"", "look live", false},
		"no Lease, after a look":           {"live\n", "write free", true},
		"the hold of another zone":         {"hold rollout/zone-b renewed 5s ago inherited\nzone-b rev=2\n zone-b-0 starting@2\n", "write rollout/zone-b", true},
		"a hold from outside":              {"hold manual/x renewed 5s ago\n", "write manual/x", false},
		"an expired one":                   {"hold manual/x renewed 5h ago\n", "write manual/x", false},
		"a hold that cannot be read":       {"hold free unreadable=damaged\n", "as it is", false},
		"an intent that waits for its end": {"hold rollout/zone-b\n noted zone-b-0 version=20\nzone-b rev=2\n zone-b-0 ready@2\n", "write rollout/zone-b with zone-b-0", true},
	} {
		s := fixture.MustParse(tc.group + left)
		d := hold.Decide(s, group.Plan(s))
		if got := fixture.Decision(d); got != tc.want {
			t.Errorf("%s: %s, want %s", sentence, got, tc.want)
		}
		if d.Need != hold.Write {
			continue
		}
		want := []group.OrdinalRange{group.StretchOf("zone-a-0", 0, s.Now.Add(-time.Second))}
		if diff := cmp.Diff(want, d.Record.Acknowledged["zone-a"].OrdinalRanges); diff != "" || d.Record.Own != s.Hold.Own || d.Record.Transitions != 0 {
			t.Errorf("%s: %+v\n(-want +got)\n%s", sentence, d.Record, diff)
		}
		if prolongs := d.Record.Renewed.Equal(s.Now); prolongs != tc.prolongs {
			t.Errorf("%s: prolonged %t, want %t", sentence, prolongs, tc.prolongs)
		}
	}
}

func TestANoteOfWhoAgreedGoesWithWhateverIsWritten(t *testing.T) {
	for sentence, scenario := range map[string]string{
		"a takedown":          "live\nhold free\n" + left + outdated2,
		"the hold given back": "hold rollout/zone-b\n" + left + "zone-b rev=2\n zone-b-0 ready@2\n",
		"a renewal":           "hold rollout/zone-b renewed 30s ago\n" + left + "zone-b rev=2\n zone-b-0 starting@2\n",
	} {
		s := fixture.MustParse(scenario)
		if d := hold.Decide(s, group.Plan(s)); d.Need != hold.Write || len(d.Record.Acknowledged["zone-a"].OrdinalRanges) != 1 {
			t.Errorf("%s: %s notes %v", sentence, fixture.Decision(d), d.Record.Acknowledged)
		}
	}
}

const outdated2 = "zone-b rev=2 current=1\n zone-b-0 ready@1\n"
