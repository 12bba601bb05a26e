package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	podPath    = "/api/v1/namespaces/team/pods/"
	claimPath  = "/api/v1/namespaces/team/persistentvolumeclaims/data-zone-a-0"
	volumePath = "/api/v1/persistentvolumes/pv-1"

	leaving   = "zone-a rev=1\n zone-a-0 terminating@1 zone-a-1 ready@1\nzone-b rev=2 current=1\n zone-b-0 ready@1\n"
	notThere  = "zone-a rev=1 replicas=2\n zone-a-1 ready@1\n"
	notPlaced = "zone-a rev=1\n zone-a-0 starting@1 zone-a-1 ready@1\n"
)

// edits changes the pod zone-a-0 of a scenario.
func (s *scene) edits(snapshotFor string, change func(*corev1.Pod)) {
	z := fixture.At(fixture.MustParse(snapshotFor), time.Now()).Zones[0]
	pod := podIn("team", z, z.Pods[0])
	change(pod)
	s.server.put(podPath+"zone-a-0", pod)
}

func unschedulable(pod *corev1.Pod) {
	pod.Spec.NodeName = ""
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-zone-a-0"}}}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 node(s) had volume node affinity conflict.",
	}}}
}

// bindsVolume binds the claim of zone-a-0 to a volume of the one node.
func (s *scene) bindsVolume() {
	s.server.put(claimPath, corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data-zone-a-0"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	})
	s.server.put(volumePath, corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{Kind: "PersistentVolume", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{nodeOfAll}}},
		}}}}},
	})
}

func TestWhyShowsTheDiagnosisOfPods(t *testing.T) {
	const bound = `Claim data-zone-a-0 is bound to volume pv-1, which only nodes with "kubernetes.io/hostname in (node-1)" can use: `
	for sentence, tc := range map[string]struct {
		snapshotFor string
		bring       func(*scene)
		want        []string
	}{
		"the finalizer that keeps a pod": {leaving, func(s *scene) {
			s.edits(leaving, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/backup"} })
		}, []string{"The pod cannot be removed while it has finalizer example.com/backup.", "Node node-1 is Ready since "}},
		"the node that is lost, with the way out": {leaving, func(s *scene) {
			s.edits(leaving, func(pod *corev1.Pod) {
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(time.Now().Add(-time.Minute))), new(int64(30))
			})
			s.server.put(nodePath, nodeThat(corev1.ConditionUnknown, time.Now().Add(-time.Hour)))
		}, []string{
			"node node-1 has not confirmed that they have ended", `Node node-1 is not Ready since 1999-12-31T23:00:00Z: NodeStatusUnknown "Kubelet stopped posting node status.".`,
			"kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", "The price: ",
		}},
		"the node that does not exist": {leaving, func(s *scene) {
			s.edits(leaving, func(pod *corev1.Pod) { pod.Spec.NodeName = "node-2" })
		}, []string{"Node node-2, which the pod was placed on, does not exist."}},
		"the scheduler's message, and the volume of a node that is lost": {notPlaced, func(s *scene) {
			s.edits(notPlaced, unschedulable)
			s.bindsVolume()
			s.server.put(nodePath, nodeThat(corev1.ConditionUnknown, time.Now()))
		}, []string{
			`The pod cannot be scheduled: Unschedulable "0/1 nodes are available: 1 node(s) had volume node affinity conflict.".`,
			bound + "node-1 is not Ready since 2000-01-01T00:00:00Z", "the data of the volume is lost",
		}},
		"the claim that does not exist": {notPlaced, func(s *scene) { s.edits(notPlaced, unschedulable) }, []string{"Claim data-zone-a-0 does not exist."}},
		"how a container ended": {rolling, func(*scene) {}, []string{
			`Container main waits: CrashLoopBackOff; it ended with exit code 1 (Error), and its termination message ends with "field replicas not found".`,
		}},
		"why a pod is not created": {notThere, func(s *scene) {
			s.server.event("StatefulSet", "zone-a", "statefulset-controller", "FailedCreate", `create Pod zone-a-0 in StatefulSet zone-a failed error: pods "zone-a-0" is forbidden: exceeded quota: few`, time.Now().Add(-time.Second))
			s.server.event("StatefulSet", "zone-a", "statefulset-controller", "FailedCreate", "create Pod zone-a-00 in StatefulSet zone-a failed error: another pod", time.Now())
		}, []string{`The StatefulSet controller could not create the pod at 1999-12-31T23:59:59Z: "create Pod zone-a-0 in StatefulSet zone-a failed error: pods \"zone-a-0\" is forbidden: exceeded quota: few".`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			inScene(t, []string{tc.snapshotFor}, func(s *scene) {
				tc.bring(s)
				_, out, errs := s.types("why", "store")
				if errs != "" || strings.Count(out, "What Kubernetes knows of pod ") != 1 {
					s.Errorf("it says:\n%s%s", out, errs)
				}
				for _, part := range tc.want {
					if !strings.Contains(out, part) {
						s.Errorf("it does not say %q:\n%s", part, out)
					}
				}
				_, out, _ = s.types("why", "store", "-o", "json")
				var answer struct {
					Pods []struct {
						Pod   string
						Facts []diagnosis.Fact
					}
				}
				if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Pods) != 1 || len(answer.Pods[0].Facts) == 0 || answer.Pods[0].Facts[0].Says == "" {
					s.Errorf("%v: %s", err, out)
				}
			})
		})
	}
}

func TestWhyPodShowsItsDiagnosis(t *testing.T) {
	inScene(t, []string{leaving}, func(s *scene) {
		s.edits(leaving, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/backup"} })
		for _, pod := range []string{"zone-a-0", "zone-b-0"} { // itself, and the one for which its eviction is refused
			_, out, errs := s.types("why", pod)
			if errs != "" || strings.Count(out, "What Kubernetes knows of pod zone-a-0:") != 1 || !strings.Contains(out, "finalizer example.com/backup") {
				s.Errorf("of %s it says:\n%s%s", pod, out, errs)
			}
		}
	})
}

func TestDiagnosisNamesForbiddenResources(t *testing.T) {
	for resource, want := range map[string]string{
		"/nodes/":                  "Whether node node-1 is Ready is not known, because you may not read nodes.",
		"/persistentvolumeclaims/": "The state of claim data-zone-a-0 is not known, because you may not read persistentvolumeclaims.",
		"/persistentvolumes/":      "Which nodes can use volume pv-1 of claim data-zone-a-0 is not known, because you may not read persistentvolumes.",
		"/nodes":                   "can use; the state of these nodes is not known, because you may not read nodes.",
		"/pods/":                   "The state of pod zone-a-0 is not known, because you may not read pods.",
	} {
		inScene(t, []string{notPlaced}, func(s *scene) {
			s.edits(notPlaced, func(pod *corev1.Pod) {
				unschedulable(pod)
				if resource == "/nodes/" {
					pod.Spec.NodeName = nodeOfAll
				}
			})
			s.bindsVolume()
			s.server.refuse = func(r *http.Request) *http.Response {
				if !strings.Contains(r.URL.Path, resource) {
					return nil
				}
				return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
			}
			code, out, errs := s.types("why", "store")
			if code != exitWaits || errs != "" || !strings.Contains(out, want) {
				s.Errorf("%s: exit code %d, want %q:\n%s%s", resource, code, want, out, errs)
			}
		})
	}
	inScene(t, []string{leaving}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.URL.Path != nodePath {
				return nil
			}
			return apitest.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}
		if code, out, errs := s.types("why", "store"); code != exitWaits || errs != "" || !strings.Contains(out, "because nodes could not be read: ") {
			s.Errorf("exit code %d:\n%s%s", code, out, errs)
		}
	})
}

func TestOnlyPodsInReasonsAreDiagnosed(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if strings.Contains(r.URL.Path, "/pods/") || strings.Contains(r.URL.Path, "/nodes") {
				s.Errorf("%s is read", r.URL.Path)
			}
			return nil
		}
		s.succeeds("why", "calm")
	})
	inScene(t, []string{settled}, func(s *scene) {
		if out := s.succeeds("why", "zone-x-0"); strings.Contains(out, "What Kubernetes knows") {
			s.Errorf("of a Ready pod it says:\n%s", out)
		}
	})
}
