package record

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// rolloutsVersion is the version of the text format of rollouts. A text of another version counts as empty.
const rolloutsVersion = 1

// MaxRollouts limits the bytes of the rollouts annotation, whatever the length of names: about a quarter of
// the limit for all annotations of an object.
const MaxRollouts = 84 << 10

type rolledGroups struct {
	Version      int           `json:"version"`
	Current      *rolledGroup  `json:"current,omitempty"`
	Finished     []rolledGroup `json:"finished,omitempty"`
	Replacements []replacement `json:"replacements,omitempty"`
}

type replacement struct {
	Trace string    `json:"trace,omitempty"`
	Pod   rolledPod `json:"pod"`
}

type rolledGroup struct {
	Trace    string       `json:"trace,omitempty"`
	Since    time.Time    `json:"since"`
	Until    time.Time    `json:"until,omitzero"`
	Zones    []rolledZone `json:"zones,omitempty"`
	Exported bool         `json:"exported,omitempty"`
}

type rolledZone struct {
	Name     string      `json:"name"`
	UID      string      `json:"uid"`
	From     string      `json:"from,omitempty"`
	To       string      `json:"to,omitempty"`
	Budget   int         `json:"budget,omitempty"`
	Since    time.Time   `json:"since"`
	Until    time.Time   `json:"until,omitzero"`
	Replaced int         `json:"replaced,omitempty"`
	Pods     []rolledPod `json:"pods,omitempty"`
	Exported bool        `json:"exported,omitempty"`
}

type rolledPod struct {
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Successor string    `json:"successor,omitempty"`
	Open      bool      `json:"open,omitempty"`
	Cause     string    `json:"cause"`
	Deleted   time.Time `json:"deleted"`
	Recreated time.Time `json:"recreated"`
	Ready     time.Time `json:"ready,omitzero"`
	Seen      bool      `json:"seen,omitempty"`
}

// FormatRollouts returns the value of the annotation lockstep.dev/rollouts, or "" if there are none.
func FormatRollouts(r plan.Rollouts) string {
	if !r.Current.Begun() && len(r.Finished) == 0 && len(r.Replacements) == 0 {
		return ""
	}
	doc := rolledGroups{Version: rolloutsVersion}
	if r.Current.Begun() {
		current := groupAsText(r.Current)
		doc.Current = &current
	}
	for _, group := range r.Finished {
		doc.Finished = append(doc.Finished, groupAsText(group))
	}
	for _, r := range r.Replacements {
		doc.Replacements = append(doc.Replacements, replacement{r.Trace, podAsText(r.RolledPod)})
	}
	return encoded(doc)
}

func groupAsText(r plan.RolledGroup) rolledGroup {
	group := rolledGroup{Trace: r.Trace, Since: Written(r.Since), Until: written(r.Until), Exported: r.Exported}
	for _, z := range r.Zones {
		zone := rolledZone{
			Name: z.Name, UID: z.UID, From: z.From, To: z.To, Budget: z.Budget,
			Since: Written(z.Since), Until: written(z.Until), Replaced: z.Replaced, Exported: z.Exported,
		}
		for _, p := range z.Pods {
			zone.Pods = append(zone.Pods, podAsText(p))
		}
		group.Zones = append(group.Zones, zone)
	}
	return group
}

func podAsText(p plan.RolledPod) rolledPod {
	return rolledPod{
		Name: p.Name, UID: p.UID, Successor: p.Successor, Open: p.Open, Cause: string(p.Cause),
		Deleted: Written(p.Deleted), Recreated: Written(p.Recreated), Ready: written(p.Ready), Seen: p.Seen,
	}
}

// written is Written, except that it keeps the zero time.
func written(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return Written(t)
}

// ParseRollouts parses the result of FormatRollouts. Any other text counts as empty and needs no action.
func ParseRollouts(text string) plan.Rollouts {
	var doc rolledGroups
	if text == "" || len(text) > MaxRollouts || json.Unmarshal([]byte(text), &doc) != nil || doc.Version != rolloutsVersion {
		return plan.Rollouts{}
	}
	var r plan.Rollouts
	known := texts{}
	if doc.Current != nil && doc.Current.readable() && written(doc.Current.Until).IsZero() {
		r.Current = known.group(*doc.Current)
	}
	for _, group := range doc.Finished {
		if group.readable() && !written(group.Until).IsZero() {
			r.Finished = append(r.Finished, known.group(group))
		}
	}
	for _, one := range doc.Replacements {
		if traceable(one.Trace) && one.Pod.readable() {
			r.Replacements = append(r.Replacements, plan.Replacement{Trace: one.Trace, RolledPod: known.pod(one.Pod)})
		}
	}
	if r = history.Bounded(r); len(FormatRollouts(r)) > MaxRollouts {
		return plan.Rollouts{} // no real names are that long, and the Lease might be too large to write
	}
	return r
}

// readable reports whether a rollout can be written again unchanged and in no more bytes.
func (g rolledGroup) readable() bool {
	good := traceable(g.Trace) && !written(g.Since).IsZero() && writable(g.Since) && writable(g.Until)
	for _, z := range g.Zones {
		good = good && z.Name != "" && plain(z.Name, z.UID, z.From, z.To) && !written(z.Since).IsZero() && writable(z.Since) && writable(z.Until)
		for _, p := range z.Pods {
			good = good && p.readable()
		}
	}
	return good
}

func (p *rolledPod) readable() bool {
	return p.Name != "" && plain(p.Name, p.UID, p.Successor, p.Cause) && writable(p.Deleted) && writable(p.Recreated) && writable(p.Ready)
}

// traceable reports whether a text is a W3C traceparent, or empty.
func traceable(text string) bool { return text == "" || TraceID(text) != "" }

// plain reports whether texts can be names: short, of printable characters that JSON does not escape.
func plain(texts ...string) bool {
	const escaped = `"\<>&`
	return !slices.ContainsFunc(texts, func(text string) bool {
		return len(text) > longestName || strings.ContainsFunc(text, func(r rune) bool {
			return r < ' ' || r > '~' || strings.ContainsRune(escaped, r)
		})
	})
}

// TraceID returns the trace ID of a W3C traceparent, or "" for any other text.
func TraceID(text string) string {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || !isID(parts[1], 32) || !isID(parts[2], 16) || len(parts[3]) != 2 || strings.Trim(parts[3], hexDigits) != "" {
		return ""
	}
	return parts[1]
}

// longestName is the longest name that an API object can have.
const longestName = 253

const hexDigits = "0123456789abcdef"

// isID reports whether text is an ID with this number of hexadecimal digits.
func isID(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, hexDigits) == "" && strings.Trim(text, "0") != ""
}

// texts keeps one copy of each text. The same zones occur in every rollout, and the revision at which one
// rollout ends is that from which the next one begins.
type texts map[string]string

func (t texts) one(text string) string {
	if known, is := t[text]; is {
		return known
	}
	t[text] = text
	return text
}

func (t texts) group(g rolledGroup) plan.RolledGroup {
	r := plan.RolledGroup{Trace: g.Trace, Since: g.Since, Until: written(g.Until), Exported: g.Exported}
	if len(g.Zones) > 0 {
		r.Zones = make([]plan.RolledZone, len(g.Zones))
	}
	for i, z := range g.Zones {
		r.Zones[i] = plan.RolledZone{
			Name: t.one(z.Name), UID: t.one(z.UID), From: t.one(z.From), To: t.one(z.To), Budget: z.Budget,
			Since: z.Since, Until: written(z.Until), Replaced: z.Replaced, Exported: z.Exported, Pods: t.pods(z.Pods),
		}
	}
	return r
}

func (t texts) pods(all []rolledPod) []plan.RolledPod {
	var pods []plan.RolledPod
	for _, p := range all {
		pods = append(pods, t.pod(p))
	}
	return pods
}

func (t texts) pod(p rolledPod) plan.RolledPod {
	return plan.RolledPod{
		Name: t.one(p.Name), UID: p.UID, Successor: p.Successor, Open: p.Open,
		Cause: reason.Code(t.one(p.Cause)), Deleted: p.Deleted, Recreated: p.Recreated, Ready: written(p.Ready), Seen: p.Seen,
	}
}
