package plan

import (
	"fmt"
	"strings"
)

// String implements Action: delete zone-a-0 of zone-a because OutdatedRevision.
func (a DeletePod) String() string {
	return fmt.Sprintf("delete %s of %s because %s", a.Pod, a.Zone, a.Because)
}

// String implements Action: withdraw zone-a-0 of zone-a because Paused.
func (a Withdraw) String() string {
	return fmt.Sprintf("withdraw %s of %s because %s", a.Intent.Pod, a.Intent.Zone, a.Since)
}

// String implements Action: adopt web-6f9c4 in zone-a.
func (a AdoptRevision) String() string {
	return fmt.Sprintf("adopt %s in %s", a.Revision, a.Zone)
}

// String implements Action: release rollout/zone-a.
func (a Release) String() string { return fmt.Sprintf("release %s", a.Holder) }

// String implements Action: wait zone-b because OtherZoneNotWhole zone-a-1 of zone-a.
func (a Wait) String() string { return fmt.Sprintf("wait %s because %s", a.Zone, a.Because) }

// String returns the code, then what stands in the way.
func (r Refusal) String() string {
	if r.None() {
		return "no objection"
	}
	parts := []string{string(r.Code)}
	switch {
	case r.Pod != "" && r.Zone != "":
		parts = append(parts, r.Pod+" of "+r.Zone)
	case r.Pod != "" || r.Zone != "":
		parts = append(parts, r.Pod+r.Zone)
	}
	if r.Detail != "" {
		parts = append(parts, "("+r.Detail+")")
	}
	return strings.Join(parts, " ")
}

// Notation returns a plan as one line per action.
func Notation(steps []Action) string {
	lines := make([]string, len(steps))
	for i, step := range steps {
		lines[i] = step.String()
	}
	return strings.Join(lines, "\n")
}

// String returns the phase in lower case.
func (p Phase) String() string {
	switch p {
	case Starting:
		return "starting"
	case Failing:
		return "failing"
	case Ready:
		return "ready"
	case Leaving:
		return "leaving"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}

// String returns the fate in lower case.
func (f Fate) String() string {
	switch f {
	case Open:
		return "open"
	case Pending:
		return "pending"
	case Done:
		return "done"
	case Void:
		return "void"
	}
	return fmt.Sprintf("Fate(%d)", int(f))
}
