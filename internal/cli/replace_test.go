package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// notes returns the value of an annotation of a pod.
func (s *scene) notes(pod, key string) any {
	return at(s.server.get(podsPath+pod), "metadata", "annotations", key)
}

func TestReplaceAsksForANewIdentity(t *testing.T) {
	withPool(t, func(s *scene) {
		if out := s.succeeds("replace", "pod/db-a"); out != "pod/db-a is to be replaced by a new identity with new claims; its claims stay after its end (kubectl lockstep claims)\n" {
			s.Errorf("it says %q", out)
		}
		if s.notes("db-a", contract.SpecifiedDeleteLabel) != "true" || s.notes("db-b", contract.SpecifiedDeleteLabel) != nil {
			s.Error("not exactly the pod is annotated")
		}
		s.merges(clusterPath+"db", object{"spec": object{"paused": true, "persistentVolumeClaimRetentionPolicy": object{"whenReplaced": "Delete"}}})
		if out := s.succeeds("replace", "db-a"); !strings.Contains(out, "lockstep deletes its claims") || !strings.Contains(out, "once the StatefulCluster is resumed") {
			s.Errorf("it says %q", out)
		}
		if _, out, _ := s.types("why", "db-a"); !strings.Contains(out, "A person asks for another pod in its place") {
			s.Errorf("why says\n%s", out)
		}
	})
}

// retains writes on the claim of a pod that its identity is kept, as lockstep does, once the pod asks for it.
func (s *scene) retains(id string, after time.Duration) {
	time.Sleep(after)
	if s.notes("db-"+id, contract.RetainIdentityLabel) == "true" {
		s.merges(claimsOfAPool+"db-data-"+id, object{"metadata": object{"annotations": object{
			contract.RetainIdentityLabel: "true", contract.HandoverAnnotation: "uid-" + id, contract.SiblingsAnnotation: "data",
		}}})
	}
}

// isUp makes all three pods available.
func (s *scene) isUp() {
	s.merges(podsPath+"db-c", object{
		"spec":   object{"schedulingGates": nil, "nodeName": "n"},
		"status": object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z"}}},
	})
	s.server.put(claimsOfAPool+"db-data-c", object{"metadata": object{"name": "db-data-c", "namespace": "team", "labels": object{
		contract.PoolLabel: "db", contract.InstanceIDLabel: "c", contract.ClaimLabel: "data", contract.PoolUIDLabel: "u",
	}}})
	s.merges(leasePath+"lockstep-statefulcluster-db", object{"metadata": object{"annotations": object{contract.IntentsAnnotation: nil}}, "spec": object{"holderIdentity": nil}})
}

func TestReplaceKeepsAnIdentityOnceItsClaimsSaySo(t *testing.T) {
	withPool(t, func(s *scene) {
		s.isUp()
		go s.retains("a", 5*time.Second)
		begin := time.Now()
		out := s.succeeds("replace", "db-a", "--keep")
		if took := time.Since(begin); took < 5*time.Second || took > 7*time.Second {
			s.Errorf("it took %s", took)
		}
		if out != "pod/db-a keeps its name and its claims, however it ends now\n  Delete it: kubectl delete pod db-a -n team\n" {
			s.Errorf("it says %q", out)
		}
		if _, out, _ := s.types("why", "db-a"); !strings.Contains(out, "However it ends, another pod gets its name and its claims: a person asked for it.") {
			s.Errorf("why says\n%s", out)
		}
		if code, _, errs := s.types("replace", "db-a"); code != exitFailed || !strings.Contains(errs, "contradicts a new identity") {
			s.Errorf("exit code %d: %s", code, errs)
		}
	})
}

func TestReplaceKeepsNoIdentityWithoutAnAnswer(t *testing.T) {
	withPool(t, func(s *scene) {
		if code, out, errs := s.types("replace", "db-a", "--keep", "--timeout", "10s"); code != exitFailed || out != "" || !strings.Contains(errs, "do not say after 10s that its identity is kept, so do not delete it") {
			s.Errorf("exit code %d: %s%s", code, out, errs)
		}
	})
}

func TestReplaceSaysThatAPodMustNotBeDeletedYet(t *testing.T) {
	withPool(t, func(s *scene) {
		go s.retains("a", time.Second)
		if code, out, _ := s.types("replace", "db-a", "--keep"); code != exitWaits || !strings.Contains(out, "  Do not delete it yet: PodStarting db-c (") || strings.Contains(out, "kubectl delete") {
			s.Errorf("exit code %d: %s", code, out)
		}
	})
}

func TestReplaceRefusesPodsThatItCannotReplace(t *testing.T) {
	for line, tc := range map[string]struct {
		change object
		says   string
	}{
		"replace db-a":            {object{"metadata": object{"ownerReferences": nil}}, "belongs to no StatefulCluster"},
		"replace pod/db-a --keep": {object{"metadata": object{"labels": object{contract.PoolLabel: nil}}}, "lacks the label lockstep.dev/statefulcluster=db"},
		"replace pod/db-a":        {object{"metadata": object{"deletionTimestamp": "2000-01-01T00:00:00Z"}}, "terminates already"},
		"replace db-a --keep":     {object{"metadata": object{"annotations": object{contract.SpecifiedDeleteLabel: "true"}}}, "by a new identity already"},
		"replace db-c --keep":     {nil, "cannot be kept: the pod has no claims, or not all of them exist"},
	} {
		t.Run(line, func(t *testing.T) {
			withPool(t, func(s *scene) {
				if tc.change != nil {
					s.merges(podsPath+"db-a", tc.change)
				}
				if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, tc.says) || !strings.Contains(errs, "accepted") {
					s.Errorf("exit code %d: %s", code, errs)
				}
				if written := s.server.written(); len(written) > 0 {
					s.Errorf("written: %q", written)
				}
			})
		})
	}
}

func TestReplaceLeavesThePodThatHasTakenThePlaceOfAnother(t *testing.T) {
	withPool(t, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch {
				s.server.refuse = nil
				s.merges(podsPath+"db-a", object{"metadata": object{"uid": "another"}})
			}
			return nil
		}
		if code, _, errs := s.types("replace", "db-a"); code != exitFailed || !strings.Contains(errs, "another pod of its name") || s.notes("db-a", contract.SpecifiedDeleteLabel) != nil {
			s.Errorf("exit code %d: %s", code, errs)
		}
	})
}
