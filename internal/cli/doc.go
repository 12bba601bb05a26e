// Package cli implements the kubectl plugin: kubectl lockstep status, why, plan and so on.
//
// It uses the operator's own planner and observer. It writes only fields that users write: annotations,
// pod templates, and the Lease of a group as manual/<reason>. It never deletes a pod.
package cli
