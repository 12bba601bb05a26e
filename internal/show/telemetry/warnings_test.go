package telemetry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// answering is an API server that adds the same warnings to every response.
type answering []string

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	for _, warning := range a {
		answer.Header().Add("Warning", warning)
	}
	return answer.Result(), nil
}

func TestAWarningOfAnAPIServerNamesItsObject(t *testing.T) {
	const unknown = `299 - "unknown field \"status\""`
	for sentence, tc := range map[string]struct {
		path     string
		warnings answering
		want     []string
	}{
		"an object of a kind":         {"/apis/example.com/v1/namespaces/team/budgets/store", answering{unknown}, []string{`name=store namespace=team resource=budgets.example.com verb=PATCH warning=unknown field "status"`}},
		"its status":                  {"/apis/example.com/v1/namespaces/team/budgets/store/status", answering{unknown}, []string{`name=store namespace=team resource=budgets.example.com subresource=status verb=PATCH warning=unknown field "status"`}},
		"an object of the core group": {"/api/v1/namespaces/team/pods/web-0", answering{unknown}, []string{`name=web-0 namespace=team resource=pods verb=PATCH warning=unknown field "status"`}},
		"a namespace":                 {"/api/v1/namespaces/team", answering{unknown}, []string{`name=team resource=namespaces verb=PATCH warning=unknown field "status"`}},
		"a list":                      {"/apis/policy/v1beta1/poddisruptionbudgets", answering{`299 - "deprecated"`}, []string{`resource=poddisruptionbudgets.policy verb=PATCH warning=deprecated`}},
		"another path":                {"/version", answering{`299 - "old"`}, []string{`path=/version verb=PATCH warning=old`}},
		"two warnings":                {"/api/v1/pods", answering{`299 - "a"`, `299 - "b"`}, []string{`resource=pods verb=PATCH warning=a`, `resource=pods verb=PATCH warning=b`}},
		"another code":                {"/api/v1/pods", answering{`199 - "a"`}, nil},
		"nonsense":                    {"/api/v1/pods", answering{`nonsense`}, nil},
		"none":                        {"/api/v1/pods", nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			log, lines := logtest.NewNullLogger()
			send(t, telemetry.NewWarnings(log).Watch(tc.warnings), tc.path)
			if diff := cmp.Diff(tc.want, said(lines)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheSameWarningAboutAnObjectIsLoggedOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := logtest.NewNullLogger()
		transport := telemetry.NewWarnings(log).Watch(answering{`299 - "old"`})
		for range 120 {
			send(t, transport, "/api/v1/namespaces/team/pods/web-0")
			send(t, transport, "/api/v1/namespaces/team/pods/web-1")
			time.Sleep(time.Minute)
		}
		if got := len(said(lines)); got != 4 {
			t.Errorf("%d lines in two hours about two pods, want 4", got)
		}
	})
}

func send(t *testing.T, transport http.RoundTripper, path string) {
	t.Helper()
	answer, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodPatch, path, nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// said returns the fields of each line.
func said(lines *logtest.Hook) []string {
	var all []string
	for _, line := range lines.AllEntries() {
		var fields []string
		for key, value := range line.Data {
			fields = append(fields, fmt.Sprintf("%s=%v", key, value))
		}
		slices.Sort(fields)
		all = append(all, strings.Join(fields, " "))
	}
	return all
}
