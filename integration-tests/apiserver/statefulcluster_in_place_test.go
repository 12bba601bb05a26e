package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// Two tags may be one image. Then only the IDs of the containers show that they have restarted.
func TestStatefulClusterUpdatesToAnotherTagOfTheSameImage(t *testing.T) {
	t.Parallel()
	const digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	p := sharedPool(t, 2, map[string]any{"template": podTemplate(map[string]any{localcluster.Digest: digest})})
	before := p.settles(2)
	former := containersOf(before)
	for _, image := range []string{"db:2", "db:3"} { // the second time, the containers have an ID before as well
		p.updates(withContainer(image, ""))
		after := p.hasImage(2, image)
		p.hasStayed(before, after)
		for id, of := range containersOf(after) {
			if of.ImageID != digest {
				t.Errorf("container %s has the image %s, so its restart shows by more than its ID", id, of.ImageID)
			}
			if _, was := former[id]; was {
				t.Errorf("container %s has not restarted for %s", id, image)
			}
		}
		former = containersOf(after)
	}
}

// containersOf returns the statuses of the containers of pods by their IDs.
func containersOf(pods []corev1.Pod) map[string]corev1.ContainerStatus {
	all := map[string]corev1.ContainerStatus{}
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			all[pods[i].Name+" "+s.ContainerID] = s
		}
	}
	return all
}

// Each pod leaves its clients first, and then each of its containers that gets another image restarts once, although lockstep is
// killed meanwhile.
func TestStatefulClusterRestartsEachContainerOnceAfterAGracePeriod(t *testing.T) {
	t.Parallel()
	template := func(db, proxy string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "db", "image": db}, map[string]any{"name": "proxy", "image": proxy}, map[string]any{"name": "metrics", "image": "metrics:1"},
		}}}
	}
	s := unmanaged(t)
	s.allowsPools()
	operator := s.startOperator(withoutElection, "-statefulcluster.enabled")
	p := s.createPool(2, map[string]any{
		"template": template("db:1", "proxy:1"), "volumeClaimTemplates": []any{},
		"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"inPlace": map[string]any{"gracePeriodSeconds": int64(1)}}},
	})
	before := p.settles(2)
	for _, update := range []struct {
		killed                      bool // lockstep is, while a pod leaves its clients
		db, proxy, restarts, stages string
	}{
		{false, "db:2", "proxy:2", "db 1, proxy 1, metrics 0", "open db:1 0, closed db:1 0, closed db:2 0, open db:2 0"},
		{false, "db:2", "proxy:3", "db 1, proxy 2, metrics 0", "open db:2 0, closed db:2 0, open db:2 0"},
		{true, "db:3", "proxy:3", "db 2, proxy 2, metrics 0", "open db:2 0, closed db:2 0, closed db:3 0, open db:3 0"},
	} {
		stop := p.records()
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template(update.db, update.proxy)}})
		if err != nil {
			t.Fatal(err)
		}
		p.updates(string(patch))
		if update.killed {
			p.eventually("a pod leaves its clients", func(present) error {
				if !slices.ContainsFunc(p.pods(), func(pod corev1.Pod) bool { return stateOf(&pod) == "closed db:2 0" }) {
					return errors.New("none does")
				}
				return nil
			})
			operator.Kill()
			s.startOperator(withoutElection, "-statefulcluster.enabled")
		}
		p.eventually("the containers of all pods run "+update.db+" and "+update.proxy, func(present) error {
			var errs []error
			for _, pod := range p.settles(2) {
				if s := pod.Status.ContainerStatuses; len(s) != 3 || s[0].Image != update.db || s[1].Image != update.proxy {
					errs = append(errs, fmt.Errorf("pod %s has the containers %v", pod.Name, s))
				}
			}
			return errors.Join(errs...)
		})
		after := p.pods()
		p.hasStayed(before, after)
		for _, pod := range after {
			s := pod.Status.ContainerStatuses
			if got := fmt.Sprintf("db %d, proxy %d, metrics %d", s[0].RestartCount, s[1].RestartCount, s[2].RestartCount); got != update.restarts {
				t.Errorf("the containers of pod %s have restarted as often as this: %s; want %s", pod.Name, got, update.restarts)
			}
		}
		for name, stages := range stop() {
			if got := strings.Join(stages, ", "); got != update.stages {
				t.Errorf("pod %s went through %s; want %s", name, got, update.stages)
			}
		}
	}
}
