package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// once fails the test unless a text is printed exactly once.
func (s *scene) once(out, text string) {
	s.Helper()
	if n := strings.Count(out, text); n != 1 {
		s.Errorf("%q is printed %d times:\n%s", text, n, out)
	}
}

func TestMeaningOfSeveralWaitsIsPrintedOnce(t *testing.T) {
	const twoPaused = "zone-a rev=2 current=1 paused\n  zone-a-0 ready@1\nzone-b rev=2 current=1 paused\n  zone-b-0 ready@1\n"
	inScene(t, []string{twoPaused}, func(s *scene) {
		_, out, _ := s.types("why", "store")
		s.once(out, "zone-a Paused LS-201\nzone-b Paused LS-201\n  The StatefulSet has the annotation")
		s.once(out, "What to do: Resume the rollout")
	})
}

func TestSentenceOfAStatefulClusterIsPrintedOnce(t *testing.T) {
	withPool(t, func(s *scene) {
		o := s.pool()
		sentence := reason.AdoptionWaits.Sentence()
		o["status"] = object{"waiting": object{
			"reason": "AdoptionWaits", "pod": "db-0", "message": sentence + " (pod db-0, it belongs to StatefulSet/db; 2 pods wait: db-0, db-1)",
		}}
		s.server.put(clusterPath+"db", o)
		_, out, _ := s.types("why", "stc/db")
		s.once(strings.ToLower(out), strings.ToLower(sentence))
		s.once(out, "\nAdoptionWaits db-0 (it belongs to StatefulSet/db; 2 pods wait: db-0, db-1) LS-144\n")
		s.once(s.succeeds("status"), "AdoptionWaits db-0 (it belongs to StatefulSet/db; 2 pods wait: db-0, db-1)\n")
		s.merges(clusterPath+"db", object{"status": object{"waiting": object{"message": "as another version says it"}}})
		_, out, _ = s.types("why", "stc/db")
		s.once(out, "\nAdoptionWaits db-0 LS-144\n  as another version says it\n")
	})
}

func TestSentenceAboutAnEvictionIsNotRepeated(t *testing.T) {
	withPool(t, func(s *scene) {
		s.merges(clusterPath+"db", object{"status": object{"waiting": object{"pod": "db-x"}}})
		_, out, _ := s.types("why", "db-a")
		s.once(out, "An eviction would be refused: PodStarting db-c (")
		s.once(out, "\nPodStarting db-x LS-102\n")
		s.once(out, "A pod exists and is not ready yet.")
	})
}

// The advice says first what to do about the node, then how long lockstep waits, then what a person can do sooner.
func TestAdviceAboutAPodOnADeadNodeIsOneSequence(t *testing.T) {
	withPool(t, func(s *scene) {
		s.merges(clusterPath+"db", object{"spec": object{"liveness": object{"nodeLostSeconds": 300}}})
		node := nodeThat(corev1.ConditionUnknown, time.Now().Add(-time.Minute))
		node.Name = "n"
		s.server.put("/api/v1/nodes/n", node)
		s.merges(podsPath+"db-a", object{"status": object{"conditions": []any{object{
			"type": "Ready", "status": "False", "lastTransitionTime": metav1.NewTime(time.Now().Add(-time.Minute)).UTC().Format(time.RFC3339),
		}}}})
		_, out, errs := s.types("why", "db-a")
		golden(s.T, "stc-why-dead-node.plain.golden", out+errs)
		s.once(out, "node.kubernetes.io/out-of-service")
		if own, others := strings.Index(out, "NodeSilent db-a"), strings.Index(out, "PodStarting db-c"); own < 0 || others < own {
			s.Error("what the pod itself waits for does not come first")
		}
		s.once(out, "bring the node back")
	})
}
