package record_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"

func TestRolloutsAsText(t *testing.T) {
	at := func(seconds int) time.Time { return fixture.Now().Add(time.Duration(seconds) * time.Second) }
	finished := plan.RolledGroup{Since: at(-100), Until: at(-50), Exported: true}
	current := plan.RolledGroup{
		Trace: traceparent, Since: at(0), Zones: []plan.RolledZone{{
			Name: "zone-a", UID: "u", From: "1", To: "2", Budget: 3, Since: at(0), Until: at(9), Replaced: 1,
			Pods: []plan.RolledPod{{
				Name: "zone-a-0", UID: "p", Cause: reason.OutdatedRevision, Deleted: at(1).Add(1234567), Recreated: at(2), Ready: at(3), Seen: true,
			}, {
				Name: "db-1", UID: "q", Successor: "db-2", Open: true, Cause: reason.UpdatedByNewIdentity, Deleted: at(1), Recreated: at(2),
			}},
		}},
	}
	const want = `{"version":1,"current":{"trace":"` + traceparent + `","since":"2026-01-05T12:00:00Z","zones":[` +
		`{"name":"zone-a","uid":"u","from":"1","to":"2","budget":3,"since":"2026-01-05T12:00:00Z","until":"2026-01-05T12:00:09Z","replaced":1,` +
		`"pods":[{"name":"zone-a-0","uid":"p","cause":"OutdatedRevision","deleted":"2026-01-05T12:00:01.001Z",` +
		`"recreated":"2026-01-05T12:00:02Z","ready":"2026-01-05T12:00:03Z","seen":true},` +
		`{"name":"db-1","uid":"q","successor":"db-2","open":true,"cause":"UpdatedByNewIdentity","deleted":"2026-01-05T12:00:01Z",` +
		`"recreated":"2026-01-05T12:00:02Z"}]}]},` +
		`"finished":[{"since":"2026-01-05T11:58:20Z","until":"2026-01-05T11:59:10Z","exported":true}]}`
	if diff := cmp.Diff(want, record.FormatRollouts(plan.Rollouts{Current: current, Finished: []plan.RolledGroup{finished}})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := record.FormatRollouts(plan.Rollouts{}); got != "" {
		t.Errorf("nothing is written as %q", got)
	}
}

func TestRolloutsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want plan.Rollouts
		if rapid.Bool().Draw(t, "one is under way") {
			want.Current = rolled(t, false)
		}
		for range rapid.IntRange(0, 3).Draw(t, "finished") {
			want.Finished = append(want.Finished, rolled(t, true))
		}
		for range rapid.IntRange(0, 2).Draw(t, "replacements") {
			for _, z := range rolled(t, true).Zones {
				for _, p := range z.Pods {
					want.Replacements = append(want.Replacements, plan.Replacement{Trace: traceparent, RolledPod: p})
				}
			}
		}
		if diff := cmp.Diff(want, record.ParseRollouts(record.FormatRollouts(want))); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// rolled draws a rollout.
func rolled(t *rapid.T, over bool) plan.RolledGroup {
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(-2e12, 4e12).Draw(t, "at")).UTC()
	})
	perhaps := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "not yet") {
			return time.Time{}
		}
		return moment.Draw(t, "at")
	})
	name, text := rapid.StringMatching(`[a-z0-9.-]{1,20}`), rapid.StringMatching(`[A-Za-z0-9.-]{0,20}`)
	r := plan.RolledGroup{
		Trace: rapid.SampledFrom([]string{"", traceparent}).Draw(t, "trace"), Since: moment.Draw(t, "since"), Exported: rapid.Bool().Draw(t, "exported"),
	}
	if over {
		r.Until = moment.Draw(t, "until")
	}
	for range rapid.IntRange(0, 3).Draw(t, "zones") {
		z := plan.RolledZone{
			Name: name.Draw(t, "zone"), UID: text.Draw(t, "uid"), From: text.Draw(t, "from"),
			To: text.Draw(t, "to"), Budget: rapid.Int().Draw(t, "budget"), Since: moment.Draw(t, "since"),
			Until: perhaps.Draw(t, "until"), Replaced: rapid.Int().Draw(t, "replaced"), Exported: rapid.Bool().Draw(t, "exported"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "pods") {
			z.Pods = append(z.Pods, plan.RolledPod{
				Name: name.Draw(t, "pod"), UID: text.Draw(t, "uid"), Successor: text.Draw(t, "successor"), Open: rapid.Bool().Draw(t, "open"), Cause: reason.Code(text.Draw(t, "cause")),
				Deleted: moment.Draw(t, "deleted"), Recreated: moment.Draw(t, "recreated"), Ready: perhaps.Draw(t, "ready"), Seen: rapid.Bool().Draw(t, "seen"),
			})
		}
		r.Zones = append(r.Zones, z)
	}
	return r
}

func TestRolloutsThatCannotBeReadAreNotRemembered(t *testing.T) {
	const readable = `{"version":1,"current":{"since":"2026-01-05T12:00:00Z","zones":[{"name":"z","uid":"u","since":"2026-01-05T12:00:00Z"}]}}`
	if !record.ParseRollouts(readable).Current.Begun() {
		t.Fatal("the text that the cases change is not read itself")
	}
	for sentence, change := range map[string]string{
		"a later version":                  `"version":1 -> "version":2`,
		"no version":                       `"version":1, -> `,
		"half a text":                      `]}} -> `,
		"an invalid time":                  `"2026-01-05T12:00:00Z" -> "then"`,
		"a time beyond all years":          `"2026-01-05T12:00:00Z" -> "9999-12-31T23:59:59-23:59"`,
		"a rollout without a beginning":    `{"since":"2026-01-05T12:00:00Z", -> {`,
		"a zone without name":              `"name":"z" -> "name":""`,
		"an invalid trace":                 `"current":{ -> "current":{"trace":"00-abc-01",`,
		"a trace of zeros":                 `"current":{ -> "current":{"trace":"00-00000000000000000000000000000000-0123456789abcdef-01",`,
		"a name to be escaped":             `"name":"z" -> "name":"<"`,
		"a name beyond all names":          `"name":"z" -> "name":"` + strings.Repeat("z", 254) + `"`,
		"a revision to be escaped":         `"uid":"u" -> "uid":"u","from":"\u0001"`,
		"a UID that is no ASCII":           `"uid":"u" -> "uid":"ü"`,
		"more than is ever written":        `"version":1 -> ` + strings.Repeat(" ", 96<<10) + `"version":1`,
		"a current rollout that has ended": `"current":{ -> "current":{"until":"2026-01-05T12:00:00Z",`,
	} {
		t.Run(sentence, func(t *testing.T) {
			old, by, _ := strings.Cut(change, " -> ")
			if got := record.ParseRollouts(strings.Replace(readable, old, by, 1)); got.Current.Begun() || len(got.Finished) > 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A text that can be parsed can be written again, then parses to the same value, and leaves room for the
// other annotations. Any client that may write Leases in a namespace can write any text there.
func FuzzRollouts(f *testing.F) {
	f.Add(`{"version":1,"current":{"since":"2026-01-05T12:00:00Z","zones":[{"name":"z","uid":"u","since":"2026-01-05T12:00:00Z"}]}}`)
	f.Add(`{"version":1,"finished":[{"since":"0000-01-01T00:00:00+23:59","until":"9999-12-31T23:59:59-23:59"}]}`)
	f.Add(`{"version":1,"current":{"trace":"` + strings.Repeat("<", 60000) + `","since":"2026-01-05T12:00:00Z"}}`)
	f.Add(`{"version":1,"current":{"since":"0001-01-01T00:00:00.0001Z"},"finished":[{"since":"2026-01-05T12:00:00Z","until":"0001-01-01T00:00:00.0001Z"}]}`)
	f.Add(`{"version":1,"current":{"trace":"` + traceparent + `","since":"2026-01-05T12:00:00Z"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		read := record.ParseRollouts(text)
		written := record.FormatRollouts(read)
		if again := record.FormatRollouts(record.ParseRollouts(written)); again != written {
			t.Errorf("%q is written again as %s, and then as %s", text, written, again)
		}
		if len(read.Finished) > history.MaxFinished || len(written) > record.MaxRollouts {
			t.Errorf("%d bytes are written again as %d, with %d rollouts", len(text), len(written), len(read.Finished))
		}
		for _, group := range append(read.Finished, read.Current) {
			if group.Trace != "" && !telemetry.SpanOf(group.Trace).IsValid() {
				t.Errorf("%q is read as a trace", group.Trace)
			}
		}
	})
}

// The largest possible record has the longest names. The name of a pod is the value of a label, which limits
// the names of zones with pods, and their revisions.
func TestAFullMemoryFitsIntoAnAnnotation(t *testing.T) {
	at := fixture.Now().Add(999 * time.Millisecond)
	var many plan.Rollouts
	for range 2 * history.MaxFinished {
		group := plan.RolledGroup{Trace: traceparent, Since: at, Until: at, Exported: true}
		for range history.MaxZones / (history.MaxFinished + 1) {
			zone := plan.RolledZone{
				Name: strings.Repeat("z", 63), UID: strings.Repeat("u", 36), From: strings.Repeat("f", 63), To: strings.Repeat("t", 63),
				Budget: math.MaxInt32, Replaced: math.MaxInt32, Since: at, Until: at, Exported: true,
			}
			for range history.MaxPods {
				zone.Pods = append(zone.Pods, plan.RolledPod{
					Name: strings.Repeat("p", 63), UID: strings.Repeat("u", 36), Successor: strings.Repeat("s", 63), Cause: reason.UpdatedByNewIdentity,
					Deleted: at, Recreated: at, Ready: at, Seen: true,
				})
			}
			group.Zones = append(group.Zones, zone)
		}
		many.Finished = append(many.Finished, group)
	}
	for range 2 * history.MaxPods {
		many.Replacements = append(many.Replacements, plan.Replacement{Trace: traceparent, RolledPod: many.Finished[0].Zones[0].Pods[0]})
	}
	many.Current, many.Current.Until = many.Finished[0], time.Time{}
	for len(many.Current.Zones) < history.MaxZones-history.MaxFinished*len(many.Finished[0].Zones) {
		many.Current.Zones = append(many.Current.Zones, many.Current.Zones[0])
	}
	if full := history.Bounded(many); len(full.Replacements) > 0 {
		t.Errorf("%d replacements are recorded beside the most pods of rollouts", len(full.Replacements))
	}
	for _, group := range append(many.Finished, many.Current) {
		for i := range group.Zones {
			group.Zones[i].Pods = nil // a replacement takes more bytes than a pod of a rollout
		}
	}
	full := history.Bounded(many)
	if len(full.Replacements) != history.MaxPods {
		t.Fatalf("%d replacements are recorded, want %d", len(full.Replacements), history.MaxPods)
	}
	if len(full.Finished) != history.MaxFinished {
		t.Fatalf("%d finished rollouts with the longest names are recorded, want %d", len(full.Finished), history.MaxFinished)
	}
	if n := len(record.FormatRollouts(full)); n > record.MaxRollouts || n < record.MaxRollouts*9/10 {
		t.Errorf("the largest record takes %d bytes, want at most %d", n, record.MaxRollouts)
	}
	if diff := cmp.Diff(full, record.ParseRollouts(record.FormatRollouts(full)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the largest record reads differently (-want +got)\n%s", diff)
	}
}

// If its annotations were too long, the Lease could not be written, which would block the group. Characters
// that JSON escapes take more bytes once they are written again.
func TestRolloutsOfUnknownNamesAreNotRemembered(t *testing.T) {
	for _, letter := range []string{"z", "<"} {
		text := `{"version":1,"current":{"since":"2026-01-05T12:00:00Z","zones":[{"name":"` + strings.Repeat(letter, record.MaxRollouts/4) + `","uid":"u","since":"2026-01-05T12:00:00Z"}]}}`
		if read := record.ParseRollouts(text); len(record.FormatRollouts(read)) > record.MaxRollouts {
			t.Errorf("%d bytes are read, and written again as %d", len(text), len(record.FormatRollouts(read)))
		}
	}
}

// A user acquired the hold manually while a pod was being replaced, and never released it.
func TestAnAbandonedRolloutEndsAlthoughAnIntentOfItIsRecorded(t *testing.T) {
	s := fixture.MustParse("hold manual/x renewed 5h ago\nzone-a rev=1\n  zone-a-0 ready@1")
	s.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now().Add(-6 * time.Hour)}
	s.Hold.Intents = []plan.Intent{{
		Zone: "zone-a", Pod: "zone-a-0", UID: "former", Version: 1, Cause: reason.OutdatedRevision, Since: fixture.Now().Add(-5 * time.Hour),
	}}
	if d := hold.Decide(&s, group.Plan(s)); d.Need != hold.Write || d.Record.Rollouts.Current.Begun() {
		t.Errorf("got %+v, want a write by which the rollout ends", d)
	}
}
