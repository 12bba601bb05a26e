package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const (
	clusterPath   = "/apis/lockstep.dev/v1alpha1/namespaces/team/statefulclusters/"
	claimsOfAPool = "/api/v1/namespaces/team/persistentvolumeclaims/"
)

// showStatefulCluster adds a StatefulCluster of three: one pod is available, one is recorded to leave, and the claims of one
// do not exist yet.
func (s *apiServer) showStatefulCluster(name string) {
	templates := []object{{"metadata": object{"name": "data"}}}
	node := nodeThat(corev1.ConditionTrue, time.Date(1999, 12, 24, 9, 0, 0, 0, time.UTC))
	node.Name = "n"
	s.put("/api/v1/nodes/n", node)
	s.put(clusterPath+name, object{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": object{"name": name, "namespace": "team", "uid": "u"},
		"spec": object{"replicas": 3, "selector": object{"matchLabels": object{"app": name}}, "template": object{"spec": object{}}, "volumeClaimTemplates": templates},
		"status": object{
			"updateRevision": name + "-2", "availableReplicas": 2, "updatedReplicas": 2, "conditions": []object{{"type": "Reconciling", "status": "True"}, {"type": "Ready", "status": "False"}},
			"waiting": object{"reason": "PodStarting", "pod": name + "-c", "message": "a pod exists and is not ready yet"},
		},
	})
	for number, template := range map[int]object{1: {"spec": object{"hostNetwork": true}}, 2: {"spec": object{}}} {
		revision := fmt.Sprintf("%s-%d", name, number)
		s.put("/apis/apps/v1/namespaces/team/controllerrevisions/"+revision, object{
			"metadata": object{
				"name": revision, "namespace": "team", "labels": object{"lockstep.dev/statefulcluster": name},
				"ownerReferences": []object{{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": name, "uid": "u", "controller": true}},
			},
			"revision": number, "data": object{"spec": object{"template": template, "volumeClaimTemplates": templates}},
		})
	}
	labels := func(id string) object {
		return object{"lockstep.dev/statefulcluster": name, "lockstep.dev/instance-id": id}
	}
	for id, more := range map[string]struct {
		revision string
		status   object
		spec     object
	}{
		"a": {"2", object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z"}}}, object{"nodeName": "n"}},
		"b": {"1", object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z"}}}, object{"nodeName": "n"}},
		"c": {"2", object{}, object{"schedulingGates": []object{{"name": "lockstep.dev/claims"}}}},
	} {
		meta := object{
			"name": name + "-" + id, "namespace": "team", "uid": "uid-" + id, "resourceVersion": "20", "creationTimestamp": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
			"labels":          object{"app": name, "lockstep.dev/statefulcluster": name, "lockstep.dev/instance-id": id, "controller-revision-hash": name + "-" + more.revision},
			"ownerReferences": []object{{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": name, "uid": "u", "controller": true}},
		}
		more.spec["volumes"] = []object{{"name": "data", "persistentVolumeClaim": object{"claimName": name + "-data-" + id}}}
		s.put("/api/v1/namespaces/team/pods/"+name+"-"+id, object{"metadata": meta, "spec": more.spec, "status": more.status})
	}
	for id, ended := range map[string]string{"a": "", "b": "", "gone": "2000-01-01T00:00:00Z"} {
		of := labels(id)
		of["lockstep.dev/claim"], of["lockstep.dev/pool-uid"] = "data", "u"
		meta := object{"name": name + "-data-" + id, "namespace": "team", "labels": of}
		meta["annotations"] = object{"pv.kubernetes.io/bind-completed": "yes"}
		if ended != "" {
			meta["annotations"] = object{"lockstep.dev/retired-at": ended, "lockstep.dev/retired-reason": "ScaledDown"}
		}
		s.put(claimsOfAPool+name+"-data-"+id, object{"metadata": meta})
	}
	s.put(leasePath+"lockstep-statefulcluster-"+name, object{
		"metadata": object{"name": "lockstep-statefulcluster-" + name, "namespace": "team", "labels": object{"lockstep.dev/hold": "statefulcluster"}, "annotations": object{
			"lockstep.dev/statefulcluster": name,
			"lockstep.dev/intents":         `{"version":1,"pods":[{"zone":"` + name + `","pod":"` + name + `-b","uid":"uid-b","resourceVersion":"20","cause":"ScaledDown","since":"2000-01-01T00:00:00Z"}]}`,
		}},
		"spec": object{"holderIdentity": "statefulcluster/" + name},
	})
}

const statusOfDB = `team/db Reconciling 2/3 available 2/3 updated held by statefulcluster/db
  POD   STATE           UPDATED  CLAIMS  AGE  NODE  RECORDED
  db-a  Available       yes      1/1     1h   n
  db-b  Available       no       1/1     1h   n     ScaledDown
  db-c  WaitsForClaims  yes      0/1     1h
  waits for: PodStarting db-c
  ended identities: 1, with 1 of their claims left
`

func TestAStatefulClusterIsShownPodByPod(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		if diff := cmp.Diff(statusOfDB, s.succeeds("status", "stc/db")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if out := s.succeeds("status", "stc/db", "-o", "json"); !strings.Contains(out, `"recorded": "ScaledDown"`) {
			t.Errorf("as JSON:\n%s", out)
		}
	})
}

func TestClaimsWithoutAVolumeAreShown(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		s.merges(claimsOfAPool+"db-data-b", object{"metadata": object{"annotations": nil}})
		const want = `
  POD   STATE           UPDATED  CLAIMS             AGE  NODE  RECORDED
  db-a  Available       yes      1/1                1h   n
  db-b  Available       no       1/1 (1 not bound)  1h   n     ScaledDown
  db-c  WaitsForClaims  yes      0/1                1h
`
		if out := s.succeeds("status", "stc/db"); !strings.Contains(out, want) {
			t.Errorf("it says\n%s", out)
		}
		if out := s.succeeds("status", "stc/db", "-o", "json"); strings.Count(out, `"claimsNotBound": 1`) != 1 {
			t.Errorf("as JSON:\n%s", out)
		}
		if _, out, _ := s.types("why", "db-b"); !strings.Contains(out, "with 1 of 1 claims (1 not bound to a volume yet), of revision db-1") {
			t.Errorf("about the pod it says\n%s", out)
		}
	})
}

func TestWhatAStatefulClusterWaitsForIsExplained(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		code, out, errs := s.types("why", "statefulcluster/db")
		if code != exitWaits || errs != "" {
			t.Errorf("exit code %d: %s", code, errs)
		}
		for _, part := range []string{statusOfDB, "PodStarting db-c LS-102\n", "A pod exists and is not ready yet.\n", "What to do: ", "What Kubernetes knows of pod db-c:\n", "Claim db-data-c does not exist.\n"} {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
	})
}

func TestAFollowedStatefulClusterIsPrintedWhenItChanges(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		out := s.watches("status", "stc/db", "-w")
		time.Sleep(time.Hour)
		if got := strings.Count(out.String(), "team/db Reconciling"); got != 1 {
			t.Errorf("printed %d times although only ages have changed", got)
		}
		s.server.put(claimsOfAPool+"db-data-c", object{"metadata": object{"name": "db-data-c", "namespace": "team", "labels": object{
			"lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "c", "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u",
		}}})
		time.Sleep(2 * readAgain)
		if got := strings.Count(out.String(), "db-c  WaitsForClaims  yes      1/1 (1 not bound)"); got != 1 {
			t.Errorf("the change is printed %d times", got)
		}
	})
}

func TestAStatefulClusterThatDoesNotExistIsNamedWithThoseThatDo(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		if code, _, errs := s.types("status", "stc/bd"); code != exitFailed || !strings.Contains(errs, `no StatefulCluster "bd" in namespace "team"; accepted: db`) {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
}
