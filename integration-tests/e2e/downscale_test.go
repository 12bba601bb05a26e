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
	s := w.scene(t, "scales-down", 0)
	slowly := variable("MEMBER_STOP", "8s")
	s.create(zone("a", 2, prepared, slowly), zone("b", 2, prepared, slowly), zone("c", 2, prepared, slowly))
	for _, requested := range []string{"store-zone-a-1", "store-zone-b-1", "store-zone-c-1"} {
		eventually(t, requested+" is reached by its name", func() error {
			return s.reachesByName("store-zone-a-0", requested, "/prepare-shutdown", `{"prepared": false}`)
		})
	}

	s.wantStamped("store-zone-a", s.scaleDownByPatch)
	s.wantLog("store-zone-a-1", wasPrepared)
	s.wantLog("store-zone-a-0")
	s.wantRefused("store-zone-a", "store-zone-b", s.scaleDownByKubectl)
	s.wantRefused("store-zone-a", "store-zone-c", s.scaleDownByClient)
	s.isDeleted("store-zone-a-1")

	eventually(t, "zone b may be scaled down by kubectl scale", func() error { return s.scaleDownByKubectl("store-zone-b") })
	s.wantLog("store-zone-b-1", wasPrepared)
	s.wantRefused("store-zone-b", "store-zone-c", s.scaleDownByClient)
	s.isDeleted("store-zone-b-1")

	eventually(t, "zone c may be scaled down through scale", func() error { return s.scaleDownByClient("store-zone-c") })
	s.wantLog("store-zone-c-1", wasPrepared)
	s.isDeleted("store-zone-c-1")
	s.settled()
}

// wantRefused fails the test unless the downscale of a zone is refused because of another one,
// without calls to its pods.
func (s *scene) wantRefused(scaling, zone string, scaleDown func(zone string) error) {
	s.t.Helper()
	if err := scaleDown(zone); err == nil || !strings.Contains(err.Error(), scaling) {
		s.t.Errorf("while %s is scaled down, %s is answered %v", scaling, zone, err)
	}
	s.wantLog(zone + "-1")
}

// wantStamped fails the test unless a zone is scaled down and the object in the API server's answer
// has the time.
func (s *scene) wantStamped(zone string, scaleDown func(zone string) (stamp string, err error)) {
	s.t.Helper()
	requested := time.Now()
	stamp, err := scaleDown(zone)
	if err != nil {
		s.t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil || at.Before(requested.Add(-rounding)) || at.After(time.Now().Add(rounding)) {
		s.t.Errorf("%s was scaled down at %s, and %s is %q, %v", zone, requested, lastDownscale, stamp, err)
	}
}

const lastDownscale = "grafana.com/last-downscale"

// rounding is the tolerance for a time from the API server that is written again; both are whole
// seconds.
const rounding = 2 * time.Second

// scaleDownByPatch removes a replica by spec.replicas and returns the time in the zone's annotation.
func (s *scene) scaleDownByPatch(zone string) (stamp string, err error) {
	return s.answer(s.t.Context(), "patch", "--namespace="+s.name, "statefulset/"+zone, `--patch={"spec":{"replicas":1}}`,
		"--output=jsonpath={.metadata.annotations."+strings.ReplaceAll(lastDownscale, ".", `\.`)+"}")
}

// scaleDownByKubectl removes a replica like a user, which changes the scale.
func (s *scene) scaleDownByKubectl(zone string) error {
	return s.try(s.t.Context(), "scale", "--namespace="+s.name, "statefulset/"+zone, "--replicas=1")
}

// scaleDownByClient removes a replica like an autoscaler, which writes the complete scale.
func (s *scene) scaleDownByClient(zone string) error {
	sets := s.admin.AppsV1().StatefulSets(s.name)
	scale, err := sets.GetScale(s.t.Context(), zone, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 1
	_, err = sets.UpdateScale(s.t.Context(), zone, scale, metav1.UpdateOptions{})
	return err
}

func (s *scene) isDeleted(pod string) {
	s.t.Helper()
	eventually(s.t, pod+" is deleted", func() error {
		_, err := s.admin.CoreV1().Pods(s.name).Get(s.t.Context(), pod, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it exists")
		}
		return err
	})
}

// delay is how long a member stays after it was called about its removal. It is long enough
// for a slow machine to read since when the member is ready for it.
const delay = 30 * time.Second

func (w *world) delaysDownscales(t *testing.T) {
	t.Parallel()
	s := w.scene(t, "delays", 0)
	w.run(t, "apply", "--namespace="+s.name, "-f", "testdata/replicatemplate.yaml")
	s.create(zone("a", 2, delayed), zone("b", 2))
	w.run(t, "scale", "--namespace="+s.name, "replicatemplate/store", "--replicas=1")
	eventually(t, "the member was notified", func() error {
		log, err := s.ask("store-zone-a-1", "/log", nil)
		if told := fmt.Sprintf("POST /prepare-delayed-downscale %q", s.hostOf("store-zone-a-1")); err == nil && !strings.HasSuffix(log, told) {
			err = fmt.Errorf("its log is %q", log)
		}
		return err
	})
	answered := s.preparedSince("store-zone-a-1")
	s.isDeleted("store-zone-a-1")
	if waited := s.terminatingSince("store-zone-a-1").Sub(answered); waited < delay {
		t.Errorf("the removal of the member began %s after it was ready, %s wanted", waited, delay)
	}
	s.settled()
}

// preparedSince returns the member's own answer since when it is ready to be removed.
func (s *scene) preparedSince(pod string) time.Time {
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

// terminatingSince returns when the observer received that a deleted pod began to terminate.
func (s *scene) terminatingSince(pod string) time.Time {
	s.t.Helper()
	history := s.history()
	i := slices.IndexFunc(history, func(f judge.Event) bool {
		return f.Pod != nil && f.Pod.Name == pod && (f.Pod.Terminating || f.Pod.Deleted)
	})
	if i < 0 {
		s.t.Fatalf("%s terminated, and no watch has shown it", pod)
	}
	return history[i].At
}

// delayed makes zones take their replicas from a ReplicaTemplate, and scale down after a delay.
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
