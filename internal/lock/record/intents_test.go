package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestIntentsAsText(t *testing.T) {
	intent := plan.Intent{
		Zone: "zone-a", Pod: "zone-a-0", UID: "u-1", Version: 18446744073709551615, Cause: reason.OutdatedRevision,
		Since: fixture.Now().Add(1234567 * time.Nanosecond), Trace: "00-abc",
	}
	const want = `{"version":1,"pods":[{"pod":"zone-a-0","zone":"zone-a","uid":"u-1",` +
		`"resourceVersion":"18446744073709551615","cause":"OutdatedRevision","since":"2026-01-05T12:00:00.001Z","trace":"00-abc"}]}`
	if got := record.FormatIntents([]plan.Intent{intent}, nil); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := record.FormatIntents(nil, nil); got != "" {
		t.Errorf("no intents are written as %q", got)
	}
}

func TestIntentsComeBackAsTheyWere(t *testing.T) {
	intents := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.Intent {
		return plan.Intent{
			Zone: rapid.StringN(1, 20, -1).Draw(t, "zone"), Pod: rapid.StringN(1, 20, -1).Draw(t, "pod"),
			UID: rapid.StringN(1, 20, -1).Draw(t, "uid"), Version: plan.Version(rapid.Uint64().Draw(t, "version")),
			Cause: reason.Code(rapid.String().Draw(t, "cause")), Trace: rapid.String().Draw(t, "trace"),
			Since: time.UnixMilli(rapid.Int64Range(-2e12, 4e12).Draw(t, "since")).UTC(),
			From:  rapid.String().Draw(t, "from"), Partition: rapid.String().Draw(t, "partition"),
			Unbound: rapid.Bool().Draw(t, "unbound"), Overtook: rapid.Bool().Draw(t, "overtook"),
		}
	}), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		want := intents.Draw(t, "intents")
		wantDownscale := downscales().Draw(t, "decrease")
		got, gotDownscale, err := parsed(record.FormatIntents(want, record.FormatDownscale(wantDownscale)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(wantDownscale, gotDownscale); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// parsed parses the annotation of the intents of a rollout group.
func parsed(text string) ([]plan.Intent, group.Downscale, error) {
	intents, ofKind, err := record.ParseIntents(text)
	if err != nil {
		return nil, group.Downscale{}, err
	}
	d, err := record.ParseDownscale(ofKind)
	return intents, d, err
}

// downscales draws any downscale that can be recorded, or none.
func downscales() *rapid.Generator[group.Downscale] {
	return rapid.Custom(func(t *rapid.T) group.Downscale {
		if rapid.Bool().Draw(t, "none") {
			return group.Downscale{}
		}
		to := rapid.IntRange(0, 1<<30).Draw(t, "to")
		return group.Downscale{
			Zone: rapid.StringN(1, 20, -1).Draw(t, "zone"), UID: rapid.StringN(1, 20, -1).Draw(t, "uid"),
			Version: plan.Version(rapid.Uint64().Draw(t, "version")), From: to + rapid.IntRange(1, 9).Draw(t, "by"), To: to,
			Generation: rapid.Int64().Draw(t, "generation"),
			Call:       group.Call{Port: rapid.Int().Draw(t, "port"), Path: rapid.String().Draw(t, "path"), Service: rapid.String().Draw(t, "service")},
			Ours:       rapid.Bool().Draw(t, "ours"),
			Stage:      rapid.SampledFrom([]group.Stage{group.Preparing, group.Admitted, group.Undoing}).Draw(t, "stage"),
			Since:      time.UnixMilli(rapid.Int64Range(-2e12, 4e12).Draw(t, "since")).UTC(), Trace: rapid.String().Draw(t, "trace"),
		}
	})
}

func TestAFullHoldFitsIntoAnAnnotation(t *testing.T) {
	var intents []plan.Intent
	for range 100 {
		intents = append(intents, plan.Intent{
			Zone: strings.Repeat("z", 253), Pod: strings.Repeat("p", 253), UID: strings.Repeat("u", 36),
			Version: 1<<64 - 1, Cause: reason.OutdatedRevision, Since: fixture.Now(), Trace: strings.Repeat("t", 55),
		})
	}
	const annotations = 256 << 10 // the limit for all annotations of an object
	if n := len(record.FormatIntents(intents, nil)); n > annotations/2 {
		t.Errorf("100 intents of the longest names take %d bytes", n)
	}
}

func TestTextThatIsNotUnderstoodIsRefused(t *testing.T) {
	entry := func(change string) string {
		fields := `"pod":"p","zone":"z","uid":"u","resourceVersion":"1","cause":"c","since":"2026-01-05T12:00:00Z"`
		old, by, _ := strings.Cut(change, " -> ")
		return `{"version":1,"pods":[{` + strings.Replace(fields, old, by, 1) + `}]}`
	}
	downscale := func(change string) string {
		fields := `"zone":"z","uid":"u","resourceVersion":"1","from":5,"to":3,"stage":"admitted","since":"2026-01-05T12:00:00Z"`
		old, by, _ := strings.Cut(change, " -> ")
		return `{"version":1,"decrease":{` + strings.Replace(fields, old, by, 1) + `}}`
	}
	for sentence, tc := range map[string]struct{ text, says string }{
		"a later version":                             {`{"version":2,"pods":[]}`, "version 2, this build knows version 1 only"},
		"a later version's new field":                 {`{"version":2,"pods":[{"cell":"x"}],"more":true}`, "version 2, this build knows version 1 only"},
		"no version":                                  {`{"pods":[]}`, "version 0"},
		"null":                                        {`null`, "version 0"},
		"no JSON":                                     {`zone-a-0`, "read intents"},
		"half a text":                                 {`{"version":1,"pods":[{"pod":"p"`, "read intents"},
		"two texts":                                   {`{"version":1,"pods":[]}{}`, "read intents"},
		"a list":                                      {`[]`, "read intents"},
		"more pods than can be recorded":              {`{"version":1,"pods":[` + strings.Repeat(`{"pod":"p","zone":"z","uid":"u","resourceVersion":"1"},`, 10*plan.MaxIntents) + `{"pod":"p","zone":"z","uid":"u","resourceVersion":"1"}]}`, "at most 1000"},
		"an unknown field":                            {`{"version":1,"pods":[],"more":true}`, `unknown field "more"`},
		"an unknown field of a pod":                   {entry(`"pod":"p" -> "pod":"p","cell":"x"`), `unknown field "cell"`},
		"a pod without name":                          {entry(`"pod":"p" -> "pod":""`), "entry 0 needs pod, zone, uid and a decimal resourceVersion"},
		"a pod without zone":                          {entry(`"zone":"z", -> `), "entry 0 needs"},
		"a pod without UID":                           {entry(`"uid":"u", -> `), "entry 0 needs"},
		"a pod without version":                       {entry(`"resourceVersion":"1", -> `), "entry 0 needs"},
		"a version that is no number":                 {entry(`"1" -> "abc"`), "entry 0 needs"},
		"a negative version":                          {entry(`"1" -> "-1"`), "entry 0 needs"},
		"a version that is too large":                 {entry(`"1" -> "18446744073709551616"`), "entry 0 needs"},
		"an invalid time":                             {entry(`2026 -> then`), "read intents"},
		"a downscale without zone":                    {downscale(`"zone":"z", -> `), "the decrease needs zone, uid and a decimal resourceVersion"},
		"a downscale that lowers nothing":             {downscale(`"to":3 -> "to":5`), "from 5 to 5 replicas is not a decrease"},
		"a downscale below zero":                      {downscale(`"to":3 -> "to":-1`), "from 5 to -1 replicas is not a decrease"},
		"an unknown stage":                            {downscale(`admitted -> done`), "the decrease is at an unknown stage"},
		"a time of a downscale that UTC cannot write": {downscale(`2026-01-05T12:00:00Z -> 0000-01-01T00:00:00+23:00`), "years 0 to 9999"},
		"an unknown field of a downscale":             {downscale(`"to":3 -> "to":3,"by":2`), `unknown field "by"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			intents, _, err := parsed(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: got %v and error %v, want an error that says %q", tc.text, intents, err, tc.says)
			}
		})
	}
	if intents, _, err := record.ParseIntents(""); err != nil || len(intents) != 0 {
		t.Errorf("no text: %v, %v", intents, err)
	}
	if _, d, err := parsed(downscale(" -> ")); err != nil || d.To != 3 {
		t.Errorf("the downscale that the cases change is refused itself: %v, %v", d, err)
	}
	if intents, _, err := record.ParseIntents(entry(" -> ")); err != nil || len(intents) != 1 {
		t.Errorf("the text that the cases change is refused itself: %v, %v", intents, err)
	}
}

// A text that can be parsed can be written again and then parses to the same value. Any client that may write
// Leases in a namespace can write any text there.
func FuzzIntents(f *testing.F) {
	f.Add(record.FormatIntents([]plan.Intent{fixture.IntentOf("zone-a-0"), fixture.IntentAt("zone-b-1", "u", 7)}, record.FormatDownscale(fixture.Shrinking("zone-a", 5, 3, group.Preparing))))
	f.Add(`{"version":2,"pods":[]}`)
	f.Add(`{"version":1,"pods":[{"pod":"p","zone":"z","uid":"u","resourceVersion":"1","cause":"c","since":"9999-12-31T23:59:59-23:59"}]}`)
	f.Add(`{"version":1,"pods":[{"pod":"p","zone":"z","uid":"u","resourceVersion":"1","cause":"c","since":"0000-01-01T00:00:00+23:59"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		first, downscale, err := record.ParseIntents(text)
		if err != nil {
			return
		}
		written := record.FormatIntents(first, downscale)
		second, sameDownscale, err := record.ParseIntents(written)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, written, err)
		}
		if again := record.FormatIntents(second, sameDownscale); again != written {
			t.Errorf("written as %s, then as %s", written, again)
		}
	})
}

// The status of a pod may contain any time, and other clients can write it.
func TestATimeBeyondTheYearsIsWrittenAsTheNearestThatThereIs(t *testing.T) {
	for sentence, tc := range map[string]struct{ at, want time.Time }{
		"a valid time":     {fixture.Now(), fixture.Now()},
		"after all years":  {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)},
		"after all in UTC": {time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)},
		"before all years": {time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := record.Written(tc.at); !got.Equal(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			rollouts := plan.Rollouts{Current: plan.RolledGroup{Since: fixture.Now(), Zones: []plan.RolledZone{{
				Name: "zone-a", UID: "u", Since: fixture.Now(), Pods: []plan.RolledPod{{Name: "zone-a-0", UID: "p", Ready: tc.at}},
			}}}}
			back := record.ParseRollouts(record.FormatRollouts(rollouts))
			if !back.Current.Begun() || !back.Current.Zones[0].Pods[0].Ready.Equal(tc.want) {
				t.Errorf("remembered as %+v", back)
			}
		})
	}
}

func TestTimesAndPlacesComeBackAsTheyWere(t *testing.T) {
	at := fixture.Now().Add(5 * time.Millisecond)
	times := map[string]time.Time{"zone-a": at, "zone-b": at.Add(-time.Hour)}
	got, err := record.ParseTimes(record.FormatTimes(times))
	if diff := cmp.Diff(times, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got)\n%s", err, diff)
	}
	for _, text := range []string{"yesterday", `{"zone-a":"yesterday"}`, `["zone-a"]`, `{"zone-a":"9999-12-31T23:59:59-23:59"}`} {
		if times, err := record.ParseTimes(text); err == nil {
			t.Errorf("%s is read as %v", text, times)
		}
	}
	queue := []plan.Waiting{{Operation: plan.DownscaleOperation, Zone: "zone-b", Since: at, LastSeen: at.Add(time.Second)}}
	if diff := cmp.Diff(queue, record.ParseWaiting(record.FormatWaiting(queue))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if queue := record.ParseWaiting(`[{"operation":"downscale"}`); queue != nil {
		t.Errorf("damaged text gives places: %v", queue)
	}
}
