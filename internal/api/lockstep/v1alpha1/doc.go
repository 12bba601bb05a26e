// Package v1alpha1 contains lockstep's own API types. manifests/crds and the deep copies are generated from it.
//
// +kubebuilder:object:generate=true
// +groupName=lockstep.dev
package v1alpha1

// GroupName is the API group of these types.
const GroupName = "lockstep.dev"
