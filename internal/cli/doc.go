// Package cli is what people type: kubectl lockstep status, why, plan and so on.
//
// It shows what the operator's own planner says of what the operator's own eyes see,
// and writes only what users write: annotations, the template of pods, and the Lease
// of a group as manual/<reason>. It never deletes a pod.
package cli
