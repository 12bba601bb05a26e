// Package v1 contains the API types of the predecessor without changes, so that existing objects work with
// lockstep. manifests/crds and the deep copies are generated from it.
//
// +kubebuilder:object:generate=true
// +groupName=rollout-operator.grafana.com
package v1

// GroupName is the API group of these types.
const GroupName = "rollout-operator.grafana.com"
