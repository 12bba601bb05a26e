package record

import (
	"encoding/json"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// agreement is the record of one zone.
type agreement struct {
	Call struct {
		call
		TLS bool `json:"tls,omitempty"`
	} `json:"call"`
	Pods []stretch `json:"pods"`
	Over bool      `json:"over,omitempty"`
}

type stretch struct {
	From  int       `json:"from"`
	To    int       `json:"to"`
	Pods  string    `json:"pods"`
	Since time.Time `json:"since"`
}

// FormatAcknowledged returns the value of the annotation lockstep.dev/delayed-downscales.
func FormatAcknowledged(agreed map[string]group.DelayRecord) string {
	doc := map[string]agreement{}
	for zone, a := range agreed {
		if a.None() {
			continue
		}
		written := agreement{Over: a.Over}
		written.Call.call, written.Call.TLS = call{a.Call.Port, a.Call.Path, a.Call.Service}, a.Call.TLS
		for _, s := range a.OrdinalRanges {
			written.Pods = append(written.Pods, stretch{s.From, s.To, s.Pods, Written(s.Since)})
		}
		doc[zone] = written
	}
	if len(doc) == 0 {
		return ""
	}
	return encoded(doc)
}

// ParseAcknowledged parses the result of FormatAcknowledged. If the record of a zone is invalid, it counts as
// empty, and the delay of its leaving pods begins again.
func ParseAcknowledged(text string) map[string]group.DelayRecord {
	var doc map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &doc) != nil {
		return nil
	}
	agreed := map[string]group.DelayRecord{}
	for zone, entry := range doc {
		var written agreement
		if json.Unmarshal(entry, &written) != nil || zone == "" || len(written.Pods) > group.MaxOrdinalRanges || !inOrder(written.Pods) {
			continue
		}
		a := group.DelayRecord{
			Call: group.Call{TLS: written.Call.TLS, Port: written.Call.Port, Path: written.Call.Path, Service: written.Call.Service},
			Over: written.Over,
		}
		for _, s := range written.Pods {
			a.OrdinalRanges = append(a.OrdinalRanges, group.OrdinalRange{From: s.From, To: s.To, Pods: s.Pods, Since: s.Since})
		}
		if !a.None() {
			agreed[zone] = a
		}
	}
	if len(agreed) == 0 {
		return nil
	}
	return agreed
}

// inOrder reports whether ranges ascend without overlap, identify their pods, have times that a process can
// have written, and do not exceed the limit of pods together.
func inOrder(all []stretch) bool {
	next, pods := 0, 0
	for _, s := range all {
		if s.From < next || s.To <= s.From || !group.Marked(s.Pods, s.To-s.From) || !writable(s.Since) || s.Since.Before(time.Unix(0, 0)) {
			return false
		}
		next, pods = s.To, pods+s.To-s.From
	}
	return pods <= group.MaxAcknowledged
}
