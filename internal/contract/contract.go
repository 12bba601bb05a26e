// Package contract has the words that users write on their objects, their
// grammar and their defaults, and those that lockstep writes.
//
// The names under grafana.com and the plain ones are those of the predecessor
// and stay as they are (docs/contract.md, which is generated from Words). What
// cannot be read never becomes an error here: it becomes a value that says so.
// Floor 2: pure; it knows strings, not API objects.
package contract

// Words on StatefulSets.
const (
	GroupLabel               = "rollout-group"
	MaxUnavailableAnnotation = "rollout-max-unavailable"
	PausedAnnotation         = "grafana.com/rollout-paused"
)

// Words that Kubernetes writes.
const (
	// RevisionLabel is on pods of a StatefulSet and names their revision.
	RevisionLabel = "controller-revision-hash"
)

// Words on Namespaces.
const (
	// OptInSelector is the default of -namespaces.selector.
	OptInSelector = "lockstep.dev/enabled=true"
)

// Words on the Lease of a group.
const (
	HoldLabel         = "lockstep.dev/hold"
	HoldLabelGroup    = "group"
	GroupAnnotation   = "lockstep.dev/group"
	IntentsAnnotation = "lockstep.dev/intents"
	TraceAnnotation   = "lockstep.dev/trace"
	ActorAnnotation   = "lockstep.dev/last-actor"
)

// Words on pods.
const (
	// WithdrawnAnnotation is changed to void a delete that is no longer wanted.
	WithdrawnAnnotation = "lockstep.dev/withdrawn"
)

// Word is one row of docs/contract.md.
type Word struct {
	Name    string
	On      string // the kind of object it stands on
	As      string // label or annotation
	Writer  string // who writes it
	Value   string
	Absent  string
	Invalid string
}

// Words returns every label and annotation that has a meaning.
func Words() []Word { return append([]Word(nil), words...) }

const (
	you = "you"
	us  = "lockstep"
	k8s = "Kubernetes"
)

var words = []Word{
	{"lockstep.dev/enabled", "Namespace", "label", you, "`true` (or whatever `-namespaces.selector` says)", "the namespace is never written to", "like absent"},
	{GroupLabel, "StatefulSet", "label", you, "name of the group, any value", "not managed", "an empty value forms a group with an empty name, and a Warning Event says so"},
	{MaxUnavailableAnnotation, "StatefulSet", "annotation", you, "a positive whole number, or a percentage `1%` to `100%` of `spec.replicas`, rounded down, at least one pod", "1", "1, and a Warning Event says so"},
	{PausedAnnotation, "StatefulSet", "annotation", you, "`true`", "not paused", "anything but `true` is not paused"},
	{RevisionLabel, "Pod", "label", k8s, "the pod's revision", "the pod counts as outdated", "the pod counts as outdated"},
	{HoldLabel, "Lease", "label", us, "`group`", "not a hold", "not a hold"},
	{GroupAnnotation, "Lease", "annotation", us, "name of the group", "written again", "written again"},
	{IntentsAnnotation, "Lease", "annotation", us, "the pods about to be taken down or on their way back, as JSON with a version", "none", "the hold is respected as it is, and a person is told"},
	{TraceAnnotation, "Lease", "annotation", us, "W3C traceparent of the rollout", "a new trace begins", "a new trace begins"},
	{ActorAnnotation, "Lease", "annotation", us, "the process that wrote last, for people", "-", "-"},
	{WithdrawnAnnotation, "Pod", "annotation", us, "changed to void a delete that is no longer wanted", "-", "-"},
}
