// Package diagnosis returns what Kubernetes knows of a pod that does not terminate, does not
// start or does not become Ready: finalizers, its node, the scheduler's message, its claims and
// how its containers ended.
//
// A caller reads the objects; this package describes them. No decision depends on it. Texts of
// other programs are quoted, escaped and shortened.
package diagnosis

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Subject is the kind of thing that a Fact is about.
type Subject string

// The subjects.
const (
	Pod           Subject = "pod"
	Finalizer     Subject = "finalizer"
	Deletion      Subject = "deletion"
	Node          Subject = "node"
	Scheduler     Subject = "scheduler"
	Claim         Subject = "claim"
	Container     Subject = "container"
	ReadinessGate Subject = "readinessGate"
	StatefulSet   Subject = "statefulSet"
)

// Fact is one thing that Kubernetes knows of a pod.
type Fact struct {
	About Subject `json:"about"`
	Name  string  `json:"name,omitempty"` // of the subject, if it is not the pod
	Says  string  `json:"says"`           // a clause with its own subject
	ToDo  string  `json:"toDo,omitempty"`
}

// Clauses returns the texts of all facts in one line.
func Clauses(facts []Fact) string {
	var says []string
	for _, f := range facts {
		says = append(says, f.Says)
	}
	return strings.Join(says, "; ")
}

// Maximum lengths of a name, a reason and a quotation, in bytes.
const (
	longestName   = 253
	longestReason = 64
	longestQuote  = 240
)

func name(text string) string { return plan.Plain(text, longestName) }

// most is the maximum number of containers, of gates and of finalizers that are returned.
const most = 5

func names(texts []string) string {
	var plain []string
	for _, text := range texts[:min(len(texts), most)] {
		plain = append(plain, name(text))
	}
	if len(texts) > most {
		return strings.Join(plain, ", ") + " and others"
	}
	return strings.Join(plain, ", ")
}

// because returns a reason and a message, to be appended to a state.
func because(reason, message string) string {
	var parts []string
	if reason != "" {
		parts = append(parts, plan.Plain(reason, longestReason))
	}
	if message != "" {
		parts = append(parts, quoted(message))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, " ")
}

// quoted returns a text as a Go string literal, shortened if it is long.
func quoted(text string) string {
	var b strings.Builder
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		part := strconv.Quote(text[:size])
		part = part[1 : len(part)-1]
		if b.Len()+len(part) > longestQuote {
			b.WriteString("...")
			break
		}
		b.WriteString(part)
		text = text[size:]
	}
	return `"` + b.String() + `"`
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
