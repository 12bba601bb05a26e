package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// downscale is the downscale of a rollout group in the annotation lockstep.dev/intents.
type downscale struct {
	Zone            string    `json:"zone"`
	UID             string    `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Generation      int64     `json:"generation"`
	From            int       `json:"from"`
	To              int       `json:"to"`
	Call            *call     `json:"call,omitempty"`
	Called          string    `json:"asked,omitempty"`
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

// FormatDownscale returns the text of a downscale, or nil for none.
func FormatDownscale(d group.Downscale) json.RawMessage {
	if d.None() {
		return nil
	}
	doc := downscale{
		Zone: d.Zone, UID: d.UID, ResourceVersion: d.Version.String(), Generation: d.Generation, From: d.From, To: d.To,
		Called: d.Called, Stage: string(d.Stage), Ours: d.Ours, Since: Written(d.Since), Trace: d.Trace,
	}
	if d.Call != (group.Call{}) {
		doc.Call = &call{d.Call.Port, d.Call.Path, d.Call.Service}
	}
	return json.RawMessage(encoded(doc))
}

// ParseDownscale parses the result of FormatDownscale. Its errors are those of ParseIntents.
func ParseDownscale(text json.RawMessage) (group.Downscale, error) {
	if len(text) == 0 || string(text) == "null" {
		return group.Downscale{}, nil
	}
	var d downscale
	if err := decodeStrictly(string(text), &d); err != nil {
		return group.Downscale{}, fmt.Errorf("read intents: %w", err)
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
		Zone: d.Zone, UID: d.UID, Version: version, Generation: d.Generation, From: d.From, To: d.To, Called: d.Called, Stage: stage, Ours: d.Ours,
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
