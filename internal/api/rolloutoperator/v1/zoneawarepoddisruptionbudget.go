package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ZoneAwarePodDisruptionBudget says how many pods of a rollout group evictions may
// take down, in one zone or in one partition at a time.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=zoneawarepoddisruptionbudgets,singular=zoneawarepoddisruptionbudget,scope=Namespaced,shortName=zpdb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Max Unavailable,type=integer,JSONPath=.spec.maxUnavailable
// +kubebuilder:printcolumn:name=Percentage,type=integer,JSONPath=.spec.maxUnavailablePercentage
// +kubebuilder:printcolumn:name=Allowed,type=integer,JSONPath=.status.disruptionsAllowed
// +kubebuilder:printcolumn:name=Valid,type=string,JSONPath=.status.conditions[?(@.type=="Valid")].status
// +kubebuilder:printcolumn:name=Partitions,type=string,JSONPath=.spec.podNamePartitionRegex,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type ZoneAwarePodDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ZoneAwarePodDisruptionBudgetSpec   `json:"spec"`
	Status ZoneAwarePodDisruptionBudgetStatus `json:"status,omitempty"`
}

// ZoneAwarePodDisruptionBudgetSpec is what is asked for.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxUnavailable) && has(self.maxUnavailablePercentage))",message="invalid value: maxUnavailable and maxUnavailablePercentage exclude each other, set one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.crossZoneEvictionDelay) || self.crossZoneEvictionDelay == \"\" || duration(self.crossZoneEvictionDelay) >= duration(\"0s\")",message="invalid value: crossZoneEvictionDelay has to be a duration like 10m or 1h30m, and not negative"
// +kubebuilder:validation:XValidation:rule="!has(self.crossZoneEvictionDelay) || self.crossZoneEvictionDelay == \"\" || duration(self.crossZoneEvictionDelay) <= duration(\"0s\") || (has(self.podNamePartitionRegex) && self.podNamePartitionRegex != \"\")",message="invalid value: crossZoneEvictionDelay needs podNamePartitionRegex, it is about partitions"
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailablePercentage) || self.maxUnavailablePercentage == 0 || !has(self.podNamePartitionRegex) || self.podNamePartitionRegex == \"\"",message="invalid value: maxUnavailablePercentage is about zones and cannot be used with podNamePartitionRegex"
type ZoneAwarePodDisruptionBudgetSpec struct {
	// Selector selects the pods, and by the same labels the StatefulSets that are
	// their zones: both must carry them.
	Selector ZoneAwarePodDisruptionBudgetSelector `json:"selector"`

	// MaxUnavailable is how many pods may be unavailable in the zone of a pod that is
	// evicted, or in its partition across zones. 0 allows no eviction. 1 where neither
	// this nor maxUnavailablePercentage is set.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxUnavailable *int64 `json:"maxUnavailable,omitempty"`

	// MaxUnavailablePercentage is maxUnavailable as a percentage of the zone's
	// replicas, rounded down, at least 1. 0 allows no eviction.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxUnavailablePercentage *int64 `json:"maxUnavailablePercentage,omitempty"`

	// PodNamePartitionRegex finds the partition of a pod in its name, which it has to
	// match as a whole. Where it is set, partitions count across zones instead of zones.
	// The syntax is RE2.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	PodNamePartitionRegex string `json:"podNamePartitionRegex,omitempty"`

	// PodNameRegexGroup is the number of the capture group in podNamePartitionRegex
	// that is the partition. It has to be set where there are several.
	// +kubebuilder:validation:Minimum=1
	// +optional
	PodNameRegexGroup *int64 `json:"podNameRegexGroup,omitempty"`

	// CrossZoneEvictionDelay is for how long the pods of a partition must have been
	// ready in the other zones before the next one is evicted, such as 10m or 1h30m.
	// +optional
	CrossZoneEvictionDelay string `json:"crossZoneEvictionDelay,omitempty"`

	// UnhealthyPodEvictionPolicy says what becomes of evictions of pods that run and
	// are not ready: IfHealthyBudget lets them pass while enough others are ready,
	// AlwaysAllow whatever else is unavailable. Where it is not set they pass, unless
	// the limit is 0.
	// +kubebuilder:validation:Enum=IfHealthyBudget;AlwaysAllow
	// +optional
	UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy,omitempty"`
}

// ZoneAwarePodDisruptionBudgetSelector selects by labels. An empty one selects
// everything in the namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) || has(self.matchExpressions)",message="invalid value: selector needs matchLabels, which may be empty, or matchExpressions"
type ZoneAwarePodDisruptionBudgetSelector struct {
	// MatchLabels are labels with the values they must have.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchExpressions are further requirements, all of which must be met.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	MatchExpressions []ZoneAwarePodDisruptionBudgetRequirement `json:"matchExpressions,omitempty"`
}

// ZoneAwarePodDisruptionBudgetRequirement is one requirement of a selector.
//
// +kubebuilder:validation:XValidation:rule="self.operator in [\"In\", \"NotIn\"] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="invalid value: values go with the operators In and NotIn, and these need some"
type ZoneAwarePodDisruptionBudgetRequirement struct {
	// Key is the label's.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Operator says what is wanted of the label.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`

	// Values that the label must or must not have.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// ZoneAwarePodDisruptionBudgetStatus is what lockstep makes of it.
type ZoneAwarePodDisruptionBudgetStatus struct {
	// ObservedGeneration is the generation of the spec that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// DisruptionsAllowed is how many evictions would be granted now, one after the other.
	// +optional
	DisruptionsAllowed *int32 `json:"disruptionsAllowed,omitempty"`

	// Zones are the StatefulSets that the budget selects. Where there are more than
	// fit in, those with something unavailable come first.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Zones []ZoneAwarePodDisruptionBudgetPart `json:"zones,omitempty"`

	// Partitions that the budget knows. Where there are more than fit in, those with
	// something unavailable come first.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	// +optional
	Partitions []ZoneAwarePodDisruptionBudgetPart `json:"partitions,omitempty"`

	// PartitionsOmitted is how many partitions did not fit in.
	// +optional
	PartitionsOmitted int32 `json:"partitionsOmitted,omitempty"`

	// Conditions: Valid says whether the spec can be used, Covering whether it covers
	// pods of a group, Alone whether no other budget covers any of these.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastDecision is the last answer to an eviction.
	// +optional
	LastDecision *ZoneAwarePodDisruptionBudgetDecision `json:"lastDecision,omitempty"`
}

// ZoneAwarePodDisruptionBudgetPart is the state of one zone or partition.
type ZoneAwarePodDisruptionBudgetPart struct {
	// Name of the StatefulSet, or the partition.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Pods that there should be.
	Pods int32 `json:"pods"`

	// Unavailable are those of them that are missing, not ready or about to be taken down.
	Unavailable int32 `json:"unavailable"`

	// DisruptionsAllowed is how many evictions would be granted here now.
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
}

// ZoneAwarePodDisruptionBudgetDecision is an answer to an eviction.
type ZoneAwarePodDisruptionBudgetDecision struct {
	// Pod that was to be evicted.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`

	// Allowed is whether it was granted.
	Allowed bool `json:"allowed"`

	// Reason is a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// Message is what whoever asked was told.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Time of the answer.
	Time metav1.Time `json:"time"`

	// TraceID finds the answer in traces and logs.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TraceID string `json:"traceID,omitempty"`
}

// ZoneAwarePodDisruptionBudgetList is a list of ZoneAwarePodDisruptionBudgets.
//
// +kubebuilder:object:root=true
type ZoneAwarePodDisruptionBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ZoneAwarePodDisruptionBudget `json:"items"`
}
