// Package admission answers the API server's questions whether a change may
// pass: AdmissionReview in, verdict out.
//
//	                  ┌► Change ───► no-downscale, prepare-downscale ───┐
//	HTTP ──► review ──┼► Eviction ─► pod-eviction-pin, pod-eviction ────┼► Verdict ──► review ──► HTTP
//	                  └► object ───► zpdb-validation ───────────────────┘
//
// Decoding knows no rule and judging knows no HTTP. Every replica serves. What
// is no review at all gets an HTTP error, which the API server treats by the
// webhook's failure policy; what is a review and cannot be judged is the judge's
// to allow or to refuse.
package admission
