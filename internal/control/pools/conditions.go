package pools

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// conditions returns the conditions in the form of kstatus: Reconciling and Stalled are true only while the
// StatefulCluster is not at its goal, and never both.
func conditions(seen *pool.Snapshot, d pool.Status, steps []plan.Action) []metav1.Condition {
	code, message := reasonOf(d, steps)
	entry, _ := reason.Explain(code)
	stalled := !d.Settled && entry.Kind == reason.Attention
	resting := code == reason.UpdatesPaused || code == reason.UpdatesByDeletion
	todo := message
	if stalled {
		todo += ". What to do: " + entry.ToDo
	}
	available := fmt.Sprintf("%d of %d pods are available", d.Available, seen.Object.Replicas)
	all := []metav1.Condition{
		condition("Ready", d.Settled, code, available+"; "+message),
		condition("Reconciling", !d.Settled && !stalled && !resting, code, message),
		condition("Stalled", stalled, code, todo),
		condition("Available", d.Enough, code, available),
		specValid(seen, d),
		progressing(d, code, message),
		resizing(d),
	}
	if look := seen.Service; seen.Object.Service != "" && look.Generation > 0 {
		message := cmp.Or(look.Missing, "the Service exists and is headless")
		all = append(all, condition("ServiceReady", look.Missing == "", reason.ServiceLookedUp, "Service "+seen.Object.Service+": "+message))
	}
	for i := range all {
		all[i].ObservedGeneration = seen.Object.Generation
		all[i].LastTransitionTime = metav1.NewTime(changedAt(seen, &all[i]))
	}
	return all
}

// specValid says whether the newest template can be used. If it can, the reason is the first remark, and the message has all of them.
func specValid(seen *pool.Snapshot, d pool.Status) metav1.Condition {
	if !d.Invalid.None() {
		return condition("SpecValid", false, d.Invalid.Code, d.Invalid.Sentence())
	}
	code, sentences := reason.RevisionRecorded, []string{}
	for i, remark := range seen.Remarks() {
		if i == 0 {
			code = remark.Because.Code
		}
		sentences = append(sentences, remark.Because.Sentence())
	}
	return condition("SpecValid", true, code, cmp.Or(strings.Join(sentences, "; "), code.Sentence()))
}

// progressing says whether an update makes progress, as the condition of a Deployment does: it is true once there is none.
func progressing(d pool.Status, code reason.Code, message string) metav1.Condition {
	switch {
	case !d.Stuck.None():
		return condition("Progressing", false, d.Stuck.Code, d.Stuck.Sentence())
	case code == reason.InPlaceImpossible:
		return condition("Progressing", false, code, message)
	}
	return condition("Progressing", true, code, message)
}

// resizing says whether lockstep asks for more storage for claims.
func resizing(d pool.Status) metav1.Condition {
	code, message := reason.ClaimGrown, "no claim needs more storage"
	switch {
	case !d.NotGrown.None():
		code, message = d.NotGrown.Code, d.NotGrown.Sentence()
	case d.Growing > 0:
		message = fmt.Sprintf("more storage is being asked for %d claims", d.Growing)
	}
	return condition("VolumesResizing", d.Growing > 0 || !d.NotGrown.None(), code, message)
}

// reasonOf returns the reason for the present state: of the first wait, or else of the first action.
func reasonOf(d pool.Status, steps []plan.Action) (reason.Code, string) {
	if d.Settled {
		return reason.AllAvailable, reason.AllAvailable.Sentence()
	}
	if !d.Waiting.None() {
		return d.Waiting.Code, d.Waiting.Sentence()
	}
	for _, step := range steps {
		return step.Reason(), step.Reason().Sentence()
	}
	return reason.PodStarting, reason.PodStarting.Sentence()
}

// changedAt returns since when a condition has had its status.
func changedAt(seen *pool.Snapshot, c *metav1.Condition) time.Time {
	for _, former := range seen.Object.Conditions {
		if former.Type == c.Type && former.Status == string(c.Status) {
			return former.Since
		}
	}
	return seen.Now.Truncate(time.Second)
}

// How much of a message and of the name of a pod a status has, in bytes. Names in a Lease can be any text.
const longestMessage, longestName = 1000, 253

func condition(kind string, is bool, because reason.Code, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: string(because), Message: plan.Plain(message, longestMessage)}
}
