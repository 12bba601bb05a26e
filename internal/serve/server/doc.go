// Package server provides two listeners. One serves operators over plain HTTP: metrics,
// health and debugging. The other serves webhooks over TLS.
//
// The package serves the handlers that it is given and contains no rule of lockstep. The
// listener for operators changes nothing in the cluster, and no tenant can influence its
// answers. A NetworkPolicy decides which clients can reach the two listeners.
package server
