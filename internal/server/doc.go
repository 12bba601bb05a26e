// Package server is the operations listener: metrics, health, and what helps to
// debug, over plain HTTP.
//
// Floor 5. It serves what it is given and knows nothing about it. It changes
// nothing in the cluster and answers nothing that a tenant could steer; who may
// reach it is for a NetworkPolicy to say.
package server
