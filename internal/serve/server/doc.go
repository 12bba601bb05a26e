// Package server has the two listeners: the one for operations, with metrics,
// health, and what helps to debug, over plain HTTP; and the one for webhooks, over
// TLS.
//
// It serves what it is given and knows nothing about it. The operations
// listener changes nothing in the cluster and answers nothing that a tenant could
// steer; who may reach either is for a NetworkPolicy to say.
package server
