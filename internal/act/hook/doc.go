// Package hook calls pods over HTTP. It asks pods that leave to prepare, and takes that
// back (Preparations). It tells pods of zones with a delay that they will leave, or stay
// (Messages).
//
// What a tenant wrote decides about path, query and port and nothing else. The
// address is the pod's own, as the caller knows it; names are never resolved and
// no answer leads anywhere. Work is proportional to the pods given, what a pod can
// make lockstep read or wait for is bounded, and nothing a pod says is passed on
// but its status code and, of one that is told to leave, since when it is ready to.
// It knows no API server.
package hook
