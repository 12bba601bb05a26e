// The prometheus-operator's CRDs, pinned: an API server with them judges manifests/monitoring. Nothing of it is built.
// To move it: go get github.com/prometheus-operator/prometheus-operator@VERSION in this folder.
module github.com/lockstep-dev/lockstep/tools/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0 // indirect
