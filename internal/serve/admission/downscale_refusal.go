package admission

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// predecessorReasons are the predecessor's texts that contain no numbers.
var predecessorReasons = map[reason.Code]string{
	reason.DownscaleNotAllowed:  "it has the label '" + contract.NoDownscaleLabel + "=true'",
	reason.InvalidDownscaleTime: "parsing downscale annotations failed",
	reason.PreparationFailed:    "one or more pods failed to prepare for shutdown",
}

// predecessorGroupUnread is the predecessor's text for a group that could not be read.
const predecessorGroupUnread = "finding other statefulsets failed"

// refusing returns an answer with this refusal and nothing else.
func refusing(refusalFor plan.Refusal) group.DownscaleAnswer {
	return group.DownscaleAnswer{Because: refusalFor}
}

// refused returns a refusal. Its message contains the predecessor's text, then lockstep's,
// and how long the refusal lasts if that is known.
func (c Change) refused(answer group.DownscaleAnswer, now time.Time) Verdict {
	refusalFor := answer.Because
	code := statusOf(refusalFor.Code)
	if refusalFor.Code == reason.ObjectChanged {
		code = http.StatusConflict // the update can never succeed
	}
	refused := "It is refused"
	if code == http.StatusTooManyRequests {
		refused += " for now"
	}
	predecessor := cmp.Or(answer.PredecessorReason, predecessorReasons[refusalFor.Code])
	if predecessor == "" {
		entry, _ := reason.Explain(refusalFor.Code)
		return Deny(code, refusalFor.Code, c.notAllowed(entry.Sentence, fmt.Sprintf("%s (%s)%s", refused, refusalFor, duration(refusalFor, now))))
	}
	return Deny(code, refusalFor.Code, c.notAllowed(predecessor, refused+" "+describe(refusalFor, now)))
}

// doubted adds the predecessor's text to a refusal if the numbers of replicas are known.
func (c Change) doubted(v Verdict, predecessorReason string) Verdict {
	if !v.Allowed && c.From != nil && c.To != nil {
		v.Message = c.notAllowed(predecessorReason, v.Message)
	}
	return v
}

// notAllowed returns a message that begins with the predecessor's text, because programs match it.
func (c Change) notAllowed(texts ...string) string {
	what := "downscale"
	if shrinks, _ := c.Shrinks(); !shrinks {
		what = "update"
	}
	return shortened(fmt.Sprintf("%s of %s/%s in %s from %d to %d replicas is not allowed because %s",
		what, c.Resource, c.Name, c.Namespace, *c.From, *c.To, sentences(texts...)), mostMessage)
}

// sentences joins the texts that are not empty as separate sentences.
func sentences(texts ...string) string {
	var given []string
	for _, text := range texts {
		if text != "" {
			given = append(given, text)
		}
	}
	return strings.Join(given, ". ")
}
