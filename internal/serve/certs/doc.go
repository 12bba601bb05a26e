// Package certs provides the certificate that the webhooks serve.
//
// A generated certificate is stored in a Secret. All replicas share the Secret and
// change it only by compare-and-swap. The next step depends on the Secret alone, so any
// replica can take the next step of a rotation, and neither a restart nor another leader
// makes a difference:
//
//	         ca        cert   next-cert
//	steady   A         a      -          a: signed by A
//	prepared B A       a      b          until every client trusts B, and a while longer
//	switched B A       b      -          until no replica serves a
//	steady   B         b      -
//
// The key of a CA signs one certificate and is not stored. Certificates are checked by
// the clock of the API server, because the API server verifies them. If the user
// configures certificate files, the webhooks serve those instead.
//
// The package does not know webhook configurations: Options.Published reports whether
// they contain the bundle.
package certs
