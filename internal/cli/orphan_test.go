package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// orphans adds a pod that a StatefulSet created and that has no controller.
func (s *scene) orphans(name string) {
	s.server.put(podPath+name, corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, Labels: map[string]string{"statefulset.kubernetes.io/pod-name": name},
		},
	})
}

// remembers records a former zone in the Lease of a group.
func (s *scene) remembers(inGroup, zone string) {
	name := "lockstep-group-" + inGroup
	s.server.put(leasePath+name, object{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{
		"namespace": "team", "name": name, "labels": object{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)},
		"annotations": object{contract.NameAnnotation(plan.KindGroup): inGroup, contract.ZonesAnnotation: record.FormatMembers([]group.Member{{Zone: zone, UID: "u"}})},
	}})
}

func TestWhyExplainsOrphans(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pod  string
		want string
	}{
		"its StatefulSet was deleted, and its group waits for it": {"zone-d-0", "StatefulSet zone-d is not in group ingester any more, and the group waits for it"},
		"its StatefulSet has not adopted it":                      {"zone-a-7", "StatefulSet zone-a of group ingester has not adopted it"},
		"no group remembers its StatefulSet":                      {"zone-e-0", "an orphan of a StatefulSet zone-e that no group remembers, so lockstep has nothing to do with it"},
	} {
		t.Run(sentence, func(t *testing.T) {
			inScene(t, []string{products}, func(s *scene) {
				s.remembers("ingester", "zone-d")
				s.orphans(tc.pod)
				if code, _, errs := s.types("why", "pod/"+tc.pod); code != exitFailed || !strings.Contains(errs, tc.want) {
					s.Errorf("exit code %d, got %q, want %q", code, errs, tc.want)
				}
			})
		})
	}
}
