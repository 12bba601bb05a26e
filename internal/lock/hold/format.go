package hold

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// formatVersion is the version of the text format of intents. If a text has another version, the hold is
// respected and not changed.
const formatVersion = 1

type document struct {
	Version   int        `json:"version"`
	Pods      []entry    `json:"pods,omitempty"`
	Downscale *downscale `json:"decrease,omitempty"`
}

type downscale struct {
	Zone            string    `json:"zone"`
	UID             string    `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Generation      int64     `json:"generation"`
	From            int       `json:"from"`
	To              int       `json:"to"`
	Call            *call     `json:"call,omitempty"`
	Asked           string    `json:"asked,omitempty"`
	Stage           string    `json:"stage"`
	Ours            bool      `json:"ours,omitempty"`
	Since           time.Time `json:"since"`
	Trace           string    `json:"trace,omitempty"`
}

// call is how pods are called to prepare.
type call struct {
	Port    int    `json:"port"`
	Path    string `json:"path"`
	Service string `json:"service"`
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
	Since           time.Time `json:"since"`
	Trace           string    `json:"trace,omitempty"`
}

// FormatIntents returns the value of the annotation lockstep.dev/intents: the recorded pods and downscale. It
// is "" if there are neither.
func FormatIntents(intents []plan.Intent, d group.Downscale) string {
	if len(intents) == 0 && d.None() {
		return ""
	}
	doc := document{Version: formatVersion}
	for _, i := range intents {
		doc.Pods = append(doc.Pods, entry{
			Pod: i.Pod, Zone: i.Zone, UID: i.UID, ResourceVersion: i.Version.String(),
			Cause: string(i.Cause), Unbound: i.Unbound, Partition: i.Partition, Overtook: i.Overtook, Since: Written(i.Since), Trace: i.Trace,
		})
	}
	if !d.None() {
		doc.Downscale = &downscale{
			Zone: d.Zone, UID: d.UID, ResourceVersion: d.Version.String(), Generation: d.Generation, From: d.From, To: d.To,
			Asked: d.Asked, Stage: string(d.Stage), Ours: d.Ours, Since: Written(d.Since), Trace: d.Trace,
		}
		if d.Call != (group.Call{}) {
			doc.Downscale.Call = &call{d.Call.Port, d.Call.Path, d.Call.Service}
		}
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

// ParseIntents parses the annotation. The error names the defect and what would be accepted. After an error,
// the hold must be respected and not be changed.
func ParseIntents(text string) ([]plan.Intent, group.Downscale, error) {
	if text == "" {
		return nil, group.Downscale{}, nil
	}
	var doc document
	if err := decode(text, &doc); err != nil {
		return nil, group.Downscale{}, fmt.Errorf("read intents: %w", err)
	}
	intents, err := parseEntries(doc.Pods)
	if err != nil {
		return nil, group.Downscale{}, err
	}
	d, err := parseDownscale(doc.Downscale)
	return intents, d, err
}

func parseDownscale(d *downscale) (group.Downscale, error) {
	if d == nil {
		return group.Downscale{}, nil
	}
	version, ok := plan.ParseVersion(d.ResourceVersion)
	if !ok || d.Zone == "" || d.UID == "" {
		return group.Downscale{}, errors.New("read intents: the decrease needs zone, uid and a decimal resourceVersion")
	}
	if d.To < 0 || d.From <= d.To {
		return group.Downscale{}, fmt.Errorf("read intents: from %d to %d replicas is not a decrease", d.From, d.To)
	}
	stage := group.Stage(d.Stage)
	switch stage {
	case group.Preparing, group.Admitted, group.Undoing:
	default:
		return group.Downscale{}, fmt.Errorf("read intents: the decrease is at an unknown stage, known are %s, %s and %s", group.Preparing, group.Admitted, group.Undoing)
	}
	if !writable(d.Since) {
		return group.Downscale{}, fmt.Errorf("read intents: the decrease has a time outside of the years 0 to 9999: %s", d.Since)
	}
	out := group.Downscale{
		Zone: d.Zone, UID: d.UID, Version: version, Generation: d.Generation, From: d.From, To: d.To, Asked: d.Asked, Stage: stage, Ours: d.Ours,
		Since: d.Since, Trace: d.Trace,
	}
	if d.Call != nil {
		out.Call = group.Call{Port: d.Call.Port, Path: d.Call.Path, Service: d.Call.Service}
	}
	return out, nil
}

// FormatTimes returns the value of an annotation with one time for each zone, such as
// lockstep.dev/last-downscales.
func FormatTimes(times map[string]time.Time) string {
	if len(times) == 0 {
		return ""
	}
	doc := map[string]time.Time{}
	for zone, at := range times {
		doc[zone] = Written(at)
	}
	return encoded(doc)
}

// ParseTimes parses the result of FormatTimes.
func ParseTimes(text string) (map[string]time.Time, error) {
	if text == "" {
		return nil, nil
	}
	var times map[string]time.Time
	if err := json.Unmarshal([]byte(text), &times); err != nil {
		return nil, fmt.Errorf("read times of downscales: %w", err)
	}
	for zone, at := range times {
		if !writable(at) {
			return nil, fmt.Errorf("read times of downscales: %q has a time outside of the years 0 to 9999", zone)
		}
	}
	return times, nil
}

type place struct {
	Operation string    `json:"operation"`
	Zone      string    `json:"zone"`
	Since     time.Time `json:"since"`
	LastSeen  time.Time `json:"lastSeen"`
}

// FormatWaiting returns the value of the annotation lockstep.dev/waiting.
func FormatWaiting(queue []plan.Waiting) string {
	if len(queue) == 0 {
		return ""
	}
	places := make([]place, len(queue))
	for i, w := range queue {
		places[i] = place{string(w.Operation), w.Zone, Written(w.Since), Written(w.LastSeen)}
	}
	return encoded(places)
}

// ParseWaiting parses the result of FormatWaiting. It drops entries that it cannot read, because waiting
// operations ask again.
func ParseWaiting(text string) []plan.Waiting {
	var places []place
	if json.Unmarshal([]byte(text), &places) != nil {
		return nil
	}
	var queue []plan.Waiting
	for _, p := range places {
		if p.Zone != "" && writable(p.Since) && writable(p.LastSeen) {
			queue = append(queue, plan.Waiting{Operation: plan.Operation(p.Operation), Zone: p.Zone, Since: p.Since, LastSeen: p.LastSeen})
		}
	}
	return queue
}

// mostEntries exceeds the number that any version writes. The limit matters because each entry may cause a
// request with every live read.
const mostEntries = 10 * plan.MaxIntents

func parseEntries(entries []entry) ([]plan.Intent, error) {
	if len(entries) > mostEntries {
		return nil, fmt.Errorf("read intents: there are %d, and at most %d are noted", len(entries), mostEntries)
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
			Cause: reason.Code(e.Cause), Unbound: e.Unbound, Partition: e.Partition, Overtook: e.Overtook, Since: e.Since, Trace: e.Trace,
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
