// Package dashboard contains lockstep's dashboard for Grafana as a table of rows, panels and
// queries. `make generate` writes manifests/monitoring/dashboard.json.
//
// The operator does not link it.
package dashboard
