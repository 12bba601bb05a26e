package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// formatVersion is the version of the text format of intents. If a text has another version, the hold is
// respected and not changed.
const formatVersion = 1

// document is the annotation lockstep.dev/intents. Older versions of lockstep expect the downscale of a rollout group
// in it; the parts of other kinds have annotations of their own.
type document struct {
	Version  int             `json:"version"`
	Pods     []entry         `json:"pods,omitempty"`
	Decrease json.RawMessage `json:"decrease,omitempty"`
}

type entry struct {
	Pod             string    `json:"pod"`
	Zone            string    `json:"zone"`
	UID             string    `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Cause           string    `json:"cause"`
	Unbound         bool      `json:"unbound,omitempty"`
	Partition       string    `json:"partition,omitempty"`
	Overtook        bool      `json:"overtook,omitempty"`
	From            string    `json:"from,omitempty"`
	Since           time.Time `json:"since"`
	Trace           string    `json:"trace,omitempty"`
}

// FormatIntents returns the value of the annotation lockstep.dev/intents: the recorded pods, and what the kind of
// workload has in the same annotation. It is "" if there are neither.
func FormatIntents(intents []plan.Intent, ofKind json.RawMessage) string {
	if len(intents) == 0 && len(ofKind) == 0 {
		return ""
	}
	doc := document{Version: formatVersion, Decrease: ofKind}
	for _, i := range intents {
		doc.Pods = append(doc.Pods, entry{
			Pod: i.Pod, Zone: i.Zone, UID: i.UID, ResourceVersion: i.Version.String(),
			Cause: string(i.Cause), Unbound: i.Unbound, Partition: i.Partition, Overtook: i.Overtook, From: i.From, Since: Written(i.Since), Trace: i.Trace,
		})
	}
	return encoded(doc)
}

func encoded(document any) string {
	text, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Sprintf("encode hold: %v", err)) // strings, numbers and times from Written can always be encoded
	}
	return string(text)
}

// decode parses a document of this version. Unknown fields are errors.
func decode(text string, into any) error {
	var of struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return err
	}
	if of.Version != formatVersion {
		return fmt.Errorf("version %d, this build knows version %d only", of.Version, formatVersion)
	}
	return decodeStrictly(text, into)
}

// decodeStrictly parses JSON. Unknown fields are errors.
func decodeStrictly(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// The first and the last time that the format can represent.
var (
	first = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	last  = time.Date(9999, 12, 31, 23, 59, 59, int(999*time.Millisecond), time.UTC)
)

// Written returns a time as the format can represent it. For a time outside of the years of RFC 3339, such as
// the status of a pod may contain, it returns the nearest representable one.
func Written(t time.Time) time.Time {
	switch t = t.UTC().Truncate(time.Millisecond); {
	case t.Before(first):
		return first
	case t.After(last):
		return last
	}
	return t
}

// ParseIntents parses the annotation. It returns the pods, and what the kind of workload has in the same annotation.
// The error names the defect and what would be accepted. After an error, the hold must be respected and not be
// changed.
func ParseIntents(text string) (intents []plan.Intent, ofKind json.RawMessage, err error) {
	if text == "" {
		return nil, nil, nil
	}
	var doc document
	if err := decode(text, &doc); err != nil {
		return nil, nil, fmt.Errorf("read intents: %w", err)
	}
	if intents, err = parseEntries(doc.Pods); err != nil {
		return nil, nil, err
	}
	return intents, doc.Decrease, nil
}

// mostEntries exceeds the number that any version writes. The limit matters because each entry may cause a
// request with every live read.
const mostEntries = 10 * plan.MaxIntents

func parseEntries(entries []entry) ([]plan.Intent, error) {
	if len(entries) > mostEntries {
		return nil, fmt.Errorf("read intents: there are %d, and at most %d are recorded", len(entries), mostEntries)
	}
	intents := make([]plan.Intent, 0, len(entries))
	for n, e := range entries {
		version, ok := plan.ParseVersion(e.ResourceVersion)
		if !ok || e.Pod == "" || e.Zone == "" || e.UID == "" {
			return nil, fmt.Errorf("read intents: entry %d needs pod, zone, uid and a decimal resourceVersion", n)
		}
		if !writable(e.Since) {
			return nil, fmt.Errorf("read intents: entry %d has a time outside of the years 0 to 9999: %s", n, e.Since)
		}
		intents = append(intents, plan.Intent{
			Pod: e.Pod, Zone: e.Zone, UID: e.UID, Version: version,
			Cause: reason.Code(e.Cause), Unbound: e.Unbound, Partition: e.Partition, Overtook: e.Overtook, From: e.From, Since: e.Since, Trace: e.Trace,
		})
	}
	return intents, nil
}

// writable reports whether a time can be written in its original format: the offset of a time zone can move
// it beyond the years of RFC 3339.
func writable(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}
