package hold_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestWhoAgreedComesBackAsNoted(t *testing.T) {
	at := fixture.Now().Add(5 * time.Millisecond)
	agreed := map[string][]plan.Stretch{
		"zone-a": {{From: 0, To: 3, Since: at}, {From: 3, To: 4, Since: at.Add(time.Hour)}, {From: 9, To: 10, Since: at}},
		"zone-b": {{From: 1, To: 2, Since: at}},
	}
	if diff := cmp.Diff(agreed, hold.ParseAgreed(hold.FormatAgreed(agreed))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := hold.FormatAgreed(map[string][]plan.Stretch{"zone-a": nil}); text != "" {
		t.Errorf("nobody is written as %s", text)
	}
}

func TestWhoeverCannotBeReadHasNotAgreed(t *testing.T) {
	const since = `"since":"2026-01-05T12:00:00Z"`
	many := make([]string, plan.MaxStretches+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"from":%d,"to":%d,%s}`, 2*i, 2*i+1, since)
	}
	for sentence, text := range map[string]string{
		"nothing":                   "",
		"no JSON":                   "zone-a",
		"a list":                    "[]",
		"null":                      "null",
		"no stretches":              `{"zone-a":[]}`,
		"a stretch without end":     `{"zone-a":[{"from":1,` + since + `}]}`,
		"an empty stretch":          `{"zone-a":[{"from":1,"to":1,` + since + `}]}`,
		"a place below the first":   `{"zone-a":[{"from":-1,"to":1,` + since + `}]}`,
		"stretches that overlap":    `{"zone-a":[{"from":1,"to":3,` + since + `},{"from":2,"to":4,` + since + `}]}`,
		"stretches that descend":    `{"zone-a":[{"from":3,"to":4,` + since + `},{"from":1,"to":2,` + since + `}]}`,
		"no time":                   `{"zone-a":[{"from":1,"to":2}]}`,
		"a time that is none":       `{"zone-a":[{"from":1,"to":2,"since":"yesterday"}]}`,
		"a time before all clocks":  `{"zone-a":[{"from":1,"to":2,"since":"1969-12-31T23:59:59Z"}]}`,
		"a time that is not a year": `{"zone-a":[{"from":1,"to":2,"since":"9999-12-31T23:59:59-23:59"}]}`,
		"a number that is none":     `{"zone-a":[{"from":1,"to":99999999999999999999,` + since + `}]}`,
		"more than there can be":    `{"zone-a":[` + strings.Join(many, ",") + `]}`,
		"no zone":                   `{"":[{"from":1,"to":2,` + since + `}]}`,
	} {
		if got := hold.ParseAgreed(text); got != nil {
			t.Errorf("%s is read as %v", sentence, got)
		}
	}
	one := hold.ParseAgreed(`{"zone-a":[{"from":1,"to":1,` + since + `}],"zone-b":[{"from":1,"to":2,` + since + `}]}`)
	if len(one) != 1 || len(one["zone-b"]) != 1 {
		t.Errorf("one zone that cannot be read costs another: %v", one)
	}
}

func TestWhoAgreedTakesLittleRoom(t *testing.T) {
	var all []plan.Stretch
	for i := range plan.MaxStretches {
		all = append(all, plan.Stretch{From: 1e6 + 2*i, To: 1e6 + 2*i + 1, Since: fixture.Now().Add(time.Millisecond)})
	}
	const annotations = 256 << 10 // all annotations of an object together
	if n := len(hold.FormatAgreed(map[string][]plan.Stretch{strings.Repeat("z", 253): all})); n > annotations/30 {
		t.Errorf("the fullest record of a zone takes %d bytes", n)
	}
}

func FuzzAgreed(f *testing.F) {
	f.Add(`{"zone-a":[{"from":1,"to":2,"since":"2026-01-05T12:00:00+01:00"},{"from":2,"to":9,"since":"2026-01-05T12:00:00.123456Z"}]}`)
	f.Add(`{"zone-a":[{"from":0,"to":1,"since":"9999-12-31T23:59:59Z"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		written := hold.FormatAgreed(hold.ParseAgreed(text))
		if again := hold.FormatAgreed(hold.ParseAgreed(written)); again != written {
			t.Errorf("written as %s, then as %s", written, again)
		}
	})
}

const left = "zone-a rev=2 mirror=web asks=0 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n told leave zone-a-0 ago=1s\n"

// Who agreed is noted without the hold being taken, prolonged for others or looked at.
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
		d := hold.Cover(s, plan.Group(s))
		if got := fixture.Decision(d); got != tc.want {
			t.Errorf("%s: %s, want %s", sentence, got, tc.want)
		}
		if d.Verdict != hold.Write {
			continue
		}
		want := []plan.Stretch{{From: 0, To: 1, Since: s.Now.Add(-time.Second)}}
		if diff := cmp.Diff(want, d.Record.Agreed["zone-a"]); diff != "" || d.Record.Own != s.Hold.Own || d.Record.Transitions != 0 {
			t.Errorf("%s: %+v\n(-want +got)\n%s", sentence, d.Record, diff)
		}
		if prolongs := d.Record.Renewed.Equal(s.Now); prolongs != tc.prolongs {
			t.Errorf("%s: prolonged %t, want %t", sentence, prolongs, tc.prolongs)
		}
	}
}

func TestANoteOfWhoAgreedGoesWithWhateverIsWritten(t *testing.T) {
	for sentence, group := range map[string]string{
		"a takedown":          "live\nhold free\n" + left + outdated2,
		"the hold given back": "hold rollout/zone-b\n" + left + "zone-b rev=2\n zone-b-0 ready@2\n",
		"a renewal":           "hold rollout/zone-b renewed 30s ago\n" + left + "zone-b rev=2\n zone-b-0 starting@2\n",
	} {
		s := fixture.MustParse(group)
		if d := hold.Cover(s, plan.Group(s)); d.Verdict != hold.Write || len(d.Record.Agreed["zone-a"]) != 1 {
			t.Errorf("%s: %s notes %v", sentence, fixture.Decision(d), d.Record.Agreed)
		}
	}
}

const outdated2 = "zone-b rev=2 current=1\n zone-b-0 ready@1\n"
