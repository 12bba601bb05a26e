package admission

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// predecessorReasons are those that need no numbers.
var predecessorReasons = map[reason.Code]string{
	reason.DownscaleNotAllowed:  "it has the label '" + contract.NoDownscaleLabel + "=true'",
	reason.InvalidDownscaleTime: "parsing downscale annotations failed",
	reason.PreparationFailed:    "one or more pods failed to prepare for shutdown",
}

// othersUnread is the predecessor's reason where the rest of the group could not be read.
const othersUnread = "finding other statefulsets failed"

// objecting returns an answer that only refuses.
func objecting(objection plan.Refusal) plan.DownscaleAnswer {
	return plan.DownscaleAnswer{Because: objection}
}

// refused returns a refusal in the predecessor's words, then in lockstep's, and for how
// long it counts if that is known.
func (c Change) refused(answer plan.DownscaleAnswer, now time.Time) Verdict {
	objection := answer.Because
	code := statusOf(objection.Code)
	if objection.Code == reason.ObjectChanged {
		code = http.StatusConflict // it cannot succeed as it is
	}
	refused := "It is refused"
	if code == http.StatusTooManyRequests {
		refused += " for now"
	}
	predecessor := cmp.Or(answer.PredecessorReason, predecessorReasons[objection.Code])
	if predecessor == "" {
		entry, _ := reason.Explain(objection.Code)
		return Deny(code, objection.Code, c.notAllowed(entry.Sentence, fmt.Sprintf("%s (%s)%s", refused, objection, lasting(objection, now))))
	}
	return Deny(code, objection.Code, c.notAllowed(predecessor, refused+" "+inWords(objection, now)))
}

// doubted words a refusal of what cannot be judged, as far as the change is known.
func (c Change) doubted(v Verdict, predecessorReason string) Verdict {
	if !v.Allowed && c.From != nil && c.To != nil {
		v.Message = c.notAllowed(predecessorReason, v.Message)
	}
	return v
}

// notAllowed begins with the predecessor's sentence, which people and programs look for.
func (c Change) notAllowed(texts ...string) string {
	what := "downscale"
	if shrinks, _ := c.Shrinks(); !shrinks {
		what = "update"
	}
	return shortened(fmt.Sprintf("%s of %s/%s in %s from %d to %d replicas is not allowed because %s",
		what, c.Resource, c.Name, c.Namespace, *c.From, *c.To, sentences(texts...)), mostMessage)
}

// sentences puts texts one after the other, each a sentence of its own.
func sentences(texts ...string) string {
	var given []string
	for _, text := range texts {
		if text != "" {
			given = append(given, text)
		}
	}
	return strings.Join(given, ". ")
}
