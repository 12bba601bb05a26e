package e2e_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func (w *world) rolls(t *testing.T) {
	t.Parallel()
	scenes := []*scene{w.scene(t, "rolls-north", 6), w.scene(t, "rolls-south", 6)}
	for _, s := range scenes {
		s.create(zone("a", 2), zone("b", 2), zone("c", 2))
	}
	for _, s := range scenes {
		s.change(revision("2"), variable("MEMBER_START", "500ms"), variable("MEMBER_STOP", "500ms"))
	}
	for _, s := range scenes {
		s.settled()
		s.wantDepartures(6)
	}
}

func (w *world) repairsABadImage(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "repairs", 5)
	s.create(zone("a", 2), zone("b", 2))
	s.change(runs(missingImage))
	eventually(t, "a pod lacks its image", func() error { return s.lacksImage("store-zone-a-0") })
	s.staysAtDepartures(1)
	s.change(runs(images.Member), revision("2"))
	s.settled()
	s.wantDepartures(5)
}

// lacksImage returns an error unless a pod waits for an image that does not exist.
func (s *scene) lacksImage(name string) error {
	pod, err := s.admin.CoreV1().Pods(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason == "ErrImageNeverPull" {
			return nil
		}
	}
	return fmt.Errorf("its containers are %v", pod.Status.ContainerStatuses)
}
