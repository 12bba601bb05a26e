package admission

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// NoDownscale is the Judge of /admission/no-downscale: what carries the label
// grafana.com/no-downscale=true keeps its replicas. A dry run is judged like any
// other request. The old object's label counts, so taking it off and shrinking
// takes two updates.
type NoDownscale struct {
	// Parents knows the labels of what a Scale is about.
	Parents Parents
	// Strict refuses what cannot be known. Otherwise that passes with a warning.
	Strict bool
}

// Parents knows labels of objects that are not part of a review.
type Parents interface {
	// NoDownscale reports whether the object that a Scale belongs to carries the label.
	NoDownscale(ctx context.Context, c Change) (bool, error)
}

// Judge implements Judge.
func (n NoDownscale) Judge(ctx context.Context, c Change) Verdict {
	switch shrinks, known := c.Shrinks(); {
	case !known:
		return n.Doubt(reason.ReplicasUnknown, "one of old and new object has no spec.replicas")
	case !shrinks:
		return Allow(reason.NotADownscale)
	}
	barred, err := n.barred(ctx, c)
	switch {
	case err != nil:
		return c.doubted(n.Doubt(reason.ParentUnknown, err.Error()), "")
	case !barred:
		return Allow(reason.NotManaged)
	}
	return c.refused(objecting(plan.Refusal{Code: reason.DownscaleNotAllowed}), time.Time{})
}

func (n NoDownscale) barred(ctx context.Context, c Change) (bool, error) {
	if c.Scale() {
		return n.Parents.NoDownscale(ctx, c)
	}
	return contract.NoDownscale(c.Old.Labels, c.Old.Annotations), nil
}

// Doubt implements Judge.
func (n NoDownscale) Doubt(why reason.Code, about string) Verdict {
	if !n.Strict {
		v := Allow(why)
		v.Warnings = []string{warning("lockstep could not tell whether this downscale is allowed: " + about)}
		return v
	}
	code := http.StatusBadRequest
	if why == reason.ParentUnknown {
		code = http.StatusTooManyRequests // the next attempt may find it
	}
	return Deny(code, why, "lockstep cannot tell whether this downscale is allowed: "+about)
}

// warning shortens a text to what the API server passes on whole.
func warning(text string) string { return shortened(text, 256) }

// shortened keeps so many bytes of a text at most.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
