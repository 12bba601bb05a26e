package record

import (
	"encoding/json"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

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
