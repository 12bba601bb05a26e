package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// delays makes pods wait before a downscale deletes them.
func delays(text string) option {
	return func(s *appsv1.StatefulSet) {
		set(&s.Annotations, "grafana.com/rollout-delayed-downscale", text)
		set(&s.Annotations, "grafana.com/rollout-prepare-delayed-downscale-url", "http://pods:"+podPort+toLeave)
		s.Spec.ServiceName = "pods"
	}
}

// theDelay is the delay in most tests. The clocks of pods have whole seconds.
const theDelay = 3 * time.Second

// awaitCalls waits until a pod has received exactly these calls about a downscale. The
// operator may repeat a call that was not answered in time.
func (s *scene) awaitCalls(pod, want string) {
	s.t.Helper()
	s.eventually(pod+" received "+want, func(present) error {
		got := s.callsAbout(toLeave, pod)
		saidAgain := len(got) > len(want) && unrepeated(got) == unrepeated(want)
		if got != want && !(saidAgain && s.anyCallFailed()) {
			return errors.New(got)
		}
		return nil
	})
}

// unrepeated removes consecutive duplicates from the calls that a pod received.
func unrepeated(received string) string {
	return strings.Join(slices.Compact(strings.Split(received, ", ")), ", ")
}

// anyCallFailed reports whether the metrics contain a call to a pod that was not answered in time.
// This happens if the machine stalls.
func (s *scene) anyCallFailed() bool {
	_, metrics := s.operator.get("/metrics")
	return hasSeries(metrics, "lockstep_group_pod_calls_total", s.name, `outcome="failed"`)
}

// terminatesAfter fails the test if a pod began to terminate earlier than delay after the last call that
// announced the downscale.
func (s *scene) terminatesAfter(pod string, delay time.Duration) {
	s.t.Helper()
	var requested time.Time
	for _, c := range s.calls() {
		if c.pod == pod && c.path == toLeave && c.method == http.MethodPost && (requested.IsZero() || c.status == http.StatusOK) {
			requested = c.at
		}
	}
	left := s.terminatedAt(pod)
	if waited := left.Sub(requested); requested.IsZero() || left.IsZero() || waited < delay {
		s.t.Errorf("%s was called at %s and was deleted at %s, want %s in between", pod, requested, left, delay)
	}
}

// terminatedAt returns when a pod last began to terminate.
func (s *scene) terminatedAt(pod string) time.Time {
	s.t.Helper()
	history, _ := s.witness.Events()
	var left time.Time
	was := false
	for _, f := range history {
		if f.Pod == nil || f.Pod.Name != pod {
			continue
		}
		if is := terminates(f.Pod); is != was {
			was = is
			if is {
				left = f.At
			}
		}
	}
	return left
}

func terminates(p *judge.Pod) bool { return p.Terminating || p.Deleted }

func TestADownscaleWaitsForTheDelayOfItsPods(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.answersLike(nil)
		s.template("web", 4)
		s.create(zone("zone-a", 4, mirrors("web"), delays("3s")), zone("zone-b", 4, prepares, mirrors("web"), delays("3s")))
		for _, pod := range s.allPods() {
			s.awaitCalls(pod, "DELETE 200")
		}
		s.setsReplicas("web", 2)
		s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
		for _, pod := range []string{"zone-a-2", "zone-a-3", "zone-b-2", "zone-b-3"} {
			s.awaitCalls(pod, "DELETE 200, POST 200")
			s.terminatesAfter(pod, theDelay)
		}
		for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1"} {
			s.awaitCalls(pod, "DELETE 200")
		}
		s.removedPrepared("zone-b-2")
		s.removedPrepared("zone-b-3")
		s.awaitReport(templates, "web", 2)
	})
}

func TestACancelledScaleRequestNotifiesAllPodsToStay(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.answersLike(nil)
		s.template("web", 4)
		s.create(zone("zone-a", 4, mirrors("web"), delays("1h")), zone("zone-b", 1))
		for _, pod := range []string{"zone-a-1", "zone-a-2", "zone-a-3"} {
			s.awaitCalls(pod, "DELETE 200")
		}
		s.setsReplicas("web", 1)
		for _, pod := range []string{"zone-a-1", "zone-a-2", "zone-a-3"} {
			s.awaitCalls(pod, "DELETE 200, POST 200")
		}
		s.awaitWaiting("DownscaleDelayed", "zone-a")
		s.setsReplicas("web", 3)
		s.awaitCalls("zone-a-1", "DELETE 200, POST 200, DELETE 200")
		s.awaitCalls("zone-a-2", "DELETE 200, POST 200, DELETE 200")
		s.change("zone-a", delays("3s"))
		s.sized(map[string]int32{"zone-a": 3})
		s.setsReplicas("web", 2)
		s.awaitCalls("zone-a-2", "DELETE 200, POST 200, DELETE 200, POST 200")
		s.sized(map[string]int32{"zone-a": 2})
		s.terminatesAfter("zone-a-2", theDelay)
		s.terminatesAfter("zone-a-3", theDelay)
	})
}

// Neither a wrong clock of a pod nor a new process shortens the delay.
func TestAWrongClockAndARestartShortenNoDelay(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]time.Duration{"a clock that is right": 0, "a clock that is an hour behind": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.rules.guarded = true
			s.patience = longPatience
			s.answersLike(nil)
			s.behind(behind)
			s.withRole()
			op := s.startOperator(withoutElection)
			s.template("web", 3)
			s.create(zone("zone-a", 3, mirrors("web"), delays("6s")), zone("zone-b", 1))
			s.awaitCalls("zone-a-2", "DELETE 200")
			s.setsReplicas("web", 2)
			s.awaitCalls("zone-a-2", "DELETE 200, POST 200")
			s.awaitWaiting("DownscaleDelayed", "zone-a")
			op.Kill()
			s.startOperator(withoutElection)
			s.sized(map[string]int32{"zone-a": 2})
			requested := s.calls()[slices.IndexFunc(s.calls(), func(c call) bool { return c.method == http.MethodPost })].at
			if waited := s.terminatedAt("zone-a-2").Sub(requested); waited < 5*time.Second || waited > time.Minute {
				t.Errorf("it waited %s after a restart, want 6s plus the duration of a restart", waited)
			}
			s.awaitCalls("zone-a-2", "DELETE 200, POST 200, POST 200")
		})
	}
}

// behind makes the clocks of the scene's pods slow.
func (s *scene) behind(d time.Duration) {
	s.t.Helper()
	s.withVoices(func(v *voices) { v.behind[s.name] = d })
}

func TestTheTailEndsAtAPodThatDoesNotAgree(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.patience = longPatience
	agrees := s.declines("zone-a-2")
	s.template("web", 5)
	s.create(zone("zone-a", 5, mirrors("web"), delays("1s")), zone("zone-b", 1))
	s.setsReplicas("web", 1)
	s.sized(map[string]int32{"zone-a": 3})
	s.awaitWaiting("PodNotAcknowledged", "zone-a")
	s.awaitReport(templates, "web", 3)
	agrees()
	s.sized(map[string]int32{"zone-a": 1})
}

func TestAnInvalidDelayBlocksOnlyTheDownscaleOfItsZone(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.answersLike(nil)
	s.template("web", 2)
	s.create(zone("zone-a", 2, mirrors("web"), delays("often")), zone("zone-b", 2, mirrors("web")))
	s.awaitWaiting("InvalidDelay", "zone-a")
	s.setsReplicas("web", 4)
	s.sized(map[string]int32{"zone-a": 4, "zone-b": 4})
	s.setsReplicas("web", 3)
	s.sized(map[string]int32{"zone-a": 4, "zone-b": 3})
	s.change("zone-a", delays("1s"))
	s.sized(map[string]int32{"zone-a": 3, "zone-b": 3})
}

// Pods of two groups never answer. Other groups do not wait for them.
func TestPodsThatNeverAnswerBlockOnlyTheirOwnGroups(t *testing.T) {
	t.Parallel()
	pods := int32(40)
	if everyFault() {
		pods = 300
	}
	s := ungated(t)
	s.patience = longPatience
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	s.answersLike(func(_, pod string) int {
		if strings.HasPrefix(pod, "silent") {
			<-over
		}
		return http.StatusOK
	})
	s.template("silent", int64(pods))
	s.template("web", 4)
	s.create(
		zone("silent-a", pods, inGroup("silent"), mirrors("silent"), delays("1s")),
		zone("silent-b", pods, inGroup("silent-too"), mirrors("silent"), delays("1s")),
		zone("zone-a", 4, mirrors("web"), delays("1s")), zone("zone-b", 1),
	)
	s.setsReplicas("silent", 1)
	s.awaitWaiting("PodNotAcknowledged", "silent-a")
	s.awaitWaiting("PodNotAcknowledged", "silent-b")
	for _, n := range []int32{2, 4, 1} {
		began := time.Now()
		s.setsReplicas("web", int64(n))
		s.sized(map[string]int32{"zone-a": n})
		if took := time.Since(began); took-thePulse().stalled(began, time.Now()) > soon {
			t.Errorf("to %d took %s, at most %s wanted", n, took, soon)
		}
	}
	s.stays("no silent pod is removed", aWhile, func(now present) error {
		if n := *now.sets["silent-a"].Spec.Replicas; n != pods {
			return fmt.Errorf("it has %d replicas", n)
		}
		return nil
	})
}

func TestPodsThatStayAreNotifiedRepeatedly(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.guarded = true
	s.answersLike(nil)
	s.withRole()
	s.startOperator(withoutElection, "-delayed-downscale.cancel-interval=1s")
	s.template("web", 2)
	s.create(zone("zone-a", 2, mirrors("web"), delays("1h")), zone("zone-b", 1))
	s.setsReplicas("web", 1)
	s.eventually("zone-a-1 is notified of its removal", func(present) error {
		if got := s.callsAbout(toLeave, "zone-a-1"); unrepeated(got) != "DELETE 200, POST 200" { // the calls repeat that the pod stays
			return errors.New(got)
		}
		return nil
	})
	for _, times := range []int{3, 5} {
		s.eventually(fmt.Sprintf("zone-a-0 is notified %d times", times), func(present) error {
			if got := s.callsAbout(toLeave, "zone-a-0"); strings.Count(got, "DELETE 200") < times || strings.Contains(got, "POST") {
				return errors.New(got)
			}
			return nil
		})
	}
	if got := s.callsAbout(toLeave, "zone-a-1"); unrepeated(got) != "DELETE 200, POST 200" || strings.Count(got, "POST") != 1 && !s.anyCallFailed() {
		t.Errorf("the removed pod received %s, want one notification", got)
	}
}
