package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RolloutGroup shows how a group of StatefulSets stands. lockstep makes, writes and
// removes it; changing it changes nothing.
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

	// Status says from the beginning that it is not yet about this generation: without
	// one, kstatus takes an object for what it should be.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status RolloutGroupStatus `json:"status,omitempty"`
}

// RolloutGroupSpec says which group it is about.
type RolloutGroupSpec struct {
	// Group is the name of the group, by the label rollout-group or the annotation
	// lockstep.dev/rollout-group. Not every object can be named after it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a RolloutGroup stays with its group"
	Group string `json:"group"`
}

// RolloutGroupStatus is how the group stood when lockstep planned for it last.
type RolloutGroupStatus struct {
	// ObservedGeneration is the generation of this object that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Activity is what goes on: Settled, Rolling, Shrinking, Evicting, Held, Recovering
	// or Blocked.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Activity string `json:"activity,omitempty"`

	// Progress is how many pods are Ready at the wanted revision, of how many: 17/30.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Progress string `json:"progress,omitempty"`

	// Percent is the same as a percentage, rounded down.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percent *int32 `json:"percent,omitempty"`

	// Holder is the operation that holds the group and its zone: rollout/zone-a.
	// +kubebuilder:validation:MaxLength=320
	// +optional
	Holder string `json:"holder,omitempty"`

	// HoldSince is when the holder took the hold.
	// +optional
	HoldSince *metav1.Time `json:"holdSince,omitempty"`

	// Waiting is what is waited for: of several waits the one that others come from.
	// +optional
	Waiting *RolloutGroupWait `json:"waiting,omitempty"`

	// Rollout is the rollout that is under way.
	// +optional
	Rollout *RolloutGroupRollout `json:"rollout,omitempty"`

	// Zones are the StatefulSets of the group. Where there are more than fit in, those
	// that are settled are left out first.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Zones []RolloutGroupZone `json:"zones,omitempty"`

	// ZonesOmitted is how many zones did not fit in.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ZonesOmitted int32 `json:"zonesOmitted,omitempty"`

	// Conditions: Ready says whether every pod is up at the wanted revision,
	// Reconciling whether lockstep works on it or waits for what passes by itself,
	// Stalled whether a person has to step in, GroupHeld whether an operation holds
	// the group.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RolloutGroupWait is something that is waited for.
type RolloutGroupWait struct {
	// Reason is a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// Zone that waits.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Zone string `json:"zone,omitempty"`

	// Pod that stands in the way.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Pod string `json:"pod,omitempty"`

	// On is the pod that stands in the way or, without one, the zone.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	On string `json:"on,omitempty"`

	// Message spells it as a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Until is when it ends by time alone.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// RolloutGroupRollout is a rollout.
type RolloutGroupRollout struct {
	// Since is when it took its first pod down.
	Since metav1.Time `json:"since"`

	// EstimatedEnd is when it ends if it goes on as it did, to the minute.
	// +optional
	EstimatedEnd *metav1.Time `json:"estimatedEnd,omitempty"`

	// TraceID finds it in traces and logs.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TraceID string `json:"traceID,omitempty"`
}

// RolloutGroupZone is the state of one zone.
type RolloutGroupZone struct {
	// Name of the StatefulSet.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// ObservedGeneration is the generation of the StatefulSet that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision that every pod should have.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Revision string `json:"revision,omitempty"`

	// Replicas are the pods that the spec asks for.
	Replicas int32 `json:"replicas"`

	// Updated are those of them at the revision.
	Updated int32 `json:"updated"`

	// Ready are those of them that are Ready.
	Ready int32 `json:"ready"`

	// Done are those of them that are both.
	Done int32 `json:"done"`

	// Down are those of them that are missing, not available or about to be taken down.
	Down int32 `json:"down"`

	// Budget is how many may be down for a rollout.
	Budget int32 `json:"budget"`

	// Activity is what goes on in the zone, as of the group.
	// +kubebuilder:validation:MaxLength=32
	Activity string `json:"activity"`

	// Reason why the zone waits, a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message spells it as a sentence.
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
