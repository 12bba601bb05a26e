package plan

import (
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Sentence spells the refusal for people, with what stands in the way.
func (r Refusal) Sentence() string {
	entry, _ := reason.Explain(r.Code)
	var about []string
	if r.Zone != "" {
		about = append(about, "zone "+Plain(r.Zone, longestName))
	}
	if r.Pod != "" {
		about = append(about, "pod "+Plain(r.Pod, longestName))
	}
	if r.Detail != "" {
		about = append(about, Plain(r.Detail, longestText))
	}
	if len(about) == 0 {
		return entry.Sentence
	}
	return entry.Sentence + " (" + strings.Join(about, ", ") + ")"
}
