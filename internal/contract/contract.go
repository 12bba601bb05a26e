// Package contract contains the labels and annotations that users and lockstep write on objects, with their
// grammar and defaults.
//
// The names under grafana.com and those without a domain come from the predecessor and do not change
// (docs/contract.md, which is generated from Words). An invalid value is never an error here; it results in a
// value that records the defect. The package works on strings, not on API objects.
package contract

import "github.com/lockstep-dev/lockstep/internal/plan"

// Names on StatefulSets.
const (
	GroupLabel               = "rollout-group"
	RolloutGroupAnnotation   = "lockstep.dev/rollout-group" // takes precedence over the label
	MaxUnavailableAnnotation = "rollout-max-unavailable"
	PausedAnnotation         = "grafana.com/rollout-paused"
	PausedUntilAnnotation    = "lockstep.dev/paused-until"
	PausedReasonAnnotation   = "lockstep.dev/paused-reason"

	// MinBetweenName is an annotation or, for compatibility, a label.
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

// Names on StatefulSets, Deployments and ReplicaSets.
const (
	NoDownscaleLabel = "grafana.com/no-downscale"
	IgnoreAnnotation = "lockstep.dev/ignore"
)

// FieldManager is the name in metadata.managedFields for writes by lockstep. It comes from the user agent.
const FieldManager = "lockstep"

// Names of objects.
const (
	// ZoneTrackerName is the ConfigMap in which the predecessor recorded when zones were scaled down.
	ZoneTrackerName = "rollout-operator-zone-tracker"
)

// Names that Kubernetes writes.
const (
	// RevisionLabel is the label with the revision on pods of a StatefulSet.
	RevisionLabel = "controller-revision-hash"
	// RestartedAtAnnotation is the annotation of pod templates that kubectl rollout restart sets.
	RestartedAtAnnotation = "kubectl.kubernetes.io/restartedAt"
)

// Names on Namespaces.
const (
	// OptInSelector is the default of -namespaces.selector.
	OptInSelector = "lockstep.dev/enabled=true"
)

// NameAnnotation returns the annotation on a Lease that names the object of that kind to which the hold
// belongs.
func NameAnnotation(kind plan.Kind) string { return "lockstep.dev/" + kind.Word() }

// HoldLabelOf returns the value of HoldLabel on the Lease of a workload of that kind. A process watches only the values
// of the kinds that are enabled.
func HoldLabelOf(kind plan.Kind) string {
	if kind == plan.KindStatefulCluster {
		return kind.Word()
	}
	return plan.KindGroup.Word()
}

// Names on the pods and claims of a StatefulCluster.
const (
	PoolLabel               = "lockstep.dev/statefulcluster"
	InstanceIDLabel         = "lockstep.dev/instance-id"
	ClaimLabel              = "lockstep.dev/claim"
	PoolUIDLabel            = "lockstep.dev/pool-uid"
	RetiredAtAnnotation     = "lockstep.dev/retired-at"
	RetiredReasonAnnotation = "lockstep.dev/retired-reason"
	ClaimsGate              = "lockstep.dev/claims"
	UpdateGate              = "lockstep.dev/InPlaceUpdateReady"
	SiblingsAnnotation      = "lockstep.dev/claim-templates"
	KeepAnnotation          = "lockstep.dev/keep"
	StorageAnnotation       = "lockstep.dev/storage"
	AdoptAnnotation         = "lockstep.dev/adopt"
	SpecifiedDeleteLabel    = "lockstep.dev/specified-delete"
	RetainIdentityLabel     = "lockstep.dev/retain-identity"
	HandoverAnnotation      = "lockstep.dev/handover-from"
	InPlaceUpdateAnnotation = "lockstep.dev/inplace-update"
	DeletionCostAnnotation  = "controller.kubernetes.io/pod-deletion-cost"
)

// Names on the Lease of a workload.
const (
	HoldLabel              = "lockstep.dev/hold"
	IntentsAnnotation      = "lockstep.dev/intents"
	ZonesAnnotation        = "lockstep.dev/zones"
	WaitingAnnotation      = "lockstep.dev/waiting"
	DownscalesAnnotation   = "lockstep.dev/last-downscales"
	GivenUpAnnotation      = "lockstep.dev/failed-downscales"
	AcknowledgedAnnotation = "lockstep.dev/delayed-downscales"
	ReplicasAnnotation     = "lockstep.dev/replicas"
	TraceAnnotation        = "lockstep.dev/trace"
	RolloutsAnnotation     = "lockstep.dev/rollouts"
	ActorAnnotation        = "lockstep.dev/last-actor"
)

// Names on RolloutGroups.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "lockstep"
)

// Names on pods.
const (
	// WithdrawnAnnotation gets a new value when a planned deletion is cancelled, so that a pending delete
	// request fails.
	WithdrawnAnnotation = "lockstep.dev/withdrawn"
)

// Names on StatefulSets that only lockstep writes.
const (
	// VoidedAnnotation gets a new value so that an update in flight fails or is evaluated again.
	VoidedAnnotation = "lockstep.dev/voided"
)

// Names on the Secret with the certificate of the webhooks.
const (
	// RotateAnnotation requests a new certificate each time its value changes.
	RotateAnnotation        = "lockstep.dev/rotate"
	RotatedAnnotation       = "lockstep.dev/rotated"
	RotationSinceAnnotation = "lockstep.dev/rotation-since"
)

// Names on webhook configurations.
const (
	InjectLabel            = "lockstep.dev/inject-ca"
	InjectLabelPredecessor = "grafana.com/inject-rollout-operator-ca"
	InjectNamespaceLabel   = "grafana.com/namespace"
)

// Names on ClusterRoles.
const (
	// ReferencesLabel grants the permissions of a role to lockstep, for resources whose replicas zones
	// mirror.
	ReferencesLabel = "lockstep.dev/aggregate-to-references"
)

// Word is one row of docs/contract.md.
type Word struct {
	Name    string
	On      string // the kinds of objects that have it
	As      string // label or annotation
	Writer  string // you, lockstep or Kubernetes
	Value   string
	Absent  string
	Invalid string
}

// Words returns all labels and annotations of the contract.
func Words() []Word { return append([]Word(nil), words...) }

const (
	you = "you"
	us  = "lockstep"
	k8s = "Kubernetes"
)

var words = []Word{
	{"lockstep.dev/enabled", "Namespace", "label", you, "`true`, or what `-namespaces.selector` selects", "lockstep never writes to the namespace", "same as absent"},
	{GroupLabel, "StatefulSet", "label", you, "name of the group; any value is valid", "the StatefulSet is not managed", "an empty value forms a group with an empty name; a Warning Event reports it"},
	{RolloutGroupAnnotation, "StatefulSet", "annotation", you, "name of the group, which takes precedence over the label `rollout-group`: up to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends", "the label counts", "the label counts; a Warning Event reports it"},
	{IgnoreAnnotation, "StatefulSet, Deployment, ReplicaSet", "annotation", you, "`true`: lockstep ignores the object's label `rollout-group` and all its other labels and annotations in this table", "the object is not ignored", "same as absent; for a StatefulSet of a group, a Warning Event reports it"},
	{MaxUnavailableAnnotation, "StatefulSet", "annotation", you, "how many pods of the zone may be unavailable at a time: a positive whole number, or a percentage of `spec.replicas` from `1%` to `100%`, rounded down, at least one pod", "1", "1; a Warning Event reports it"},
	{PausedAnnotation, "StatefulSet", "annotation", you, "`true`: lockstep pauses the zone", "the zone is not paused", "same as absent; a Warning Event reports it"},
	{PausedUntilAnnotation, "StatefulSet, StatefulCluster", "annotation", you, "when the pause ends, as an RFC 3339 time", "the pause ends when `grafana.com/rollout-paused` is removed, or `spec.paused` of a StatefulCluster", "same as absent; a Warning Event reports it"},
	{PausedReasonAnnotation, "StatefulSet, StatefulCluster", "annotation", you, "why the zone or the StatefulCluster is paused; `kubectl lockstep` shows it", "-", "-"},
	{LeaderAnnotation, "StatefulSet", "annotation", you, "name of another StatefulSet of the group, the leader: the zone takes its number of replicas", "the zone follows no leader", "the zone keeps its replicas, and its wait reports that the group has no such StatefulSet, or that the leaders form a circle"},
	{AfterLeaderAnnotation, "StatefulSet", "annotation", you, "`true`: the zone is scaled up only once its leader has that many pods and all of them are available", "the zone is scaled up together with its leader", "same as absent; a Warning Event reports it"},
	{ForceAnnotation, "StatefulSet", "annotation", you, "the zone's number of replicas, regardless of its leader: a whole number from 0 to 2147483647; an Event and a metric report the annotation while it is set", "the number is not forced", "same as absent; a Warning Event reports it"},
	{MirrorNameAnnotation, "StatefulSet", "annotation", you, "name of an object in the same namespace that has a scale subresource: the zone takes the replicas that this object asks for", "the zone mirrors no object", "the zone keeps its replicas, and its wait reports what is wrong; the same happens if only one of name and kind is set"},
	{MirrorKindAnnotation, "StatefulSet", "annotation", you, "kind of that object, such as `ReplicaTemplate`", "the zone mirrors no object", "as for the name"},
	{MirrorAPIVersionAnnotation, "StatefulSet", "annotation", you, "API group and version of that object, such as `rollout-operator.grafana.com/v1`; only the API group counts", "the core API group", "as for the name"},
	{MirrorWriteBackAnnotation, "StatefulSet", "annotation", you, "`true` or `false`, also `1`, `t`, `0`, `f` and the other forms that Go accepts: whether lockstep writes the number of replicas into the status of that object", "`true`, except for Kubernetes' own kinds, whose controllers write their status", "same as `false`"},
	{DelayAnnotation, "StatefulSet", "annotation", you, "how long a pod of a downscale keeps running after it has acknowledged that it is ready to leave: a duration such as `1h30m` or `2d` (whole numbers with `y`, `w`, `d`, `h`, `m`, `s`, `ms`, longer units first); only for zones that mirror an object and have a `spec.serviceName`", "or `0`: no downscale is delayed, and no pod is called; if only the URL is set, a Warning Event reports it", "the zone is scaled up and not down, and its wait reports what is wrong"},
	{DelayURLAnnotation, "StatefulSet", "annotation", you, "the call that notifies pods that they will leave (POST) or stay (DELETE): a URL such as `http://pod:8080/prepare-downscale`; scheme (`http` or `https`), port, path and query count; lockstep ignores the host and calls the pod's own address", "no downscale is delayed, and no pod is called; if only the delay is set, a Warning Event reports it", "the zone is scaled up and not down, and its wait reports what is wrong"},
	{PrepareDownscaleLabel, "StatefulSet", "label", you, "`true`: before a downscale deletes pods, lockstep asks them to prepare; it calls them by the names that `spec.serviceName` gives them", "pods are deleted without preparation", "same as absent; a Warning Event reports it"},
	{PreparePortAnnotation, "StatefulSet", "annotation", you, "port of the prepare call: a number from 1 to 65535", "lockstep refuses a downscale that requires preparation", "lockstep refuses a downscale that requires preparation; the message reports what is wrong"},
	{PreparePathAnnotation, "StatefulSet", "annotation", you, "path of the prepare call, with or without a slash at its beginning, and with a query if you need one: `ingester/prepare-shutdown?unregister=true`; consecutive slashes count as one; no host, no `.` or `..` segment, no `@` or `#`, at most 1024 characters", "lockstep refuses a downscale that requires preparation", "lockstep refuses a downscale that requires preparation; the message reports what is wrong"},
	{MinBetweenName, "StatefulSet", "annotation, or else label", you, "minimum time between a downscale of another zone and a downscale of this zone: a duration such as `12h` or `1h30m`; if two zones have different values, the longer one counts", "no minimum", "lockstep refuses downscales of the group; the message reports what is wrong"},
	{DownscaledAnnotation, "StatefulSet", "annotation", us, "when the zone was last scaled down, as an RFC 3339 time in whole seconds; the later of this time and the time in the Lease counts", "the time is not known", "lockstep refuses downscales of other zones until a person corrects or removes the annotation, or the zone scales down again; the message reports what is wrong"},
	{NoDownscaleLabel, "StatefulSet, Deployment, ReplicaSet", "label", you, "`true`: the object must not be scaled down; the webhook no-downscale refuses it, and lockstep does not do it", "downscales are allowed", "same as absent; for a StatefulSet of a group, a Warning Event reports it"},
	{RevisionLabel, "Pod", "label", k8s, "the pod's revision", "the pod counts as outdated", "the pod counts as outdated"},
	{RestartedAtAnnotation, "pod template of a StatefulCluster", "annotation", you, "a new value: each pod is deleted, and created again as for any change that is impossible in place", "-", "-"},
	{PoolLabel, "Pod, PersistentVolumeClaim, Lease", "label, or annotation of a Lease", us, "name of the StatefulCluster", "lockstep does not see the pod or claim; the annotation of a Lease is written again", "same as absent"},
	{InstanceIDLabel, "Pod, PersistentVolumeClaim", "label", us, "the identity of the pod, or of the claim's pod", "the object belongs to no identity", "same as absent"},
	{ClaimLabel, "PersistentVolumeClaim", "label", us, "name of the claim template", "the claim is no claim of a template", "same as absent"},
	{PoolUIDLabel, "PersistentVolumeClaim", "label", us, "UID of the StatefulCluster for which the claim was created", "lockstep never marks the claim", "same as absent"},
	{RetiredAtAnnotation, "PersistentVolumeClaim", "annotation", us, "when the identity ended, as an RFC 3339 time", "the identity has not ended", "the identity has ended"},
	{RetiredReasonAnnotation, "PersistentVolumeClaim", "annotation", us, "why the identity ended: a code of the reasons", "-", "-"},
	{SpecifiedDeleteLabel, "Pod", "label or annotation", you, "`true`: this pod of a StatefulCluster leaves first if `spec.replicas` is lowered; otherwise a new identity takes its place", "the pod stays", "same as absent"},
	{RetainIdentityLabel, "Pod, and PersistentVolumeClaim by lockstep", "label or annotation", you, "`true`: the identity of the pod gets another pod with the same claims, however this one ends; it counts once lockstep has written it on the claims", "spec.identityPolicy counts", "same as absent"},
	{KeepAnnotation, "PersistentVolumeClaim", "annotation", you, "`true`: lockstep never deletes the claim, nor the other claims of its identity", "spec.persistentVolumeClaimRetentionPolicy counts", "same as absent"},
	{StorageAnnotation, "PersistentVolumeClaim", "annotation", us, "the storage for which lockstep has asked", "lockstep reads the claim before it asks for more", "same as absent"},
	{AdoptAnnotation, "StatefulCluster", "annotation", you, "`true`: before pods are created, lockstep adopts the pods that match the selector, have names that begin with that of the StatefulCluster, and belong to nothing; it waits for those that belong to another object, unless that is a Job, ReplicaSet, ReplicationController, DaemonSet or another StatefulCluster", "only pods with the labels of the StatefulCluster are adopted", "same as absent"},
	{SiblingsAnnotation, "PersistentVolumeClaim", "annotation", us, "the claim templates of all claims of the identity, separated by commas", "the claim does not say which other claims the identity has", "the names count that can be read"},
	{HandoverAnnotation, "Pod, PersistentVolumeClaim", "annotation", us, "UID of the pod from which the identity was handed over, or is about to be", "the identity had no other pod", "the claim is not one of the identity that is handed over"},
	{InPlaceUpdateAnnotation, "Pod", "annotation", us, "the last update in place: JSON with the revision, the version of the pod before, the time, the containers that restart, and, until it is complete, that it has begun, with the resources before", "the pod was not updated in place", "same as absent"},
	{DeletionCostAnnotation, "Pod", "annotation", you, "a whole number: of the pods of a StatefulCluster, those with the lower number leave first", "0", "0"},
	{HoldLabel, "Lease", "label", us, "`group`, or `statefulcluster` for a StatefulCluster", "lockstep's watch does not include the Lease; live reads still find it, and lockstep treats it as a hold", "same as absent"},
	{NameAnnotation(plan.KindGroup), "Lease", "annotation", us, "name of the group", "lockstep writes it again", "lockstep writes it again"},
	{NameAnnotation(plan.KindStatefulSet), "Lease", "annotation", us, "name of the StatefulSet, if it belongs to no group", "-", "lockstep writes it again"},
	{NameAnnotation(plan.KindBudget), "Lease", "annotation", us, "name of the ZoneAwarePodDisruptionBudget that covers StatefulSets without a group", "-", "lockstep writes it again"},
	{IntentsAnnotation, "Lease", "annotation", us, "pods that lockstep is about to delete, whose eviction is allowed, or whose replacement is not available yet, and the downscale in progress, as JSON with a version", "no intents", "lockstep treats the group as held and reports `HoldUnreadable`"},
	{WaitingAnnotation, "Lease", "annotation", us, "the queue: operations that were refused and are expected to try again, in order of their first refusal, as JSON", "the queue is empty", "the queue is empty"},
	{DownscalesAnnotation, "Lease", "annotation", us, "when each zone was last scaled down, as JSON", "the times are not known", "lockstep treats the group as held and reports `HoldUnreadable`"},
	{GivenUpAnnotation, "Lease", "annotation", us, "when a downscale that lockstep had begun itself failed, by zone, as JSON; lockstep waits before it tries again", "no downscale failed", "no downscale failed"},
	{AcknowledgedAnnotation, "Lease", "annotation", us, "pods that acknowledged a delayed downscale, with the time of the acknowledgement, by zone, as JSON", "no pod has acknowledged", "no pod has acknowledged, and each delay begins again"},
	{TraceAnnotation, "Lease", "annotation", us, "W3C traceparent of the rollout or the update", "a new trace begins", "a new trace begins"},
	{ReplicasAnnotation, "Lease", "annotation", us, "how many pods of a StatefulCluster were asked for, without those that are recorded to leave because `spec.replicas` was lowered", "no pod that is too many leaves because of that, so its claims stay unless `whenReplaced` is `Delete`", "same as absent"},
	{ZonesAnnotation, "Lease", "annotation", us, "zones of the group with the UIDs of their StatefulSets, as JSON with a version; it includes zones that left the group while their pods still exist", "no zones are recorded", "lockstep treats the group as held and reports `HoldUnreadable`"},
	{RolloutsAnnotation, "Lease", "annotation", us, "the rollout or the update of a StatefulCluster in progress, the last five, and replacements of pods, for people and for traces, as JSON with a version; no decision depends on it", "no rollouts are recorded", "no rollouts are recorded"},
	{ActorAnnotation, "Lease", "annotation", us, "the process that wrote the Lease last, for people", "-", "-"},
	{VoidedAnnotation, "StatefulSet", "annotation", us, "a new value each time an admitted downscale does not happen: an update that is still pending then conflicts, or passes admission again", "-", "-"},
	{InjectLabel, "webhook configuration", "label", you, "`true`: lockstep writes its CA into the configuration", "the CA is not written", "the CA is not written"},
	{InjectLabelPredecessor, "webhook configuration", "label", you, "`true`, together with `grafana.com/namespace`: lockstep writes its CA into the configuration", "the CA is not written", "the CA is not written"},
	{InjectNamespaceLabel, "webhook configuration", "label", you, "a namespace: the lockstep that manages this namespace writes its CA into the configuration", "only `lockstep.dev/inject-ca` counts, and only if lockstep manages the whole cluster", "the CA is not written"},
	{ReferencesLabel, "ClusterRole", "label", you, "`true`: the role's permissions are granted to lockstep, for objects whose replicas zones mirror", "the permissions are not granted", "same as absent"},
	{RotateAnnotation, "Secret", "annotation", you, "a value that differs from the previous one: lockstep rotates the certificate of the webhooks", "-", "-"},
	{RotatedAnnotation, "Secret", "annotation", us, "the value of `lockstep.dev/rotate` that lockstep acted on last", "-", "-"},
	{RotationSinceAnnotation, "Secret", "annotation", us, "when the wait of the current rotation phase began", "the wait begins now", "the wait begins now"},
	{ManagedByLabel, "RolloutGroup", "label", us, "`lockstep`: lockstep creates, updates and deletes the object", "-", "lockstep does not touch the object"},
	{WithdrawnAnnotation, "Pod", "annotation", us, "a new value each time a planned deletion is cancelled: a pending delete request then fails its resourceVersion precondition", "-", "-"},
}
