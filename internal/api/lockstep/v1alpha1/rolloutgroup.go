package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RolloutGroup shows the state of a group of StatefulSets. lockstep creates, updates and
// deletes it. It is read-only: a change of it has no effect on the group.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rolloutgroups,singular=rolloutgroup,scope=Namespaced,shortName=rg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Activity,type=string,JSONPath=.status.activity
// +kubebuilder:printcolumn:name=Progress,type=string,JSONPath=.status.progress
// +kubebuilder:printcolumn:name=Holder,type=string,JSONPath=.status.holder
// +kubebuilder:printcolumn:name=Waiting,type=string,JSONPath=.status.waiting.reason
// +kubebuilder:printcolumn:name=On,type=string,JSONPath=.status.waiting.on
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:printcolumn:name=Group,type=string,JSONPath=.spec.group,priority=1
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status,priority=1
// +kubebuilder:printcolumn:name=Stalled,type=string,JSONPath=.status.conditions[?(@.type=="Stalled")].status,priority=1
// +kubebuilder:printcolumn:name=Percent,type=integer,JSONPath=.status.percent,priority=1
// +kubebuilder:printcolumn:name=Held,type=date,JSONPath=.status.holdSince,priority=1
// +kubebuilder:printcolumn:name=End,type=string,JSONPath=.status.rollout.estimatedEnd,priority=1
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=.status.waiting.message,priority=1
type RolloutGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RolloutGroupSpec `json:"spec"`

	// Status is the state of the group. A new object has the observedGeneration -1, because
	// kstatus treats an object without status as current.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status RolloutGroupStatus `json:"status,omitempty"`
}

// RolloutGroupSpec names the group.
type RolloutGroupSpec struct {
	// Group is the name of the group: the value of the label rollout-group or of the
	// annotation lockstep.dev/rollout-group. The name of this object may differ, because
	// not every name of a group is a valid name of an object.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.group is immutable"
	Group string `json:"group"`
}

// RolloutGroupStatus is the state of the group when lockstep last planned for it.
type RolloutGroupStatus struct {
	// ObservedGeneration is the generation of this object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Activity is what the group is doing: Settled, Rolling, Shrinking, Evicting, Held,
	// Recovering or Blocked.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Activity string `json:"activity,omitempty"`

	// Progress is the number of pods that are Ready at the update revision, and the number
	// of all desired pods: 17/30.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Progress string `json:"progress,omitempty"`

	// Percent is the progress as a percentage, rounded down.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percent *int32 `json:"percent,omitempty"`

	// Holder is the operation that holds the group, with its zone: rollout/zone-a.
	// +kubebuilder:validation:MaxLength=320
	// +optional
	Holder string `json:"holder,omitempty"`

	// HoldSince is the time at which the holder took the hold.
	// +optional
	HoldSince *metav1.Time `json:"holdSince,omitempty"`

	// Waiting is what the group waits for. If there are several waits, it is the one that
	// causes the others.
	// +optional
	Waiting *RolloutGroupWait `json:"waiting,omitempty"`

	// Rollout is the rollout in progress.
	// +optional
	Rollout *RolloutGroupRollout `json:"rollout,omitempty"`

	// Zones are the StatefulSets of the group. If there are more than 32, lockstep omits
	// settled zones first.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Zones []RolloutGroupZone `json:"zones,omitempty"`

	// ZonesOmitted is the number of zones that are not listed.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ZonesOmitted int32 `json:"zonesOmitted,omitempty"`

	// Conditions of the group. Ready: every pod is Ready at the update revision.
	// Reconciling: lockstep works on the group, or waits for something that ends by
	// itself. Stalled: a person must act. GroupHeld: an operation holds the group.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RolloutGroupWait is what a group waits for.
type RolloutGroupWait struct {
	// Reason is a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// Zone is the zone that waits.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Zone string `json:"zone,omitempty"`

	// Pod is the pod that causes the wait.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Pod string `json:"pod,omitempty"`

	// On is the pod that causes the wait or, if no pod causes it, the zone.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	On string `json:"on,omitempty"`

	// Message is the reason as a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Until is the time at which the wait ends, if it ends at a known time.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// RolloutGroupRollout is a rollout in progress.
type RolloutGroupRollout struct {
	// Since is the time at which the rollout deleted its first pod.
	Since metav1.Time `json:"since"`

	// EstimatedEnd is the time, to the minute, at which the rollout ends if it continues at
	// the same speed.
	// +optional
	EstimatedEnd *metav1.Time `json:"estimatedEnd,omitempty"`

	// TraceID is the ID of the rollout in traces and logs.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TraceID string `json:"traceID,omitempty"`
}

// RolloutGroupZone is the state of one zone.
type RolloutGroupZone struct {
	// Name is the name of the StatefulSet.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// ObservedGeneration is the generation of the StatefulSet that the other fields describe.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision is the update revision, which every pod should have.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Revision string `json:"revision,omitempty"`

	// Replicas is the number of pods that the spec asks for.
	Replicas int32 `json:"replicas"`

	// Updated is the number of these pods at the update revision.
	Updated int32 `json:"updated"`

	// Ready is the number of these pods that are Ready.
	Ready int32 `json:"ready"`

	// Done is the number of these pods that are Ready at the update revision.
	Done int32 `json:"done"`

	// Down is the number of these pods that are missing, not available, or have an intent
	// in the group's Lease.
	Down int32 `json:"down"`

	// Budget is the number of these pods that may be down during a rollout.
	Budget int32 `json:"budget"`

	// Activity is what the zone is doing, in the words of the group's activity.
	// +kubebuilder:validation:MaxLength=32
	Activity string `json:"activity"`

	// Reason is why the zone waits: a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is the reason as a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// RolloutGroupList is a list of RolloutGroups.
//
// +kubebuilder:object:root=true
type RolloutGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RolloutGroup `json:"items"`
}
