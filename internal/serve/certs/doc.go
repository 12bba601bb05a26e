// Package certs keeps the certificate that the webhooks serve.
//
// A generated one lives in a Secret that all replicas share and change by
// compare-and-swap alone. What is to be done with it is read from the Secret and
// nothing else, so any replica can take the next step of a rotation, and a
// restart or another leader changes nothing:
//
//	         ca        cert   next-cert
//	steady   A         a      -          a: made by A
//	prepared B A       a      b          until every client trusts B, and a while longer
//	switched B A       b      -          until nobody serves a
//	steady   B         b      -
//
// The key of a CA signs one certificate and is kept nowhere. Certificates are
// judged by the clock of the API server, which is the one that verifies them.
// Files of one's own are served instead where they are given.
//
// It knows no webhook configuration: who publishes the bundle says
// whether it has arrived.
package certs
