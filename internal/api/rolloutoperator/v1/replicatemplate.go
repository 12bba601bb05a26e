package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicaTemplate is a number of replicas for the StatefulSets that mirror it. A
// HorizontalPodAutoscaler can scale it like a workload.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=replicatemplates,singular=replicatemplate,scope=Namespaced,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.spec.labelSelector
// +kubebuilder:printcolumn:name=StatusReplicas,type=integer,JSONPath=.status.replicas
// +kubebuilder:printcolumn:name=SpecReplicas,type=integer,JSONPath=.spec.replicas
type ReplicaTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReplicaTemplateSpec   `json:"spec,omitempty"`
	Status ReplicaTemplateStatus `json:"status,omitempty"`
}

// ReplicaTemplateSpec is the desired number of replicas.
type ReplicaTemplateSpec struct {
	// Replicas is the number of replicas of every StatefulSet that mirrors this object.
	//
	// Larger numbers than 32 bits are refused, because the scale subresource would truncate
	// them, some of them to 0.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Format=int32
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Replicas *int `json:"replicas,omitempty"`

	// LabelSelector selects the pods of these StatefulSets, in the string form of a label
	// selector. A HorizontalPodAutoscaler needs it.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// ReplicaTemplateStatus is the observed number of replicas.
type ReplicaTemplateStatus struct {
	// Replicas is the number of replicas of the smallest StatefulSet that mirrors this
	// object.
	// +optional
	Replicas int `json:"replicas,omitempty"`
}

// ReplicaTemplateList is a list of ReplicaTemplates.
//
// +kubebuilder:object:root=true
type ReplicaTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ReplicaTemplate `json:"items"`
}
