package rolloutgroup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// situation is what the conditions are made from.
type situation struct {
	plan.Status
	why            reason.Code // it is not at its goal
	how            string      // the same as a sentence
	settled        bool        // every pod is Ready at the wanted revision, and nothing is waited for
	stalled        bool        // a person has to step in
	paused         bool        // a person chose that nothing happens, and nothing else is to happen
	done, replicas int
}

func situationOf(t thought, described plan.Status) situation {
	s := situation{Status: described, settled: settled(described)}
	s.done, s.replicas = count(described.Zones)
	s.why, s.how = because(t.steps, described)
	if s.settled {
		s.why, s.how = reason.GroupComplete, plan.Refusal{Code: reason.GroupComplete}.Sentence()
	}
	if w, stalled := described.Stalled(); stalled {
		s.why, s.how, s.stalled = w.Because.Code, tell(w), true
	}
	s.paused = s.why == reason.Paused && !slices.ContainsFunc(described.Zones, func(z plan.ZoneStatus) bool { return z.Down > 0 })
	return s
}

// settled reports whether a group is where it should be, whoever holds it from outside.
func settled(described plan.Status) bool {
	if len(described.Zones) == 0 || len(described.Waits) > 0 {
		return false
	}
	for _, z := range described.Zones {
		if z.Activity != plan.Settled || z.Done != z.Replicas {
			return false
		}
	}
	return described.Activity == plan.Settled || described.Activity == plan.Held
}

// because says what comes first between a group and its goal: what it waits for or,
// where it waits for nothing, what is done next.
func because(steps []plan.Action, described plan.Status) (reason.Code, string) {
	if len(described.Waits) > 0 {
		return described.Waits[0].Because.Code, tell(described.Waits[0])
	}
	code := reason.GroupHeld // no zone is left to say more
	if len(steps) > 0 {
		code = steps[0].Reason()
	}
	return code, plan.Refusal{Code: code}.Sentence()
}

// tell spells a wait with the zone that waits.
func tell(w plan.Wait) string {
	if w.Zone == "" {
		return w.Because.Sentence()
	}
	return w.Zone + ": " + w.Because.Sentence()
}

// conditions are in the form of kstatus: Reconciling and Stalled are true where
// something is not as it should be, and never both.
func (s situation) conditions() []metav1.Condition {
	return []metav1.Condition{s.ready(), s.reconciling(), s.isStalled(), s.held()}
}

func (s situation) ready() metav1.Condition {
	says := []string{fmt.Sprintf("%d of %d pods are Ready at the wanted revision", s.done, s.replicas)}
	if !s.settled {
		says = append(says, s.how)
	}
	for _, remark := range s.Remarks {
		says = append(says, "to correct: "+string(remark.Because.Code)+", "+tell(remark))
	}
	return condition("Ready", s.settled, s.why, strings.Join(says, "; "))
}

func (s situation) reconciling() metav1.Condition {
	return condition("Reconciling", !s.settled && !s.stalled && !s.paused, s.why, s.how)
}

func (s situation) isStalled() metav1.Condition {
	if !s.stalled {
		return condition("Stalled", false, s.why, s.how)
	}
	entry, _ := reason.Explain(s.why)
	return condition("Stalled", true, s.why, s.how+". What to do: "+entry.ToDo)
}

func (s situation) held() metav1.Condition {
	if s.Holder.Free() {
		return condition("GroupHeld", false, reason.HoldFree, plan.Refusal{Code: reason.HoldFree}.Sentence())
	}
	message := s.Holder.Plain()
	if !s.Since.IsZero() {
		message += " since " + s.Since.UTC().Format(time.RFC3339)
	}
	return condition("GroupHeld", true, reason.GroupHeld, message)
}

func condition(kind string, is bool, because reason.Code, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: string(because), Message: plan.Plain(message, longestMessage)}
}
