package rolloutgroup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// groupState contains everything that the conditions depend on.
type groupState struct {
	group.Status
	why            reason.Code // why the group is not at its goal
	how            string      // the same as a sentence
	settled        bool        // every pod is Ready at the wanted revision, and nothing waits
	stalled        bool        // a person must act
	paused         bool        // a person paused the group, and nothing else is due
	done, replicas int
}

func groupStateOf(t evaluation, described group.Status) groupState {
	s := groupState{Status: described, settled: settled(described)}
	s.done, s.replicas = count(described.Zones)
	s.why, s.how = because(t.steps, described)
	if s.settled {
		s.why, s.how = reason.GroupComplete, plan.Refusal{Code: reason.GroupComplete}.Sentence()
	}
	if w, stalled := described.Stalled(); stalled {
		s.why, s.how, s.stalled = w.Because.Code, describeWait(w), true
	}
	s.paused = s.why == reason.Paused && !slices.ContainsFunc(described.Zones, func(z group.ZoneStatus) bool { return z.Down > 0 })
	return s
}

// settled reports whether a group is at its goal. An external holder does not matter.
func settled(described group.Status) bool {
	if len(described.Zones) == 0 || len(described.Waits) > 0 {
		return false
	}
	for _, z := range described.Zones {
		if z.Activity != group.Settled || z.Done != z.Replicas {
			return false
		}
	}
	return described.Activity == group.Settled || described.Activity == group.Held
}

// because returns why a group is not at its goal: the reason of its wait or, if it does not wait,
// its next step.
func because(steps []plan.Action, described group.Status) (reason.Code, string) {
	if len(described.Waits) > 0 {
		return described.Waits[0].Because.Code, describeWait(described.Waits[0])
	}
	code := reason.GroupHeld // no zone waits
	if len(steps) > 0 {
		code = steps[0].Reason()
	}
	return code, plan.Refusal{Code: code}.Sentence()
}

// describeWait returns the text of a wait, with the zone that waits.
func describeWait(w plan.Wait) string {
	if w.Zone == "" {
		return w.Because.Sentence()
	}
	return w.Zone + ": " + w.Because.Sentence()
}

// conditions returns the conditions in the form of kstatus: Reconciling and Stalled are true only
// while the group is not at its goal, and never both.
func (s groupState) conditions() []metav1.Condition {
	return []metav1.Condition{s.ready(), s.reconciling(), s.isStalled(), s.held()}
}

func (s groupState) ready() metav1.Condition {
	says := []string{fmt.Sprintf("%d of %d pods are Ready at the wanted revision", s.done, s.replicas)}
	if !s.settled {
		says = append(says, s.how)
	}
	for _, remark := range s.Remarks {
		says = append(says, "to correct: "+string(remark.Because.Code)+", "+describeWait(remark))
	}
	return condition("Ready", s.settled, s.why, strings.Join(says, "; "))
}

func (s groupState) reconciling() metav1.Condition {
	return condition("Reconciling", !s.settled && !s.stalled && !s.paused, s.why, s.how)
}

func (s groupState) isStalled() metav1.Condition {
	if !s.stalled {
		return condition("Stalled", false, s.why, s.how)
	}
	entry, _ := reason.Explain(s.why)
	return condition("Stalled", true, s.why, s.how+". What to do: "+entry.ToDo)
}

func (s groupState) held() metav1.Condition {
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
