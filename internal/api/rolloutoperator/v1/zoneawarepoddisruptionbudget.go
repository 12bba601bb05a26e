package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ZoneAwarePodDisruptionBudget limits evictions of pods of a rollout group: how many pods
// of one zone, or of one partition, may be unavailable at the same time.
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

// ZoneAwarePodDisruptionBudgetSpec is the limit and the pods that it applies to.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxUnavailable) && has(self.maxUnavailablePercentage))",message="invalid value: maxUnavailable and maxUnavailablePercentage are mutually exclusive: set one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.crossZoneEvictionDelay) || self.crossZoneEvictionDelay == \"\" || duration(self.crossZoneEvictionDelay) >= duration(\"0s\")",message="invalid value: crossZoneEvictionDelay must be a duration such as 10m or 1h30m, and not negative"
// +kubebuilder:validation:XValidation:rule="!has(self.crossZoneEvictionDelay) || self.crossZoneEvictionDelay == \"\" || duration(self.crossZoneEvictionDelay) <= duration(\"0s\") || (has(self.podNamePartitionRegex) && self.podNamePartitionRegex != \"\")",message="invalid value: crossZoneEvictionDelay requires podNamePartitionRegex: it delays evictions from a partition"
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailablePercentage) || self.maxUnavailablePercentage == 0 || !has(self.podNamePartitionRegex) || self.podNamePartitionRegex == \"\"",message="invalid value: maxUnavailablePercentage counts pods of a zone: it cannot be used with podNamePartitionRegex"
type ZoneAwarePodDisruptionBudgetSpec struct {
	// Selector selects the pods and the StatefulSets that are their zones. Both must have
	// the labels.
	Selector ZoneAwarePodDisruptionBudgetSelector `json:"selector"`

	// MaxUnavailable is the number of pods that may be unavailable in the zone of an evicted
	// pod or, with podNamePartitionRegex, in its partition across zones. 0 allows no
	// eviction. If neither maxUnavailable nor maxUnavailablePercentage is set, the limit is 1.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxUnavailable *int64 `json:"maxUnavailable,omitempty"`

	// MaxUnavailablePercentage is maxUnavailable as a percentage of the zone's
	// replicas, rounded down, at least 1. 0 allows no eviction.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxUnavailablePercentage *int64 `json:"maxUnavailablePercentage,omitempty"`

	// PodNamePartitionRegex finds the partition of a pod in its name. It must match the
	// whole name. If it is set, lockstep counts the pods of a partition across zones instead
	// of the pods of a zone. The syntax is RE2.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	PodNamePartitionRegex string `json:"podNamePartitionRegex,omitempty"`

	// PodNameRegexGroup is the number of the capture group in podNamePartitionRegex that
	// matches the partition. It is required if there are several capture groups.
	// +kubebuilder:validation:Minimum=1
	// +optional
	PodNameRegexGroup *int64 `json:"podNameRegexGroup,omitempty"`

	// CrossZoneEvictionDelay is how long the pods of a partition must have been ready in the
	// other zones before the next pod of the partition is evicted, such as 10m or 1h30m.
	// +optional
	CrossZoneEvictionDelay string `json:"crossZoneEvictionDelay,omitempty"`

	// UnhealthyPodEvictionPolicy applies to evictions of pods that run and are not ready.
	// IfHealthyBudget allows them while enough other pods are ready. AlwaysAllow allows them
	// regardless of other pods. If it is not set, they are allowed unless the limit is 0.
	// +kubebuilder:validation:Enum=IfHealthyBudget;AlwaysAllow
	// +optional
	UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy,omitempty"`
}

// ZoneAwarePodDisruptionBudgetSelector is a label selector. An empty matchLabels selects
// every pod of the namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) || has(self.matchExpressions)",message="invalid value: selector must have matchLabels, which may be empty, or matchExpressions"
type ZoneAwarePodDisruptionBudgetSelector struct {
	// MatchLabels are the required labels with their values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchExpressions are further requirements. All of them must be met.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	MatchExpressions []ZoneAwarePodDisruptionBudgetRequirement `json:"matchExpressions,omitempty"`
}

// ZoneAwarePodDisruptionBudgetRequirement is one requirement of a selector.
//
// +kubebuilder:validation:XValidation:rule="self.operator in [\"In\", \"NotIn\"] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="invalid value: values must be set with the operators In and NotIn, and only with these"
type ZoneAwarePodDisruptionBudgetRequirement struct {
	// Key is the name of the label.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Operator is the relation between the label and the values.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`

	// Values are the values that the label must have (In) or must not have (NotIn).
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// ZoneAwarePodDisruptionBudgetStatus is the state of the budget as lockstep sees it.
type ZoneAwarePodDisruptionBudgetStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// DisruptionsAllowed is the number of evictions that lockstep would allow now, one after
	// the other.
	// +optional
	DisruptionsAllowed *int32 `json:"disruptionsAllowed,omitempty"`

	// Zones are the StatefulSets that the budget selects. If there are more than 32, zones
	// with unavailable pods are listed first.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Zones []ZoneAwarePodDisruptionBudgetPart `json:"zones,omitempty"`

	// Partitions are the partitions of the covered pods. If there are more than 100,
	// partitions with unavailable pods are listed first.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	// +optional
	Partitions []ZoneAwarePodDisruptionBudgetPart `json:"partitions,omitempty"`

	// PartitionsOmitted is the number of partitions that are not listed.
	// +optional
	PartitionsOmitted int32 `json:"partitionsOmitted,omitempty"`

	// Conditions of the budget. Valid: the spec is valid. Covering: the budget covers pods.
	// Alone: no other budget covers any of these pods.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastDecision is the last answer to an eviction request.
	// +optional
	LastDecision *ZoneAwarePodDisruptionBudgetDecision `json:"lastDecision,omitempty"`
}

// ZoneAwarePodDisruptionBudgetPart is the state of one zone or partition.
type ZoneAwarePodDisruptionBudgetPart struct {
	// Name is the name of the StatefulSet, or the partition.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Pods is the number of desired pods.
	Pods int32 `json:"pods"`

	// Unavailable is the number of these pods that are missing, not ready, or have an intent
	// in the Lease of their group.
	Unavailable int32 `json:"unavailable"`

	// DisruptionsAllowed is the number of evictions that lockstep would allow here now.
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
}

// ZoneAwarePodDisruptionBudgetDecision is an answer to an eviction request.
type ZoneAwarePodDisruptionBudgetDecision struct {
	// Pod is the pod of the eviction request.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`

	// Allowed is true if lockstep allowed the eviction.
	Allowed bool `json:"allowed"`

	// Reason is a code of docs/reasons.md.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// Message is the message of the answer.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Time is the time of the answer.
	Time metav1.Time `json:"time"`

	// TraceID is the ID of the answer in traces and logs.
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
