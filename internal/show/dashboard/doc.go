// Package dashboard is lockstep's dashboard for Grafana as a table: rows of panels,
// panels of queries. `make generate` writes manifests/monitoring/dashboard.json.
//
// The operator does not link it.
package dashboard
