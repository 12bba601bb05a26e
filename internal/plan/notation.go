package plan

import (
	"fmt"
	"strings"
	"time"
)

// String implements Action: delete zone-a-0 of zone-a because OutdatedRevision.
func (a DeletePod) String() string {
	return fmt.Sprintf("delete %s of %s because %s", a.Pod, a.Zone, a.Because)
}

// String implements Action: withdraw zone-a-0 of zone-a because Paused.
func (a Withdraw) String() string {
	return fmt.Sprintf("withdraw %s of %s because %s", a.Intent.Pod, a.Intent.Zone, a.Because)
}

// String implements Action: adopt web-6f9c4 in zone-a.
func (a AdoptRevision) String() string {
	return fmt.Sprintf("adopt %s in %s", a.Revision, a.Zone)
}

// String implements Action: note zone-a from 5 to 3 admitted because DownscaleDetected.
func (a NoteDecrease) String() string {
	return fmt.Sprintf("note %s because %s", a.Decrease, a.Because)
}

// String implements Action: void zone-a from 5 to 3 admitted.
func (a VoidDecrease) String() string { return fmt.Sprintf("void %s", a.Decrease) }

// String implements Action: undo zone-a from 5 to 3 undoing at zone-a-3 zone-a-4.
func (a UndoPreparation) String() string {
	return fmt.Sprintf("undo %s at %s", a.Decrease, namesOf(a.Pods))
}

// String implements Action: prepare zone-a from 5 to 3 preparing at zone-a-3 zone-a-4.
func (a PreparePods) String() string {
	return fmt.Sprintf("prepare %s at %s", a.Decrease, namesOf(a.Pods))
}

func namesOf(pods []Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return strings.Join(names, " ")
}

// String implements Action: end zone-a from 5 to 3 admitted because DownscaleCompleted.
func (a EndDecrease) String() string {
	return fmt.Sprintf("end %s because %s", a.Decrease, a.Reason())
}

// String implements Action: stamp zone-a with 2026-01-05T12:00:00Z.
func (a StampDownscale) String() string {
	return fmt.Sprintf("stamp %s with %s", a.Zone, a.Time.UTC().Format(time.RFC3339))
}

// String implements Action: set zone-b from 3 to 5 because LeaderFollowed.
func (a SetReplicas) String() string {
	return fmt.Sprintf("set %s from %d to %d because %s", a.Zone, a.From, a.To, a.Because)
}

// String implements Action: report 5 to ReplicaTemplate.rollout-operator.grafana.com web for zone-a.
func (a ReportReplicas) String() string {
	return fmt.Sprintf("report %d to %s for %s", a.To, a.Reference, a.Zone)
}

// String returns the reference as ReplicaTemplate.rollout-operator.grafana.com web.
func (r Reference) String() string {
	kind := r.Kind
	if r.APIGroup != "" {
		kind += "." + r.APIGroup
	}
	return kind + " " + r.Name
}

// String implements Action: end intent of zone-a-1 because EvictionLapsed.
func (a EndIntent) String() string {
	return fmt.Sprintf("end intent of %s because %s", a.Intent.Pod, a.Because)
}

// String implements Action: remember zone-a zone-b; forget zone-c.
func (a NoteZones) String() string {
	var parts []string
	if len(a.Joined) > 0 {
		parts = append(parts, "remember "+strings.Join(a.Joined, " "))
	}
	if len(a.Gone) > 0 {
		parts = append(parts, "forget "+strings.Join(a.Gone, " "))
	}
	return strings.Join(parts, ", ")
}

// String implements Action: queue rollout/zone-a.
func (a TakePlace) String() string {
	return "queue " + string(a.Waiting.Operation.For(a.Waiting.Zone))
}

// String implements Action: tell leave to zone-a-3 zone-a-4.
func (a TellPods) String() string {
	text := fmt.Sprintf("tell %s to %s", a.Message, namesOf(a.Pods))
	if a.Former {
		text += " by the former call"
	}
	return text
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

// String returns the stretch as 3 to 5 since 2026-01-05T12:00:00Z.
func (s Stretch) String() string {
	return fmt.Sprintf("%d to %d since %s", s.From, s.To, s.Since.UTC().Format(time.RFC3339))
}

// String returns the decrease as zone-a from 5 to 3 admitted.
func (d Decrease) String() string {
	return fmt.Sprintf("%s from %d to %d %s", d.Zone, d.From, d.To, d.Stage)
}

// String implements Action: release rollout/zone-a.
func (a Release) String() string { return fmt.Sprintf("release %s", a.Holder) }

// String implements Action: wait zone-b because OtherZoneUnavailable zone-a-1 of zone-a.
func (a Wait) String() string { return fmt.Sprintf("wait %s because %s", a.Zone, a.Because) }

// String returns the code, then what stands in the way.
func (r Refusal) String() string {
	if r.None() {
		return "no objection"
	}
	parts := []string{string(r.Code)}
	pod, zone := Plain(r.Pod, longestName), Plain(r.Zone, longestName)
	switch {
	case pod != "" && zone != "":
		parts = append(parts, pod+" of "+zone)
	case pod != "" || zone != "":
		parts = append(parts, pod+zone)
	}
	if r.Detail != "" {
		parts = append(parts, "("+Plain(r.Detail, longestText)+")")
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

// String returns the course in lower case.
func (c Course) String() string {
	switch c {
	case Unseen:
		return "unseen"
	case Awaited:
		return "awaited"
	case InEffect:
		return "in effect"
	case Overtaken:
		return "overtaken"
	}
	return fmt.Sprintf("Course(%d)", int(c))
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
