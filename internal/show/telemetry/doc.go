// Package telemetry sets up what can be seen of the process: logs with logrus,
// traces with OpenTelemetry, metrics with Prometheus. Messages of klog and of
// OpenTelemetry itself go into the same log.
//
// It knows names, formats and label sets, and nothing about groups
// beyond what a label needs. It decides nothing, and nothing depends on it: an
// unreachable collector costs a counter, and a metric never stands between two
// lines of a rule.
package telemetry
