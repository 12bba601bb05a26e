package plan

import (
	"fmt"
	"maps"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// NoteAgreed writes into the hold which pods of a zone agreed to leave after the delay: whoever leads next
// need not wait for them anew.
type NoteAgreed struct {
	Zone   string
	Agreed Agreement
}

// Reason implements Action.
func (NoteAgreed) Reason() reason.Code { return reason.DownscaleDelayed }

// Effect implements Action. It is written whoever has the hold, without a live read: the compare-and-swap
// says whether what was known of it is still so.
func (a NoteAgreed) Effect() Effect { return Effect{Zone: a.Zone, Order: WithLease} }

// Event implements Action.
func (NoteAgreed) Event() Event { return Event{} }

// Record implements Recorder.
func (a NoteAgreed) Record(h *Hold) {
	h.Agreed = maps.Clone(h.Agreed)
	if a.Agreed.None() {
		delete(h.Agreed, a.Zone)
		return
	}
	if h.Agreed == nil {
		h.Agreed = map[string]Agreement{}
	}
	h.Agreed[a.Zone] = a.Agreed
}

// String implements Action: note agreed zone-a 3 to 5 since 2026-01-05T12:00:00Z.
func (a NoteAgreed) String() string {
	var parts []string
	for _, stretch := range a.Agreed.Stretches {
		parts = append(parts, stretch.String())
	}
	if a.Agreed.Over {
		parts = append(parts, "who are to stay")
	}
	return strings.TrimSpace(fmt.Sprintf("note agreed %s %s", a.Zone, strings.Join(parts, ", ")))
}
