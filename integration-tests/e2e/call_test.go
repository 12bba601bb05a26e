package e2e_test

import (
	"errors"
	"fmt"
	"strings"
)

// ask asks a member and returns its answer. The API server hands the call on, so that
// it reaches pods wherever they are.
func (s *scene) ask(pod, path string, parameters map[string]string) (string, error) {
	call := s.admin.CoreV1().Pods(s.name).ProxyGet("http", pod, fmt.Sprint(port), path, parameters)
	answer, err := call.DoRaw(s.t.Context())
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w: %s", pod, path, err, answer)
	}
	return strings.TrimSpace(string(answer)), nil
}

// wantLog wants a member to have been asked this and nothing else.
func (s *scene) wantLog(pod, want string) {
	s.t.Helper()
	switch got, err := s.ask(pod, "/log", nil); {
	case err != nil:
		s.t.Error(err)
	case got != want:
		s.t.Errorf("%s was asked %q, want %q", pod, got, want)
	}
}

// answersByName says how the answer of a member differs from this when another one
// asks it by its name.
func (s *scene) answersByName(asking, asked, path, want string) error {
	url := fmt.Sprintf("http://%s.%s.%s.svc:%d%s", asked, group, s.name, port, path)
	got, err := s.ask(asking, "/ask", map[string]string{"url": url})
	if err == nil && got != want {
		err = errors.New(got)
	}
	return err
}
