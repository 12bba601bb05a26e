package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicaTemplate holds a number of replicas for the StatefulSets that mirror it.
// A HorizontalPodAutoscaler can scale it like anything that has pods.
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

// ReplicaTemplateSpec is what is asked for.
type ReplicaTemplateSpec struct {
	// Replicas that every StatefulSet which mirrors this object shall have.
	//
	// What does not fit into 32 bits would be cut short in its scale: to nothing, for
	// some.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Format=int32
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Replicas *int `json:"replicas,omitempty"`

	// LabelSelector selects the pods of these StatefulSets, in the form of a query. A
	// HorizontalPodAutoscaler needs it.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// ReplicaTemplateStatus is what is there.
type ReplicaTemplateStatus struct {
	// Replicas of the smallest StatefulSet that mirrors this object.
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
