package telemetry

import (
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/net"
)

const (
	// warnAgain is after how long the same warning about the same object is logged again.
	warnAgain = time.Hour
	// mostWarnings is the maximum number of remembered warnings, each with a path and a text.
	mostWarnings = 2000
	// warningCode is the code of API servers' warnings.
	warningCode = 299
)

// Warnings logs warnings of API servers, for example about unknown fields and deprecated
// versions, with the object of the request. client-go's own line has only the text. It logs the
// same text about an object once an hour. Create it with NewWarnings.
type Warnings struct {
	log  *logrus.Logger
	last *seldom
}

// NewWarnings returns Warnings that write to a log.
func NewWarnings(log *logrus.Logger) *Warnings {
	return &Warnings{log: log, last: newSeldom(nil, warnAgain, mostWarnings)}
}

// Watch returns a transport that logs the warnings of every response. It changes neither requests
// nor responses.
func (w *Warnings) Watch(next http.RoundTripper) http.RoundTripper { return warned{next, w} }

type warned struct {
	next     http.RoundTripper
	warnings *Warnings
}

// RoundTrip implements http.RoundTripper.
func (w warned) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	if err == nil && len(answer.Header["Warning"]) > 0 {
		w.warnings.tell(r, answer.Header["Warning"])
	}
	return answer, err
}

// WrappedRoundTripper returns the inner transport, for client-go.
func (w warned) WrappedRoundTripper() http.RoundTripper { return w.next }

func (w *Warnings) tell(r *http.Request, headers []string) {
	warnings, _ := net.ParseWarningHeaders(headers) // malformed warnings are ignored
	for _, warning := range warnings {
		if warning.Code != warningCode || warning.Text == "" || !w.last.due(r.URL.Path+" "+warning.Text, time.Now()) {
			continue
		}
		fields := objectOf(r.URL.Path)
		fields["verb"], fields["warning"] = r.Method, warning.Text
		w.log.WithContext(r.Context()).WithFields(fields).Info("the API server warns")
	}
}

// objectOf returns the object in a path of an API server: the resource with its group, its
// subresource if there is one, namespace and name.
func objectOf(path string) logrus.Fields {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return logrus.Fields{"path": path}
	}
	fields := logrus.Fields{}
	if len(parts) > 2 && parts[0] == "namespaces" {
		fields["namespace"], parts = parts[1], parts[2:]
	}
	fields["resource"] = parts[0] + group
	for i, field := range []string{"name", "subresource"} {
		if len(parts) > i+1 {
			fields[field] = parts[i+1]
		}
	}
	return fields
}
