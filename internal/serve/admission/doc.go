// Package admission answers AdmissionReviews of the API server.
//
//	                  ┌► Change ───► no-downscale, prepare-downscale ───┐
//	HTTP ──► review ──┼► Eviction ─► pod-eviction-pin, pod-eviction ────┼► Verdict ──► review ──► HTTP
//	                  └► object ───► zpdb-validation ───────────────────┘
//
// Decoding contains no rule, and judges know nothing of HTTP. Every replica serves the
// webhooks. A request that is no valid review gets an HTTP error; the API server then
// applies the webhook's failurePolicy. If a valid review cannot be judged, the judge's
// Doubt allows or refuses it.
package admission
