package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const wasPrepared = "POST /prepare-shutdown"

func (w *world) preparesDownscales(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "shrinks", 0)
	slowly := variable("MEMBER_STOP", "8s")
	s.create(zone("a", 2, prepared, slowly), zone("b", 2, prepared, slowly))
	eventually(t, "a member is asked by its name", func() error {
		return s.answersByName("store-zone-b-0", "store-zone-a-1", "/prepare-shutdown", `{"prepared": false}`)
	})

	w.run(t, "scale", "--namespace="+s.name, "statefulset/store-zone-a", "--replicas=1")
	s.wantLog("store-zone-a-1", wasPrepared)
	s.wantLog("store-zone-a-0", "")
	if err := s.shrink("store-zone-b", 1); err == nil || !strings.Contains(err.Error(), "store-zone-a") {
		t.Errorf("while zone a shrinks, zone b is answered %v", err)
	}
	s.wantLog("store-zone-b-1", "")
	s.isGone("store-zone-a-1")

	eventually(t, "zone b may shrink through scale", func() error { return s.shrink("store-zone-b", 1) })
	s.wantLog("store-zone-b-1", wasPrepared)
	s.isGone("store-zone-b-1")
	s.settled()
}

// shrink asks for fewer replicas through the scale of a zone.
func (s *scene) shrink(zone string, replicas int32) error {
	sets := s.admin.AppsV1().StatefulSets(s.name)
	scale, err := sets.GetScale(s.t.Context(), zone, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = replicas
	_, err = sets.UpdateScale(s.t.Context(), zone, scale, metav1.UpdateOptions{})
	return err
}

func (s *scene) isGone(pod string) {
	s.t.Helper()
	eventually(s.t, pod+" is gone", func() error {
		_, err := s.admin.CoreV1().Pods(s.name).Get(s.t.Context(), pod, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		}
		return err
	})
}

// delay is how long a member stays after it was told that it will leave: long enough for
// a slow machine to ask it since when it is ready to.
const delay = 30 * time.Second

func (w *world) delaysDownscales(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "delays", 0)
	w.run(t, "apply", "--namespace="+s.name, "-f", "testdata/replicatemplate.yaml")
	s.create(zone("a", 2, delayed), zone("b", 2))
	w.run(t, "scale", "--namespace="+s.name, "replicatemplate/store", "--replicas=1")
	eventually(t, "the member was told", func() error {
		log, err := s.ask("store-zone-a-1", "/log", nil)
		if err == nil && !strings.HasSuffix(log, "POST /prepare-delayed-downscale") {
			err = fmt.Errorf("its log is %q", log)
		}
		return err
	})
	answered := s.readyToLeave("store-zone-a-1")
	s.isGone("store-zone-a-1")
	if waited := s.beganToLeave("store-zone-a-1").Sub(answered); waited < delay {
		t.Errorf("the member began to leave %s after it was ready to, %s wanted", waited, delay)
	}
	s.settled()
}

// readyToLeave is since when a member is, as it answers itself.
func (s *scene) readyToLeave(pod string) time.Time {
	s.t.Helper()
	text, err := s.ask(pod, "/prepare-delayed-downscale", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer struct{ Timestamp int64 }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Timestamp == 0 {
		s.t.Fatalf("%s answers %q, %v", pod, text, err)
	}
	return time.Unix(answer.Timestamp, 0)
}

// beganToLeave is when the witness saw that a pod which is gone began to leave.
func (s *scene) beganToLeave(pod string) time.Time {
	s.t.Helper()
	history := s.history()
	i := slices.IndexFunc(history, func(f judge.Fact) bool { return f.Pod != nil && f.Pod.Name == pod && (f.Pod.Leaving || f.Pod.Gone) })
	if i < 0 {
		s.t.Fatalf("%s left, and no watch has told", pod)
	}
	return history[i].At
}

// delayed zones take their replicas from a ReplicaTemplate, and shrink after a delay.
func delayed(s *appsv1.StatefulSet) {
	for name, value := range map[string]string{
		"rollout-mirror-replicas-from-resource-name":        "store",
		"rollout-mirror-replicas-from-resource-kind":        "ReplicaTemplate",
		"rollout-mirror-replicas-from-resource-api-version": "rollout-operator.grafana.com/v1",
		"rollout-delayed-downscale":                         delay.String(),
		"rollout-prepare-delayed-downscale-url":             "http://store:8080/prepare-delayed-downscale",
	} {
		s.Annotations["grafana.com/"+name] = value
	}
}
