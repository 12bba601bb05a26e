package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// holdsStill makes an up-to-date member of one zone crash during the rollout of another zone. The
// member returns slowly, and no pod may be disrupted meanwhile.
func (w *world) holdsStill(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "holds-still", 3)
	const crashing = "store-zone-b-1"
	s.create(zone("a", 3), zone("b", 2, variable("MEMBER_START", "15s")))
	s.changeOnly([]string{"store-zone-a"}, revision("2"), variable("MEMBER_START", "1s"))
	s.awaitDepartures(1)
	before := len(s.history())
	if err := s.crash(crashing); err != nil {
		t.Fatal(err)
	}
	s.settled()
	s.wantDepartures(3)
	s.wantHeldStill(crashing, s.history()[before:])
}

// crash makes a member end at once. It must not answer.
func (s *scene) crash(pod string) error {
	call := s.admin.CoreV1().RESTClient().Post().Namespace(s.name).Resource("pods").Name(fmt.Sprintf("%s:%d", pod, port)).SubResource("proxy").Suffix("crash")
	if answer, err := call.DoRaw(s.t.Context()); err == nil {
		return fmt.Errorf("%s answers %q and lives", pod, answer)
	}
	return nil
}

// wantHeldStill fails the test unless a pod was not ready for a time. No other pod may
// terminate from when the operator must have observed that, until the pod is ready again.
func (s *scene) wantHeldStill(pod string, history []judge.Event) {
	s.t.Helper()
	var away, back time.Time
	leaving := map[string]bool{}
	for _, f := range history {
		switch p := f.Pod; {
		case p == nil:
		case p.Name == pod && !p.Ready && away.IsZero():
			away = f.At
		case p.Name == pod && p.Ready && !away.IsZero() && back.IsZero():
			back = f.At
		case (p.Terminating || p.Deleted) && !leaving[p.UID]:
			leaving[p.UID] = true
			if !away.IsZero() && back.IsZero() && f.At.After(away.Add(grace)) {
				s.t.Errorf("%s terminated %s after %s was down", p.Name, f.At.Sub(away), pod)
			}
		}
	}
	if away.IsZero() || back.Sub(away) < 2*grace {
		s.t.Errorf("%s was down from %s to %s, which proves nothing", pod, away, back)
	}
}

func (w *world) repairsMembersThatEnd(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "repairs-members", 5)
	s.create(zone("a", 2), zone("b", 2))
	s.change(revision("2"), variable("MEMBER_BROKEN", "true"))
	eventually(t, "a pod ends again and again", func() error { return s.restarted("store-zone-a-0") })
	s.staysAtDepartures(1)
	s.change(revision("3"), variable("MEMBER_BROKEN", "false"))
	s.settled()
	s.wantDepartures(5)
}

// restarted returns an error unless a container of a pod has restarted and ended again.
func (s *scene) restarted(name string) error {
	pod, err := s.admin.CoreV1().Pods(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, container := range pod.Status.ContainerStatuses {
		if container.RestartCount > 0 && (container.State.Waiting != nil || container.State.Terminated != nil) {
			return nil
		}
	}
	return errors.New("it has not")
}
