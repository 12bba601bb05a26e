package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestAcknowledgementsSurviveARoundTrip(t *testing.T) {
	at := fixture.Now().Add(5 * time.Millisecond)
	acknowledged := map[string]group.DelayRecord{
		"zone-a": {
			OrdinalRanges: []group.OrdinalRange{
				{From: 0, To: 3, Pods: "Abcd-1Abcd_1Abcd-2", Since: at}, {From: 3, To: 4, Pods: "______", Since: at.Add(time.Hour)}, {From: 9, To: 10, Pods: "000000", Since: at},
			},
			Call: group.Call{TLS: true, Port: 8080, Path: "/leave?a=b", Service: "app"},
		},
		"zone-b": {OrdinalRanges: []group.OrdinalRange{group.OrdinalRangeOf("zone-b-1", 1, at)}, Call: group.Call{Port: 1, Path: "/", Service: "b"}, Over: true},
	}
	if diff := cmp.Diff(acknowledged, record.ParseAcknowledged(record.FormatAcknowledged(acknowledged))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := record.FormatAcknowledged(map[string]group.DelayRecord{"zone-a": {Over: true}}); text != "" {
		t.Errorf("no pods are written as %s", text)
	}
}

func TestUnreadableAcknowledgementsDoNotCount(t *testing.T) {
	const (
		timeOnly = `"since":"2026-01-05T12:00:00Z"`
		since    = timeOnly + `,"pods":"abcdef"`
	)
	many := make([]string, group.MaxOrdinalRanges+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"from":%d,"to":%d,%s}`, 2*i, 2*i+1, since)
	}
	for sentence, text := range map[string]string{
		"nothing":                          "",
		"no JSON":                          "zone-a",
		"a list":                           "[]",
		"null":                             "null",
		"no ordinal ranges":                `{"zone-a":{"pods":[]}}`,
		"an ordinal range without an end":  `{"zone-a":{"pods":[{"from":1,` + since + `}]}}`,
		"an empty ordinal range":           `{"zone-a":{"pods":[{"from":1,"to":1,` + since + `}]}}`,
		"an ordinal below the first":       `{"zone-a":{"pods":[{"from":-1,"to":1,` + since + `}]}}`,
		"ordinal ranges that overlap":      `{"zone-a":{"pods":[{"from":1,"to":3,` + since + `},{"from":2,"to":4,` + since + `}]}}`,
		"ordinal ranges that descend":      `{"zone-a":{"pods":[{"from":3,"to":4,` + since + `},{"from":1,"to":2,` + since + `}]}}`,
		"no time":                          `{"zone-a":{"pods":[{"from":1,"to":2}]}}`,
		"an invalid time":                  `{"zone-a":{"pods":[{"from":1,"to":2,"since":"yesterday"}]}}`,
		"a time before all clocks":         `{"zone-a":{"pods":[{"from":1,"to":2,"since":"1969-12-31T23:59:59Z"}]}}`,
		"a time that is not a year":        `{"zone-a":{"pods":[{"from":1,"to":2,"since":"9999-12-31T23:59:59-23:59"}]}}`,
		"an invalid number":                `{"zone-a":{"pods":[{"from":1,"to":99999999999999999999,` + since + `}]}}`,
		"more ordinal ranges than allowed": `{"zone-a":{"pods":[` + strings.Join(many, ",") + `]}}`,
		"the format of a former version":   `{"zone-a":[{"from":1,"to":2,` + since + `}]}`,
		"no pods":                          `{"zone-a":{"pods":[{"from":1,"to":2,` + timeOnly + `}]}}`,
		"fewer pods than ordinals":         `{"zone-a":{"pods":[{"from":1,"to":3,` + since + `}]}}`,
		"more pods than ordinals":          `{"zone-a":{"pods":[{"from":1,"to":2,` + timeOnly + `,"pods":"abcdefghijkl"}]}}`,
		"half a pod":                       `{"zone-a":{"pods":[{"from":1,"to":2,` + timeOnly + `,"pods":"abc"}]}}`,
		"an invalid mark":                  `{"zone-a":{"pods":[{"from":1,"to":2,` + timeOnly + `,"pods":"abc=ef"}]}}`,
		"too many pods":                    `{"zone-a":{"pods":[{"from":0,"to":1001,` + timeOnly + `,"pods":"` + strings.Repeat("abcdef", group.MaxAcknowledged+1) + `"}]}}`,
		"no zone":                          `{"":{"pods":[{"from":1,"to":2,` + since + `}]}}`,
	} {
		if got := record.ParseAcknowledged(text); got != nil {
			t.Errorf("%s is read as %v", sentence, got)
		}
	}
	one := record.ParseAcknowledged(`{"zone-a":{"pods":[{"from":1,"to":1,` + since + `}]},"zone-b":{"pods":[{"from":1,"to":2,` + since + `}]}}`)
	if len(one) != 1 || len(one["zone-b"].OrdinalRanges) != 1 {
		t.Errorf("an unreadable zone prevents that another zone is read: %v", one)
	}
}

func TestAcknowledgementsTakeLittleSpace(t *testing.T) {
	const annotations = 256 << 10 // the limit for all annotations of an object
	for pods, most := range map[int]int{300: 16 << 10, group.MaxAcknowledged: annotations / 16} {
		var all []group.OrdinalRange
		each := pods / group.MaxOrdinalRanges
		for i := range group.MaxOrdinalRanges {
			from := 1_000_000 + i*2*each
			all = append(all, group.OrdinalRange{From: from, To: from + each, Pods: strings.Repeat("abcdef", each), Since: fixture.Now().Add(time.Millisecond)})
		}
		if n := len(record.FormatAcknowledged(map[string]group.DelayRecord{strings.Repeat("z", 253): {OrdinalRanges: all, Call: group.Call{TLS: true, Port: 65535, Path: "/" + strings.Repeat("p", 1000), Service: strings.Repeat("s", 63)}}})); n > most {
			t.Errorf("the fullest record of %d pods takes %d bytes, want no more than %d", pods, n, most)
		}
	}
}

// If its annotations were too large, a Lease could not be written any more.
func TestAcknowledgementsOfManyZonesFitIntoOneLease(t *testing.T) {
	const half = 128 << 10 // half the limit for all annotations of an object
	s := fixture.Group(fixture.Held(""))
	for n := range 30 {
		zone := fixture.Zone(fmt.Sprintf("zone-%d", n), "1", fixture.Mirrors("web", 0), fixture.Delays(time.Hour))
		zone(&s)
		z := &s.Zones[n]
		z.Notifications = map[string]group.Notification{}
		z.Replicas = group.MaxAcknowledged
		for i := range z.Replicas {
			fixture.Pod(i, plan.Ready, "1")(z)
			z.Pods[i].IP = "10.0.0.1"
			at := s.Now.Add(-time.Duration(i*7919%1000) * time.Second)
			z.Notifications[z.Pods[i].UID] = group.Notification{Message: group.Leave, Call: z.Delay.Call, Ready: z.Pods[i].ReadySince, At: at, Since: at}
		}
	}
	part := map[string]group.DelayRecord{}
	for _, step := range group.Plan(s) {
		if r, is := step.(group.RecordAcknowledged); is {
			part[r.Zone] = r.Acknowledged
		}
	}
	if len(part) != len(s.Zones) {
		t.Errorf("pods of %d zones are recorded, want pods of %d", len(part), len(s.Zones))
	}
	if n := len(record.FormatAcknowledged(part)); n > half {
		t.Errorf("they take %d bytes, want no more than %d", n, half)
	}
}

func FuzzAcknowledged(f *testing.F) {
	f.Add(`{"zone-a":{"pods":[{"from":1,"to":2,"pods":"abcdef","since":"2026-01-05T12:00:00+01:00"},{"from":2,"to":4,"pods":"abcdef------","since":"2026-01-05T12:00:00.123456Z"}]}}`)
	f.Add(`{"zone-a":{"pods":[{"from":0,"to":1,"pods":"abcdef","since":"9999-12-31T23:59:59Z"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		written := record.FormatAcknowledged(record.ParseAcknowledged(text))
		if again := record.FormatAcknowledged(record.ParseAcknowledged(written)); again != written {
			t.Errorf("written as %s, then as %s", written, again)
		}
	})
}
