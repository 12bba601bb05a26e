package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// jaeger is a Jaeger of one test.
type jaeger struct{ *localcluster.Jaeger }

func startJaeger(t *testing.T) jaeger {
	t.Helper()
	j, err := localcluster.StartJaeger(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.End(); err != nil {
			t.Error(err)
		}
	})
	return jaeger{j}
}

// environment returns variables with which an operator exports to this Jaeger, a fixed time after
// spans have ended.
func (j jaeger) environment(after time.Duration) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + j.OTLP(), fmt.Sprint("OTEL_BSP_SCHEDULE_DELAY=", after.Milliseconds())}
}

// span is a span in the form of the query API.
type span struct {
	TraceID, SpanID, OperationName string
	References                     []struct{ RefType, TraceID, SpanID string }
	StartTime, Duration            int64 // in microseconds
	Tags                           tags
	Logs                           []struct {
		Timestamp int64
		Fields    tags
	}
	ProcessID string
	service   string
}

type tags []struct {
	Key   string
	Value any
}

func (t tags) get(key string) string {
	for _, tag := range t {
		if tag.Key == key {
			return fmt.Sprint(tag.Value)
		}
	}
	return ""
}

func (s span) start() time.Time { return time.UnixMicro(s.StartTime) }
func (s span) end() time.Time   { return time.UnixMicro(s.StartTime + s.Duration) }

// same reports whether both are the same span, exported twice.
func (s span) same(other span) bool {
	return s.TraceID == other.TraceID && s.SpanID == other.SpanID && s.parent() == other.parent() &&
		s.OperationName == other.OperationName && s.StartTime == other.StartTime && s.Duration == other.Duration
}

// parent returns the id of the parent span, which belongs to the same trace.
func (s span) parent() string {
	for _, r := range s.References {
		if r.RefType == "CHILD_OF" && r.TraceID == s.TraceID {
			return r.SpanID
		}
	}
	return ""
}

// linked reports whether the span has a link to another span than its parent.
func (s span) linked(trace, id string) bool {
	for _, r := range s.References {
		if r.TraceID == trace && r.SpanID == id && r.SpanID != s.parent() {
			return true
		}
	}
	return false
}

// within reports whether the span lies within the other one in time, with a tolerance of a second.
func (s span) within(other span) bool {
	return !s.start().Before(other.start().Add(-time.Second)) && !s.end().After(other.end().Add(time.Second))
}

// trace returns the spans of a trace.
func (j jaeger) trace(id string) ([]span, error) { return j.get("/api/traces/" + id) }

// named returns the spans of that name in all traces.
func (j jaeger) named(operation string) ([]span, error) {
	all, err := j.get("/api/traces?limit=1000&service=lockstep&operation=" + url.QueryEscape(operation))
	var named []span
	for _, s := range all {
		if s.OperationName == operation {
			named = append(named, s)
		}
	}
	return named, err
}

func (j jaeger) get(path string) ([]span, error) {
	code, body := get(j.Query() + path)
	if code != http.StatusOK {
		return nil, fmt.Errorf("Jaeger answers %d: %s", code, strings.TrimSpace(body))
	}
	var answer struct {
		Data []struct {
			Spans     []span
			Processes map[string]struct{ ServiceName string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return nil, err
	}
	var all []span
	for _, trace := range answer.Data {
		for _, s := range trace.Spans {
			s.service = trace.Processes[s.ProcessID].ServiceName
			all = append(all, s)
		}
	}
	return all, nil
}
