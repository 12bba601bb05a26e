package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// dryRun starts an operator for the cluster next to the predecessor, according to the guide. It has
// the account of the shared operator, which never writes to a namespace that did not opt in. So any
// write of this account there is one of the dry run.
func (s *scene) dryRun() *operator {
	s.t.Helper()
	var kustomization struct{ Patches []struct{ Patch string } }
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal([]byte(guided(s.t, "Plan and dry run", "yaml")), &kustomization); err != nil {
		s.t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(kustomization.Patches[0].Patch), &deployment); err != nil {
		s.t.Fatal(err)
	}
	var env []string
	for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
		env = append(env, v.Name+"="+strings.ReplaceAll(v.Value, "mimir", s.name))
	}
	kubeconfig, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), home, account)
	if err != nil {
		s.t.Fatal(err)
	}
	op, err := s.world.startIn(s.t.Context(), env, kubeconfig, user(home), home)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(op.Kill)
	s.operator = op
	return op
}

func TestADryRunNextToThePredecessorNamesEachPodFirstAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	s.create(zone("zone-a", 2, formerly), zone("zone-b", 2, formerly))
	s.changeAll(version(2))
	if said := admin.types(guided(t, "Plan and dry run", "sh")); !strings.Contains(said, "delete zone-a-0 of zone-a because OutdatedRevision") {
		t.Errorf("output of the plugin:\n%s", said)
	}
	dry := s.dryRun()
	for _, pod := range s.allPods() {
		s.eventually("it would delete "+pod, func(present) error {
			_, record := dry.get("/debug/groups/" + s.name + "/" + defaultGroup)
			if _, steps, _ := strings.Cut(record, `"plan"`); !strings.Contains(steps, "delete "+pod) {
				return fmt.Errorf("it plans %s", steps)
			}
			return nil
		})
		p.removes(pod)
		s.comesUp(pod)
	}
	for _, said := range []string{`"msg":"would step"`, `"plan":"delete zone-a-0`, `"plan":"delete zone-b-1`} {
		if !strings.Contains(dry.Logs(), said) {
			t.Errorf("the log does not have %s", said)
		}
	}
	if code := stopGently(t, dry); code != 0 {
		t.Errorf("ended with exit code %d", code)
	}
	for _, r := range s.writesOf(user(home), time.Time{}) {
		t.Errorf("a dry run wrote: %s", r)
	}
	if strings.Contains(dry.Logs(), "taking over leadership") || len(s.witness.now().leases) > 0 {
		t.Error("a dry run took a Lease")
	}
}
