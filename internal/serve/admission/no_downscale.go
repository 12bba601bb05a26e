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

// NoDownscale is the Judge of /admission/no-downscale. An object with the label
// grafana.com/no-downscale=true keeps its replicas. Dry runs are judged like other
// requests. The label of the old object counts, so removing the label and shrinking
// takes two updates.
type NoDownscale struct {
	// Parents looks up the labels of scaled objects.
	Parents Parents
	// Strict refuses downscales that cannot be judged. Otherwise they pass with a warning.
	Strict bool
}

// Parents looks up labels of objects that a review does not contain.
type Parents interface {
	// NoDownscale reports whether the scaled object has the label.
	NoDownscale(ctx context.Context, c Change) (bool, error)
}

// Judge implements Judge.
func (n NoDownscale) Judge(ctx context.Context, c Change) Verdict {
	switch shrinks, known := c.Shrinks(); {
	case !known:
		return n.Doubt(reason.ReplicasUnknown, "the old or the new object has no spec.replicas")
	case !shrinks:
		return Allow(reason.NotADownscale)
	}
	labelled, err := n.labelled(ctx, c)
	switch {
	case err != nil:
		return c.doubted(n.Doubt(reason.ParentUnknown, err.Error()), "")
	case !labelled:
		return Allow(reason.NotManaged)
	}
	return c.refused(refusing(plan.Refusal{Code: reason.DownscaleNotAllowed}), time.Time{})
}

func (n NoDownscale) labelled(ctx context.Context, c Change) (bool, error) {
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
		code = http.StatusTooManyRequests // a retry can succeed
	}
	return Deny(code, why, "lockstep cannot tell whether this downscale is allowed: "+about)
}

// warning shortens a text to the length that the API server does not truncate.
func warning(text string) string { return shortened(text, 256) }

// shortened returns at most the first bytes of a text.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
