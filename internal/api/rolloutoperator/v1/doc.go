// Package v1 has the API types of the predecessor that lockstep takes over as they
// are, so that objects made for the one serve the other. manifests/crds and the deep
// copies are generated from it.
//
// +kubebuilder:object:generate=true
// +groupName=rollout-operator.grafana.com
package v1

// GroupName is the API group of these types.
const GroupName = "rollout-operator.grafana.com"
