// Package cli implements the kubectl plugin: kubectl lockstep status, why, plan and so on.
//
// It uses the operator's own planner and observers. It writes only fields that users write: annotations, pod
// templates, spec.paused of a StatefulCluster, and the Lease of a group or StatefulCluster as manual/<reason>. It
// never deletes a pod. It deletes claims only of identities that have ended, if a user names the identity twice.
package cli
