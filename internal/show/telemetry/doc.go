// Package telemetry sets up logs with logrus, traces with OpenTelemetry and metrics with
// Prometheus. Messages of klog and of OpenTelemetry itself go into the same log.
//
// The package defines names, formats and label sets. It knows nothing about groups except for
// their labels. It makes no decision, and no decision depends on it: an unreachable collector
// only increments a counter, and rules contain no calls to metrics.
package telemetry
