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

// answers says how the answer of a member differs from this.
func (s *scene) answers(pod, path, want string) error {
	got, err := s.ask(pod, path, nil)
	if err == nil && got != want {
		err = fmt.Errorf("%s says %q to %s, want %q", pod, got, path, want)
	}
	return err
}

func (s *scene) wantAnswer(pod, path, want string) {
	s.t.Helper()
	if err := s.answers(pod, path, want); err != nil {
		s.t.Error(err)
	}
}

// answersByName says how the answer of a member differs from this when another one
// asks it by its name.
func (s *scene) answersByName(asking, asked, path, want string) error {
	url := fmt.Sprintf("http://%s.%s.%s.svc.cluster.local:%d%s", asked, group, s.name, port, path)
	got, err := s.ask(asking, "/ask", map[string]string{"url": url})
	if err == nil && got != want {
		err = errors.New(got)
	}
	return err
}
