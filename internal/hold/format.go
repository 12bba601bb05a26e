package hold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// formatVersion is the version of the intents' text form that this code
// writes. It reads no other one: what it does not know it respects.
const formatVersion = 1

type document struct {
	Version int     `json:"version"`
	Pods    []entry `json:"pods"`
}

type entry struct {
	Pod             string    `json:"pod"`
	Zone            string    `json:"zone"`
	UID             string    `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Cause           string    `json:"cause"`
	Since           time.Time `json:"since"`
	Trace           string    `json:"trace,omitempty"`
}

// FormatIntents returns the value of the annotation lockstep.dev/intents, and
// "" for no intents.
func FormatIntents(intents []plan.Intent) string {
	if len(intents) == 0 {
		return ""
	}
	doc := document{Version: formatVersion}
	for _, i := range intents {
		doc.Pods = append(doc.Pods, entry{
			Pod: i.Pod, Zone: i.Zone, UID: i.UID, ResourceVersion: i.Version.String(),
			Cause: string(i.Cause), Since: i.Since.UTC().Truncate(time.Millisecond), Trace: i.Trace,
		})
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("encode intents: %v", err)) // strings, numbers and times always encode
	}
	return string(text)
}

// ParseIntents reads the annotation back. An error says what is wrong with the
// text and what would be accepted; the hold must then be respected as it is.
func ParseIntents(text string) ([]plan.Intent, error) {
	if text == "" {
		return nil, nil
	}
	var doc document
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("read intents: %w", err)
	}
	if doc.Version != formatVersion {
		return nil, fmt.Errorf("read intents: version %d, this build knows version %d only", doc.Version, formatVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document{}); err != nil {
		return nil, fmt.Errorf("read intents: %w", err)
	}
	return parseEntries(doc.Pods)
}

func parseEntries(entries []entry) ([]plan.Intent, error) {
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
			Cause: reason.Code(e.Cause), Since: e.Since, Trace: e.Trace,
		})
	}
	return intents, nil
}

// writable tells whether a time can be written in the form it was read from:
// a zone's offset can carry it out of the years that RFC 3339 has.
func writable(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}
