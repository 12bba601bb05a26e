package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAMemberReportsWhetherItIsPrepared(t *testing.T) {
	t.Parallel()
	m := &member{}
	for _, step := range []struct{ method, path, want string }{
		{"GET", "/prepare-shutdown", `{"prepared": false}`},
		{"POST", "/prepare-shutdown", `{"prepared": true}`},
		{"GET", "/prepare-shutdown", `{"prepared": true}`},
		{"DELETE", "/prepare-shutdown", `{"prepared": false}`},
		{"DELETE", "/prepare-delayed-downscale", `{"timestamp": 0}`},
		{"GET", "/log", `POST /prepare-shutdown "example.com"
DELETE /prepare-shutdown "example.com"
DELETE /prepare-delayed-downscale "example.com"`},
	} {
		if _, got := send(m, step.method, step.path); got != step.want {
			t.Errorf("%s %s: %q, want %q", step.method, step.path, got, step.want)
		}
	}
}

func TestNoHostNameForgesALogLine(t *testing.T) {
	t.Parallel()
	m := &member{}
	call := httptest.NewRequest("POST", "/prepare-shutdown", nil)
	call.Host = "a\"\nDELETE /prepare-shutdown \"b"
	m.handler().ServeHTTP(httptest.NewRecorder(), call)
	if _, got := send(m, "GET", "/log"); got != `POST /prepare-shutdown "a\"\nDELETE /prepare-shutdown \"b"` {
		t.Errorf("its log is %q", got)
	}
}

func TestAMemberKeepsTheTimeSinceWhenItIsPrepared(t *testing.T) {
	t.Parallel()
	m := &member{leaving: 1767614400}
	if _, got := send(m, "POST", "/prepare-delayed-downscale"); got != `{"timestamp": 1767614400}` {
		t.Errorf("the repeated call returns %q", got)
	}
}

func TestAMemberIsReadyOnceItHasStarted(t *testing.T) {
	t.Parallel()
	m := &member{}
	if code, _ := send(m, "GET", "/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("before its start: %d", code)
	}
	m.ready.Store(true)
	if code, _ := send(m, "GET", "/ready"); code != http.StatusOK {
		t.Errorf("after its start: %d", code)
	}
}

func TestAMemberCallsAnother(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer((&member{prepared: true}).handler())
	defer other.Close()
	if code, got := send(&member{}, "GET", "/ask?url="+other.URL+"/prepare-shutdown"); code != http.StatusOK || got != `{"prepared": true}` {
		t.Errorf("it answers %d %q", code, got)
	}
	if code, _ := send(&member{}, "GET", "/ask?url="+other.URL+"/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("a member that is not ready returns %d", code)
	}
}

func TestAMemberResolvesNames(t *testing.T) {
	t.Parallel()
	code, got := send(&member{}, "GET", "/resolve?name=localhost")
	if code != http.StatusOK || got == "" {
		t.Errorf("for localhost it returns %d %q", code, got)
	}
	for address := range strings.Lines(got) {
		if ip := net.ParseIP(strings.TrimSpace(address)); ip == nil || !ip.IsLoopback() {
			t.Errorf("localhost is %q", got)
		}
	}
	if code, got := send(&member{}, "GET", "/resolve?name="); code != http.StatusBadGateway {
		t.Errorf("without a name it returns %d %q", code, got)
	}
}

func send(m *member, method, path string) (code int, body string) {
	answer := httptest.NewRecorder()
	m.handler().ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}
