package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StatefulCluster is a set of pods without order. Each pod has an identity of its own, with claims of its own. A pod that
// is lost is replaced by a new identity with new claims; an identity is never used again.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=statefulclusters,singular=statefulcluster,scope=Namespaced,shortName=stc,categories=lockstep
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name=Desired,type=integer,JSONPath=.spec.replicas
// +kubebuilder:printcolumn:name=Ready,type=integer,JSONPath=.status.readyReplicas
// +kubebuilder:printcolumn:name=Updated,type=integer,JSONPath=.status.updatedReplicas
// +kubebuilder:printcolumn:name=Available,type=integer,JSONPath=.status.availableReplicas
// +kubebuilder:printcolumn:name=Waiting,type=string,JSONPath=.status.waiting.reason
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:printcolumn:name=Holder,type=string,JSONPath=.status.holder,priority=1
// +kubebuilder:printcolumn:name=Revision,type=string,JSONPath=.status.updateRevision,priority=1
// +kubebuilder:printcolumn:name=Retired,type=integer,JSONPath=.status.retiredIdentities,priority=1
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=.status.waiting.message,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 46",message="metadata.name must be a DNS label of at most 46 characters, because the name of a pod is a host name"
type StatefulCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StatefulClusterSpec `json:"spec"`

	// Status is written by lockstep. A new object has the observedGeneration -1, because kstatus treats an object
	// without status as current.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status StatefulClusterStatus `json:"status,omitempty"`
}

// StatefulClusterSpec is what a StatefulCluster should be.
//
// +kubebuilder:validation:XValidation:rule="!has(self.template.spec.nodeName) || !has(self.volumeClaimTemplates) || size(self.volumeClaimTemplates) == 0",message="template.spec.nodeName excludes claim templates, because a pod with a node cannot wait for its claims"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.serviceName) || size(oldSelf.serviceName) == 0 || has(self.serviceName) && self.serviceName == oldSelf.serviceName",message="spec.serviceName is immutable once it is set, because pods keep their host names"
type StatefulClusterSpec struct {
	// Replicas is the number of pods.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector selects the pods. The labels of matchLabels are added to each pod.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.selector is immutable"
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0",message="spec.selector.matchLabels must not be empty"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || !self.matchLabels.exists(k, k.startsWith('lockstep.dev/'))",message="spec.selector.matchLabels must not have labels of lockstep.dev, because lockstep and people write them to single pods"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || !self.matchExpressions.exists(e, e.key.startsWith('lockstep.dev/'))",message="spec.selector.matchExpressions must not have labels of lockstep.dev, because lockstep and people write them to single pods"
	Selector metav1.LabelSelector `json:"selector"`

	// Template is the template of the pods. Fields that this version does not know are kept.
	Template PoolTemplate `json:"template"`

	// VolumeClaimTemplates are the templates of claims. Each identity has one claim of each.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.metadata.name == a.metadata.name))",message="the names of claim templates must be unique"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !oldSelf.exists(b, b.metadata.name == a.metadata.name && has(a.spec) && has(a.spec.resources) && has(a.spec.resources.requests) && has(a.spec.resources.requests.storage) && has(b.spec) && has(b.spec.resources) && has(b.spec.resources.requests) && has(b.spec.resources.requests.storage) && quantity(string(a.spec.resources.requests.storage)).isLessThan(quantity(string(b.spec.resources.requests.storage)))))",message="the storage of a claim template must not shrink, because claims cannot"
	// +listType=atomic
	// +optional
	VolumeClaimTemplates []PoolClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// Ordinals is not supported.
	// +kubebuilder:validation:XValidation:rule="false",message="spec.ordinals has no meaning, because the pods of a StatefulCluster have no order"
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Ordinals *PoolOrdinals `json:"ordinals,omitempty"`

	// ServiceName is the headless Service of the pods; it gives them host names.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// MinReadySeconds is how long a pod must be Ready before it is available.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// PodManagementPolicy is Parallel: pods are created, and leave, all at once; or OrderedReady: one at a time, the next one
	// when all others are available or have had startupSeconds to become Ready.
	// +kubebuilder:validation:Enum=Parallel;OrderedReady
	// +kubebuilder:default:=Parallel
	PodManagementPolicy string `json:"podManagementPolicy,omitempty"`

	// PodReplacementPolicy is TerminatingOrFailed: a pod that terminates is replaced at once; or Failed: only when it has ended, so
	// no more pods than asked for ever run. A pod whose node does not answer can then block its replacement permanently.
	// +kubebuilder:validation:Enum=TerminatingOrFailed;Failed
	// +kubebuilder:default:=TerminatingOrFailed
	PodReplacementPolicy string `json:"podReplacementPolicy,omitempty"`

	// ScaleStrategy says how many pods are created at a time, and which pods leave.
	// +optional
	ScaleStrategy PoolScaleStrategy `json:"scaleStrategy,omitempty"`

	// RevisionHistoryLimit is how many revisions that no pod has are kept.
	// +kubebuilder:default:=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ProgressDeadlineSeconds is how long an update may make no progress before the condition Progressing is False. Resources
	// that do not fit on the node of a pod for so long are not changed in place.
	// +kubebuilder:default:=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// Paused pods get no other template. Missing pods are created, and the StatefulCluster is scaled.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// IdentityPolicy says when an identity keeps its claims.
	// +optional
	IdentityPolicy PoolIdentityPolicy `json:"identityPolicy,omitempty"`

	// PersistentVolumeClaimRetentionPolicy says what becomes of claims.
	// +optional
	PersistentVolumeClaimRetentionPolicy PoolClaimPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`

	// Liveness says when a pod is replaced by a new identity although no client asks for it.
	// +optional
	Liveness PoolLiveness `json:"liveness,omitempty"`

	// UpdateStrategy says how pods get the newest template.
	// +optional
	UpdateStrategy PoolUpdateStrategy `json:"updateStrategy,omitempty"`
}

// PoolOrdinals is refused: a StatefulCluster has no order.
type PoolOrdinals struct{}

// PoolScaleStrategy says how many pods are created at a time, and which pods leave.
type PoolScaleStrategy struct {
	// MaxUnavailable is how many pods may be unavailable while missing pods are created: a number, or a percentage of
	// spec.replicas, rounded down, but at least 1. A pod that is older than spec.liveness.startupSeconds does not count. Without
	// it, all missing pods are created at once.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 10000 : string(self).matches('^([1-9]|[1-9][0-9]|100)%$')",message="maxUnavailable must be a number of at least 1 or a percentage such as 25%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PodsToDelete are names of pods that leave first if replicas is lowered; otherwise new identities take their places. A name
	// that does not exist means nothing, and never comes to mean another pod.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	PodsToDelete []string `json:"podsToDelete,omitempty"`
}

// PoolIdentityPolicy says when an identity keeps its claims.
type PoolIdentityPolicy struct {
	// OnDelete is KeepIdentity if the identity of a pod that another client deletes gets another pod with the same claims.
	// +kubebuilder:validation:Enum=NewIdentity;KeepIdentity
	// +kubebuilder:default:=NewIdentity
	OnDelete string `json:"onDelete,omitempty"`

	// OnEviction is the same for a pod that is evicted, or that Kubernetes removes, such as because its Node is deleted.
	// +kubebuilder:validation:Enum=NewIdentity;KeepIdentity
	// +kubebuilder:default:=NewIdentity
	OnEviction string `json:"onEviction,omitempty"`

	// HandoverTimeoutSeconds is how long a hand-over waits for the former pod after the end of its grace period. Then a new
	// identity takes its place. 0: without end.
	// +kubebuilder:default:=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	HandoverTimeoutSeconds *int32 `json:"handoverTimeoutSeconds,omitempty"`
}

// PoolClaimPolicy says what becomes of claims.
type PoolClaimPolicy struct {
	// WhenDeleted is Delete if Kubernetes deletes all claims with the StatefulCluster.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default:=Retain
	WhenDeleted string `json:"whenDeleted,omitempty"`

	// WhenScaled is Delete if lockstep deletes the claims of identities that left because spec.replicas was lowered.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default:=Retain
	WhenScaled string `json:"whenScaled,omitempty"`

	// WhenReplaced is Delete if lockstep deletes the claims of identities that left for another reason.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default:=Retain
	WhenReplaced string `json:"whenReplaced,omitempty"`

	// RetiredTTLSeconds is how long after the end of an identity lockstep deletes its claims. Without it they stay.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	RetiredTTLSeconds *int32 `json:"retiredTTLSeconds,omitempty"`

	// RetiredLimit is how many ended identities keep their claims: the latest ones. Without it all keep them.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	RetiredLimit *int32 `json:"retiredLimit,omitempty"`
}

// PoolLiveness says when a pod is replaced by a new identity although no client asks for it. 0 seconds mean never. A pod whose
// Node is deleted, or has the taint node.kubernetes.io/out-of-service, is replaced at once.
type PoolLiveness struct {
	// NodeLostSeconds is how long a node does not report before its pods are replaced.
	// +kubebuilder:default:=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	NodeLostSeconds *int32 `json:"nodeLostSeconds,omitempty"`

	// StartupSeconds is how long a pod may take to become Ready.
	// +kubebuilder:default:=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	StartupSeconds *int32 `json:"startupSeconds,omitempty"`

	// CrashLoopSeconds is how long a pod is not Ready while a container is in a crash loop.
	// +kubebuilder:default:=3600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	CrashLoopSeconds *int32 `json:"crashLoopSeconds,omitempty"`

	// NotReadySeconds is how long a pod is not Ready after startupSeconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	NotReadySeconds int32 `json:"notReadySeconds,omitempty"`

	// MaxUnhealthy is how many pods may be unavailable for an identity to be given up because of a lost node or ill health: a
	// number, or a percentage of spec.replicas, rounded down, but at least 1. The last available pod always stays.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 10000 : string(self).matches('^([1-9]|[1-9][0-9]|100)%$')",message="maxUnhealthy must be a number of at least 1 or a percentage such as 40%"
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// PoolUpdateStrategy says how pods get the newest template.
type PoolUpdateStrategy struct {
	// Type is RollingUpdate, or OnDelete: only new pods get the newest template.
	// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
	// +kubebuilder:default:=RollingUpdate
	Type string `json:"type,omitempty"`

	// RollingUpdate configures rolling updates.
	// +optional
	RollingUpdate PoolRollingUpdate `json:"rollingUpdate,omitempty"`
}

// PoolRollingUpdate configures rolling updates.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailable) || !(string(self.maxUnavailable) in ['0', '0%']) || has(self.maxSurge) && !(string(self.maxSurge) in ['0', '0%']) && has(self.podUpdatePolicy) && self.podUpdatePolicy == 'Recreate'",message="maxUnavailable may be 0 only with podUpdatePolicy Recreate and a maxSurge of at least 1, because no pod could be updated otherwise"
type PoolRollingUpdate struct {
	// Partition is how many pods keep their revision: a number, or a percentage of spec.replicas, rounded up.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 10000 : string(self).matches('^([0-9]|[1-9][0-9]|100)%$')",message="partition must be a number or a percentage such as 25%"
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable is how many pods may be unavailable because of updates: a number, or a percentage of spec.replicas,
	// rounded up. 0 needs maxSurge.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 10000 : string(self).matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxUnavailable must be a number or a percentage such as 25%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many pods more than spec.replicas may exist while new identities take the places of others, with the
	// policy Recreate: a number, or a percentage of spec.replicas, rounded up.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 10000 : string(self).matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxSurge must be a number or a percentage such as 25%"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// PodUpdatePolicy says how one pod gets the newest template. InPlaceIfPossible: in place, or else by a pod of the same
	// name with the same claims. InPlaceOnly: in place, or not at all. RecreateKeepIdentity: by a pod of the same name with
	// the same claims. Recreate: by a new identity.
	// +kubebuilder:validation:Enum=InPlaceIfPossible;InPlaceOnly;RecreateKeepIdentity;Recreate
	// +kubebuilder:default:=InPlaceIfPossible
	PodUpdatePolicy string `json:"podUpdatePolicy,omitempty"`

	// Paused is the same as spec.paused.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// InPlace configures updates in place.
	// +optional
	InPlace PoolInPlaceUpdate `json:"inPlace,omitempty"`
}

// PoolInPlaceUpdate configures updates in place.
type PoolInPlaceUpdate struct {
	// GracePeriodSeconds is how long a pod is not Ready before it is updated in place, so that clients leave it. It applies to
	// pods that were created with it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// PoolTemplate is a template of pods.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolTemplate struct {
	// Metadata is the metadata of the pods.
	// +optional
	Metadata PoolMetadata `json:"metadata,omitempty"`

	// Spec is the spec of the pods.
	Spec PoolPodSpec `json:"spec"`
}

// PoolMetadata is the part of metadata that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolMetadata struct {
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PoolPodSpec is the part of a pod's spec that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolPodSpec struct {
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Containers []PoolContainer `json:"containers"`

	// +kubebuilder:validation:Enum=Always
	// +optional
	RestartPolicy string `json:"restartPolicy,omitempty"`

	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}

// PoolContainer is the part of a container that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolContainer struct {
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
}

// PoolClaimTemplate is a template of claims.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:XValidation:rule="has(self.metadata.name) && size(self.metadata.name) > 0",message="a claim template needs metadata.name"
type PoolClaimTemplate struct {
	Metadata PoolMetadata `json:"metadata"`

	// +optional
	Spec PoolClaimSpec `json:"spec,omitempty"`
}

// PoolClaimSpec is the part of the spec of a claim that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolClaimSpec struct {
	// +optional
	Resources PoolClaimResources `json:"resources,omitempty"`
}

// PoolClaimResources is the part of the resources of a claim that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolClaimResources struct {
	// +optional
	Requests PoolClaimRequests `json:"requests,omitempty"`
}

// PoolClaimRequests is the part of the requests of a claim that lockstep reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PoolClaimRequests struct {
	// Storage is a quantity, such as 10Gi. It may grow.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self))",message="storage must be a quantity such as 10Gi"
	// +optional
	Storage *intstr.IntOrString `json:"storage,omitempty"`
}

// StatefulClusterStatus is the state of a StatefulCluster when lockstep last planned for it.
type StatefulClusterStatus struct {
	// ObservedGeneration is the generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods that run or can still begin to.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of Ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of pods that have been Ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// UnhealthyReplicas is the number of pods that are asked for and not available. spec.liveness.maxUnhealthy counts those as well
	// that are about to be disrupted.
	// +optional
	UnhealthyReplicas int32 `json:"unhealthyReplicas"`

	// CurrentReplicas is the number of pods at the current revision.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is the number of pods at the update revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is the number of Ready pods at the update revision.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

	// RetiredIdentities is the number of identities that have ended and left claims.
	// +optional
	RetiredIdentities int32 `json:"retiredIdentities"`

	// RetiredClaims is the number of their claims.
	// +optional
	RetiredClaims int32 `json:"retiredClaims"`

	// TerminatingReplicas is the number of pods that are being deleted.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// CurrentRevision is the revision that the pods had before the template changed. It becomes the update revision when
	// all pods have that.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the revision of the template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// Selector selects the pods, for the subresource scale.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Holder is the operation that has the hold.
	// +optional
	Holder string `json:"holder,omitempty"`

	// Trace is the ID of the trace of the present update or, if there is none, of the last one.
	// +optional
	Trace string `json:"trace,omitempty"`

	// Waiting is what the StatefulCluster waits for.
	// +optional
	Waiting *PoolWaiting `json:"waiting,omitempty"`

	// Conditions of the StatefulCluster. Ready: as many pods as asked for are available at the update revision, but for the
	// partition. Available: so many pods are available as stay during an update. Reconciling: lockstep works on it, or waits
	// for something that ends by itself. Stalled: a person must act. SpecValid: the API server accepts a pod of the template.
	// Progressing: no pod with the newest template is late. VolumesResizing: more storage is being asked for claims.
	// ServiceReady: the Service of spec.serviceName exists and is headless.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PoolWaiting is one reason to wait.
type PoolWaiting struct {
	// Reason is a code of the catalogue of reasons.
	Reason string `json:"reason"`

	// Pod is the pod that is the cause.
	// +optional
	Pod string `json:"pod,omitempty"`

	// Message is the reason as a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Until is the time at which the wait ends, if it ends at a known time.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}
