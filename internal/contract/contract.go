// Package contract has the words that users write on their objects, their
// grammar and their defaults, and those that lockstep writes.
//
// The names under grafana.com and the plain ones are those of the predecessor
// and stay as they are (docs/contract.md, which is generated from Words). What
// cannot be read never becomes an error here: it becomes a value that says so.
// It knows strings, not API objects.
package contract

import "github.com/lockstep-dev/lockstep/internal/plan"

// Words on StatefulSets.
const (
	GroupLabel               = "rollout-group"
	RolloutGroupAnnotation   = "lockstep.dev/rollout-group" // counts before the label
	MaxUnavailableAnnotation = "rollout-max-unavailable"
	PausedAnnotation         = "grafana.com/rollout-paused"
	PausedUntilAnnotation    = "lockstep.dev/paused-until"
	PausedReasonAnnotation   = "lockstep.dev/paused-reason"

	// MinBetweenName is an annotation or, as it used to be, a label.
	MinBetweenName       = "grafana.com/min-time-between-zones-downscale"
	DownscaledAnnotation = "grafana.com/last-downscale"

	LeaderAnnotation      = "grafana.com/rollout-downscale-leader"
	AfterLeaderAnnotation = "grafana.com/rollout-upscale-only-when-leader-ready"
	ForceAnnotation       = "grafana.com/rollout-force-replicas"

	MirrorNameAnnotation       = "grafana.com/rollout-mirror-replicas-from-resource-name"
	MirrorKindAnnotation       = "grafana.com/rollout-mirror-replicas-from-resource-kind"
	MirrorAPIVersionAnnotation = "grafana.com/rollout-mirror-replicas-from-resource-api-version"
	MirrorWriteBackAnnotation  = "grafana.com/rollout-mirror-replicas-from-resource-write-back"

	DelayAnnotation    = "grafana.com/rollout-delayed-downscale"
	DelayURLAnnotation = "grafana.com/rollout-prepare-delayed-downscale-url"

	PrepareDownscaleLabel = "grafana.com/prepare-downscale"
	PreparePortAnnotation = "grafana.com/prepare-downscale-http-port"
	PreparePathAnnotation = "grafana.com/prepare-downscale-http-path"
)

// Words on StatefulSets, Deployments and ReplicaSets.
const (
	NoDownscaleLabel = "grafana.com/no-downscale"
	IgnoreAnnotation = "lockstep.dev/ignore"
)

// FieldManager is as whom lockstep writes, by its user agent: metadata.managedFields names it.
const FieldManager = "lockstep"

// Names of objects.
const (
	// ZoneTrackerName is the ConfigMap in which the predecessor kept when zones shrank.
	ZoneTrackerName = "rollout-operator-zone-tracker"
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

// NameAnnotation returns the annotation on a Lease that names what the hold is about: one of that kind.
func NameAnnotation(kind plan.Kind) string { return "lockstep.dev/" + kind.Word() }

// Words on the Lease of a group.
const (
	HoldLabel            = "lockstep.dev/hold"
	HoldLabelGroup       = "group"
	IntentsAnnotation    = "lockstep.dev/intents"
	ZonesAnnotation      = "lockstep.dev/zones"
	WaitingAnnotation    = "lockstep.dev/waiting"
	DownscalesAnnotation = "lockstep.dev/last-downscales"
	GivenUpAnnotation    = "lockstep.dev/failed-downscales"
	AgreedAnnotation     = "lockstep.dev/delayed-downscales"
	TraceAnnotation      = "lockstep.dev/trace"
	RolloutsAnnotation   = "lockstep.dev/rollouts"
	ActorAnnotation      = "lockstep.dev/last-actor"
)

// Words on RolloutGroups.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "lockstep"
)

// Words on pods.
const (
	// WithdrawnAnnotation is changed to void a delete that is no longer wanted.
	WithdrawnAnnotation = "lockstep.dev/withdrawn"
)

// Words on StatefulSets that only lockstep writes.
const (
	// VoidedAnnotation is changed so that an update in flight is judged again.
	VoidedAnnotation = "lockstep.dev/voided"
)

// Words on the Secret with the webhooks' certificate.
const (
	// RotateAnnotation asks for a new certificate by having a new value.
	RotateAnnotation        = "lockstep.dev/rotate"
	RotatedAnnotation       = "lockstep.dev/rotated"
	RotationSinceAnnotation = "lockstep.dev/rotation-since"
)

// Words on webhook configurations.
const (
	InjectLabel            = "lockstep.dev/inject-ca"
	InjectLabelPredecessor = "grafana.com/inject-rollout-operator-ca"
	InjectNamespaceLabel   = "grafana.com/namespace"
)

// Words on ClusterRoles.
const (
	// ReferencesLabel adds a role to what lockstep may do with resources whose
	// replicas zones take over.
	ReferencesLabel = "lockstep.dev/aggregate-to-references"
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
	{RolloutGroupAnnotation, "StatefulSet", "annotation", you, "name of the group, in place of what the label `rollout-group` says: up to 63 letters, digits, `-`, `_` and `.`, the first and the last a letter or digit", "the label counts", "the label counts, and a Warning Event says so"},
	{IgnoreAnnotation, "StatefulSet, Deployment, ReplicaSet", "annotation", you, "`true`: lockstep leaves the object alone, as if it had no label and no other annotation of this page", "not ignored", "like absent; a Warning Event says so where it is a StatefulSet of a group"},
	{MaxUnavailableAnnotation, "StatefulSet", "annotation", you, "a positive whole number, or a percentage `1%` to `100%` of `spec.replicas`, rounded down, at least one pod", "1", "1, and a Warning Event says so"},
	{PausedAnnotation, "StatefulSet", "annotation", you, "`true`", "not paused", "like absent, and a Warning Event says so"},
	{PausedUntilAnnotation, "StatefulSet", "annotation", you, "when the pause is over, RFC 3339", "it lasts until `grafana.com/rollout-paused` is removed", "as if it were absent, and a Warning Event says so"},
	{PausedReasonAnnotation, "StatefulSet", "annotation", you, "why the zone is paused, for people: `kubectl lockstep` shows it", "-", "-"},
	{LeaderAnnotation, "StatefulSet", "annotation", you, "name of another StatefulSet of the group: the zone has as many replicas as that one", "the zone follows nobody", "the zone keeps its replicas, and what it waits for says so: no such StatefulSet in the group, or leaders that go round in a circle"},
	{AfterLeaderAnnotation, "StatefulSet", "annotation", you, "`true`: the zone is scaled up only once its leader has that many pods and all of them are available", "it grows with its leader", "like absent, and a Warning Event says so"},
	{ForceAnnotation, "StatefulSet", "annotation", you, "a whole number from 0 to 2147483647: the zone has so many replicas, whatever its leader asks for; an Event and a metric say so while it stands", "nothing is forced", "nothing is forced, and a Warning Event says so"},
	{MirrorNameAnnotation, "StatefulSet", "annotation", you, "name of an object with a scale subresource in the same namespace: the zone has as many replicas as that asks for", "no replicas are taken over", "the zone keeps its replicas, and what it waits for says what is wrong; so it is where only one of name and kind is there"},
	{MirrorKindAnnotation, "StatefulSet", "annotation", you, "kind of that object, like `ReplicaTemplate`", "no replicas are taken over", "as for the name"},
	{MirrorAPIVersionAnnotation, "StatefulSet", "annotation", you, "its group and version, like `rollout-operator.grafana.com/v1`; only the group counts", "the core group of Kubernetes", "as for the name"},
	{MirrorWriteBackAnnotation, "StatefulSet", "annotation", you, "`true` or `false` (`1`, `t`, `0`, `f` and the like): whether the status of that object says how many replicas there are", "it says so, unless it is of a kind of Kubernetes' own, whose status belongs to its controller", "like `false`"},
	{DelayAnnotation, "StatefulSet", "annotation", you, "a duration like `1h30m` or `2d` (whole numbers with `y`, `w`, `d`, `h`, `m`, `s`, `ms`, longer units first): for so long a pod that will leave goes on after it has said that it is ready to; only on zones that take over the replicas of a resource and have a `spec.serviceName`", "or `0`: nobody waits, and nobody is told anything; a Warning Event says so where the URL is there alone", "the zone grows and does not shrink, and what it waits for says so"},
	{DelayURLAnnotation, "StatefulSet", "annotation", you, "by which pods are told that they will leave (POST) or stay (DELETE): a URL like `http://pod:8080/prepare-downscale`, of which scheme (`http` or `https`), port, path and query count; the pod's own address is called, whatever host is named", "nobody waits, and nobody is told anything; a Warning Event says so where the delay is there alone", "the zone grows and does not shrink, and what it waits for says so"},
	{PrepareDownscaleLabel, "StatefulSet", "label", you, "`true`: pods are asked to prepare before they leave, by the names that `spec.serviceName` gives them", "pods leave unprepared", "like absent, and a Warning Event says so"},
	{PreparePortAnnotation, "StatefulSet", "annotation", you, "the port that answers the prepare call: a number from 1 to 65535", "a downscale that asks for preparation is refused", "a downscale that asks for preparation is refused, and the message says what is wrong"},
	{PreparePathAnnotation, "StatefulSet", "annotation", you, "the path of the prepare call, with or without a slash at its beginning, and a query if need be: `ingester/prepare-shutdown?unregister=true`; slashes in a row count as one; no host, no `.` or `..` segments, no `@` or `#`, at most 1024 characters", "a downscale that asks for preparation is refused", "a downscale that asks for preparation is refused, and the message says what is wrong"},
	{MinBetweenName, "StatefulSet", "annotation, or else label", you, "a duration like `12h` or `1h30m`: at least so long between a downscale of another zone and one of this; of two zones the longer one counts", "no minimum", "downscales of the group are refused, and the message says why"},
	{DownscaledAnnotation, "StatefulSet", "annotation", us, "when the zone shrank last, RFC 3339 in whole seconds; the later one of this and of what the Lease says counts", "not known", "downscales of other zones are refused until it is written again, and the message says why"},
	{NoDownscaleLabel, "StatefulSet, Deployment, ReplicaSet", "label", you, "`true`", "may shrink", "like absent; a Warning Event says so where it is a StatefulSet of a group"},
	{RevisionLabel, "Pod", "label", k8s, "the pod's revision", "the pod counts as outdated", "the pod counts as outdated"},
	{HoldLabel, "Lease", "label", us, "`group`", "no watch shows it; who looks respects it", "no watch shows it; who looks respects it"},
	{NameAnnotation(plan.KindGroup), "Lease", "annotation", us, "name of the group", "written again", "written again"},
	{NameAnnotation(plan.KindStatefulSet), "Lease", "annotation", us, "name of the StatefulSet, where it belongs to no group", "-", "written again"},
	{NameAnnotation(plan.KindBudget), "Lease", "annotation", us, "name of the ZoneAwarePodDisruptionBudget that covers StatefulSets without a group", "-", "written again"},
	{IntentsAnnotation, "Lease", "annotation", us, "the pods about to be taken down or on their way back, and the decrease that is under way, as JSON with a version", "none", "the hold is respected as it is, and a person is told"},
	{WaitingAnnotation, "Lease", "annotation", us, "operations that were refused and ask again, as JSON, first come first", "nobody waits", "nobody waits"},
	{DownscalesAnnotation, "Lease", "annotation", us, "when each zone shrank last, as JSON", "not known", "the hold is respected as it is, and a person is told"},
	{GivenUpAnnotation, "Lease", "annotation", us, "when a downscale of lockstep's own failed that is not tried again yet, by zone, as JSON", "none failed", "none failed"},
	{AgreedAnnotation, "Lease", "annotation", us, "since when which pods are ready to leave after a delay, by zone, as JSON", "nobody is", "nobody is: who leaves waits anew"},
	{TraceAnnotation, "Lease", "annotation", us, "W3C traceparent of the rollout", "a new trace begins", "a new trace begins"},
	{ZonesAnnotation, "Lease", "annotation", us, "the zones of the group, each with the UID of its StatefulSet, as JSON with a version; one that leaves the group while its pods live on is remembered by it", "none is remembered", "the hold is respected as it is"},
	{RolloutsAnnotation, "Lease", "annotation", us, "the rollout that is under way and the last five, for people and for traces, as JSON with a version; nothing is decided by it", "none is remembered", "none is remembered"},
	{ActorAnnotation, "Lease", "annotation", us, "the process that wrote last, for people", "-", "-"},
	{VoidedAnnotation, "StatefulSet", "annotation", us, "changed when an admitted downscale does not come, so that it is judged again if it is still on its way", "-", "-"},
	{InjectLabel, "webhook configuration", "label", you, "`true`: the CA is injected", "not injected", "not injected"},
	{InjectLabelPredecessor, "webhook configuration", "label", you, "`true`, beside `grafana.com/namespace`: the CA is injected", "not injected", "not injected"},
	{InjectNamespaceLabel, "webhook configuration", "label", you, "a managed namespace: the configuration belongs to who manages it", "only `lockstep.dev/inject-ca` counts, and only where the whole cluster is managed", "not injected"},
	{ReferencesLabel, "ClusterRole", "label", you, "`true`: what the role grants is granted to lockstep, for resources whose replicas zones take over", "not granted", "like absent"},
	{RotateAnnotation, "Secret", "annotation", you, "any value that it did not have before: the webhooks' certificate is rotated", "-", "-"},
	{RotatedAnnotation, "Secret", "annotation", us, "the value of `lockstep.dev/rotate` that was answered last", "-", "-"},
	{RotationSinceAnnotation, "Secret", "annotation", us, "when the wait of the rotation's present phase began", "it begins now", "it begins now"},
	{ManagedByLabel, "RolloutGroup", "label", us, "`lockstep`: lockstep made the object, writes it and removes it", "-", "the object is left alone"},
	{WithdrawnAnnotation, "Pod", "annotation", us, "changed to void a delete that is no longer wanted", "-", "-"},
}
