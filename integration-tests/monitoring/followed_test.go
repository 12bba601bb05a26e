package monitoring_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// A refused client receives a message. The log has the message with a trace, the trace has the same
// reason, and the metric of that reason has an exemplar with the trace.
func TestARefusedDownscaleIsFollowedFromItsMessageToLogTraceAndExemplar(t *testing.T) {
	needsPrograms(t)
	jaeger, err := localcluster.StartJaeger(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := jaeger.End(); err != nil {
			t.Error(err)
		}
	})
	s := newScene(t)
	s.operate(jaeger.OTLP())
	s.settle()
	c := s.caller()
	s.roll()
	var message string
	s.await("a refusal", func() error {
		if message = c.scaleDown(zones[2]); !strings.Contains(message, "(GroupHeld") {
			return fmt.Errorf("it is answered %q", message)
		}
		return nil
	})
	var line review
	s.await("its line of log", func() error {
		line, err = s.logged(message)
		return err
	})
	if line.Reason != "GroupHeld" || line.Namespace != namespace || line.Webhook != "prepare-downscale" || !strings.HasSuffix(line.Object, "/"+zones[2]) {
		t.Errorf("the log says %+v", line)
	}
	s.await("the trace", func() error { return tagged(s, jaeger.Query()+"/api/traces/"+line.Trace, line) })
	exemplar := fmt.Sprintf("trace_id=%q", line.Trace)
	found := false
	for series := range strings.Lines(s.fetch(s.operator.URL()+"/metrics", "application/openmetrics-text")) {
		found = found || strings.HasPrefix(series, "lockstep_admission_duration_seconds_bucket{") && strings.Contains(series, exemplar) &&
			strings.Contains(series, `verdict="denied",webhook="prepare-downscale"`)
	}
	if !found {
		t.Errorf("no exemplar with %s", exemplar)
	}
	s.rolled()
}

// review is the log line of a review.
type review struct {
	Msg, Message, Reason, Namespace, Webhook, Object string

	Trace string `json:"trace_id"`
	Span  string `json:"span_id"`
}

// logged returns the log line with the message of a refusal.
func (s *scene) logged(message string) (review, error) {
	for line := range strings.Lines(s.operator.Logs()) {
		var r review
		if json.Unmarshal([]byte(line), &r) == nil && r.Msg == "review answered" && r.Message == message {
			return r, nil
		}
	}
	return review{}, fmt.Errorf("the log has no %q", message)
}

// tagged returns an error unless a trace in Jaeger has the span of a review, with its reason.
func tagged(s *scene, trace string, r review) error {
	var answer struct {
		Data []struct {
			Spans []struct {
				SpanID, OperationName string
				Tags                  []struct {
					Key   string
					Value any
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(s.fetch(trace, "application/json")), &answer); err != nil {
		return err
	}
	for _, data := range answer.Data {
		for _, span := range data.Spans {
			for _, tag := range span.Tags {
				if span.SpanID == r.Span && span.OperationName == "admission "+r.Webhook && tag.Key == "lockstep.reason" && tag.Value == r.Reason {
					return nil
				}
			}
		}
	}
	return errors.New("it does not exist, or has another value")
}

func (s *scene) fetch(url, accept string) string {
	s.Helper()
	q, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, nil)
	s.must(err)
	q.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(q)
	s.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	return string(text)
}
