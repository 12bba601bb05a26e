package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
type StatefulClusterSpec struct {
	// Replicas is the number of pods.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector selects the pods. The labels of matchLabels are added to each pod.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.selector is immutable"
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0",message="spec.selector.matchLabels must not be empty"
	Selector metav1.LabelSelector `json:"selector"`

	// Template is the template of the pods. Fields that this version does not know are kept.
	Template PoolTemplate `json:"template"`

	// VolumeClaimTemplates are the templates of claims. Each identity has one claim of each.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.metadata.name == a.metadata.name))",message="the names of claim templates must be unique"
	// +listType=atomic
	// +optional
	VolumeClaimTemplates []PoolClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// ServiceName is the headless Service of the pods; it gives them host names.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// MinReadySeconds is how long a pod must be Ready before it is available.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
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

	// UpdatedReplicas is the number of pods at the update revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// TerminatingReplicas is the number of pods that are being deleted.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// UpdateRevision is the revision of the template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// Selector selects the pods, for the subresource scale.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Holder is the operation that has the hold.
	// +optional
	Holder string `json:"holder,omitempty"`

	// Waiting is what the StatefulCluster waits for.
	// +optional
	Waiting *PoolWaiting `json:"waiting,omitempty"`
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
}
