package e2e_test

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ask calls a member and returns its answer. The API server forwards the call, so that it
// reaches pods on every node.
func (s *scene) ask(pod, path string, parameters map[string]string) (string, error) {
	call := s.admin.CoreV1().Pods(s.name).ProxyGet("http", pod, fmt.Sprint(port), path, parameters)
	answer, err := call.DoRaw(s.t.Context())
	if err != nil {
		return "", fmt.Errorf("call %s at %s: %w: %s", pod, path, err, answer)
	}
	return strings.TrimSpace(string(answer)), nil
}

// wantLog fails the test unless a member received exactly these calls, by its DNS name.
func (s *scene) wantLog(pod string, calls ...string) {
	s.t.Helper()
	var want []string
	for _, call := range calls {
		want = append(want, fmt.Sprintf("%s %q", call, s.hostOf(pod)))
	}
	switch got, err := s.ask(pod, "/log", nil); {
	case err != nil:
		s.t.Error(err)
	case got != strings.Join(want, "\n"):
		s.t.Errorf("%s received %q, want %q", pod, got, want)
	}
}

// nameOf returns the DNS name of a member.
func (s *scene) nameOf(pod string) string {
	return fmt.Sprintf("%s.%s.%s.svc.cluster.local", pod, group, s.name)
}

// hostOf returns the host and port of a member.
func (s *scene) hostOf(pod string) string { return fmt.Sprintf("%s:%d", s.nameOf(pod), port) }

// reachesByName returns an error unless a member reaches another one by its DNS name, and the name
// resolves to the address of its pod.
func (s *scene) reachesByName(asking, requested, path, want string) error {
	pod, err := s.admin.CoreV1().Pods(s.name).Get(s.t.Context(), requested, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch addresses, err := s.ask(asking, "/resolve", map[string]string{"name": s.nameOf(requested)}); {
	case err != nil:
		return err
	case addresses != pod.Status.PodIP:
		return fmt.Errorf("%s leads to %q, and its pod has %s", s.nameOf(requested), addresses, pod.Status.PodIP)
	}
	switch got, err := s.ask(asking, "/ask", map[string]string{"url": "http://" + s.hostOf(requested) + path}); {
	case err != nil:
		return err
	case got != want:
		return errors.New(got)
	}
	return nil
}
