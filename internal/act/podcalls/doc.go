// Package podcalls calls pods over HTTP. Preparations calls pods to prepare for a downscale, or to undo that.
// Messages notifies the pods of zones with a delay that they leave or stay.
//
// Tenants control only the path, the query and the port of a call. The address is the pod's own, as given by
// the caller. Names are never resolved, and answers are never followed. The work is proportional to the
// number of pods. Whatever a pod answers, lockstep reads only a limited amount and waits only for a limited
// time. It uses only the status code of an answer and, for a pod that is to leave, the time since which the
// pod is ready to leave. This package makes no requests to API servers.
package podcalls
