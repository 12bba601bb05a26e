package telemetry

import (
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// missingRights is a sink for client-go's messages. If the API server denies a request for lack
// of a permission, it logs the permission, at most once per rightAgain: informers and the leader
// election repeat such requests about every second while they are denied.
type missingRights struct {
	klog.LogSink
	told *seldom
}

// rightAgain is the minimum time between two log lines about the same permission.
const rightAgain = time.Minute

// Error implements klog.LogSink.
func (m missingRights) Error(err error, msg string, keysAndValues ...any) {
	right, denied := rightIn(err)
	switch {
	case !denied:
		m.LogSink.Error(err, msg, keysAndValues...)
	case m.told.due(right, time.Now()):
		m.LogSink.Error(err, "a permission is missing", "missing", right)
	}
}

// WithValues implements klog.LogSink.
func (m missingRights) WithValues(keysAndValues ...any) klog.LogSink {
	return missingRights{m.LogSink.WithValues(keysAndValues...), m.told}
}

// WithName implements klog.LogSink.
func (m missingRights) WithName(name string) klog.LogSink {
	return missingRights{m.LogSink.WithName(name), m.told}
}

// denial matches the messages of API servers' authorizers about denied requests.
var denial = regexp.MustCompile(`cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`)

// rightIn returns the permission that a denied request lacked, as in "list statefulsets.apps in
// team".
func rightIn(err error) (right string, denied bool) {
	if !apierrors.IsForbidden(err) {
		return "", false
	}
	found := denial.FindStringSubmatch(err.Error())
	if found == nil {
		return "", false
	}
	verb, resource, group, namespace := found[1], found[2], found[3], found[4]
	right = verb + " " + resource
	if group != "" {
		right += "." + group
	}
	if namespace != "" {
		right += " in " + namespace
	}
	return right, true
}
