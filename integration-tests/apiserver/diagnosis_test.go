package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// fact is a fact about a pod that kubectl lockstep why prints, with a part of its text.
type fact struct{ About, Name, Says string }

const finalizer = "example.com/backup"

// ailments lists causes for which a pod does not terminate, does not start or does not become
// Ready, and the facts that Kubernetes shows about zone-a-0 in each case.
var ailments = map[string]struct {
	bring func(*scene)
	code  string
	want  func(*scene) []fact
	shown string // the diagnosis of the operator as well, as far as the pod itself shows it
}{
	"a finalizer": {
		code: "PodTerminating",
		bring: func(s *scene) {
			s.create(zone("zone-a", 1), zone("zone-b", 1))
			s.finalizers(finalizer)
			s.t.Cleanup(func() { s.finalizers() })
			s.changeAll(version(2))
		},
		want: func(*scene) []fact {
			return []fact{{"finalizer", finalizer, "the pod cannot be removed while it has finalizer " + finalizer}, {"node", localcluster.NodeName(0), "is Ready since "}}
		},
		shown: "finalizer " + finalizer,
	},
	"a node that is lost": {
		code: "PodTerminating",
		bring: func(s *scene) {
			nodes := s.addNodes(1, "lost")
			s.create(zone("zone-a", 1, s.placedOn("lost"), removedAfter(never)), zone("zone-b", 1))
			s.loses(nodes[0])
			s.deletePod("zone-a-0")
		},
		want: func(s *scene) []fact {
			node := s.nodeNames("lost")[0]
			return []fact{{"deletion", "", " to end"}, {"node", node, "node " + node + ` is not Ready since `}}
		},
		shown: " to end",
	},
	"no node for it": {
		code: "PodStarting",
		bring: func(s *scene) {
			s.addNodes(1, "some")
			s.create(zone("zone-a", 1), zone("zone-b", 1))
			s.changeAll(version(2), s.placedOn("none"))
		},
		want: func(*scene) []fact {
			return []fact{{"scheduler", "default-scheduler", "the pod cannot be scheduled: Unschedulable "}}
		},
		shown: "Unschedulable",
	},
	"a volume of another node": {
		code: "PodStarting",
		bring: func(s *scene) {
			s.addNodes(1, "some")
			s.volumeOf("zone-a-0", "node-of-the-volume")
			s.begin(zone("zone-a", 1, s.placedOn("some"), claims), zone("zone-b", 1))
		},
		want: func(s *scene) []fact {
			return []fact{
				{"scheduler", "default-scheduler", "PersistentVolume's node affinity"},
				{"claim", "data-zone-a-0", fmt.Sprintf("claim data-zone-a-0 is bound to volume %s, which only nodes with \"kubernetes.io/hostname in (node-of-the-volume)\" can use: there is no such node", s.name)},
			}
		},
		shown: "PersistentVolume's node affinity",
	},
	"a crash": {
		code:  "PodFailing",
		bring: stuckBy(plays(localcluster.PlayCrashLoop)),
		want: func(*scene) []fact {
			return []fact{{"container", "main", "container main waits: CrashLoopBackOff "}, {"container", "main", "it ended with exit code 1 (Error)"}, {"container", "main", "its termination message ends with " + `"no space left on \x1b[31mdevice"`}}
		},
		shown: "exit code 1 (Error)",
	},
}

func TestDiagnosisOfAPodIsShownByThePluginAndTheOperator(t *testing.T) {
	t.Parallel()
	for name, tc := range ailments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			user := s.person()
			user.mayReadNodes()
			tc.bring(s)
			s.awaitWaiting(tc.code, "zone-a")
			for _, want := range tc.want(s) {
				user.showsDiagnosis("zone-a-0", want)
			}
			s.eventually("the RolloutGroup shows "+tc.shown, func(present) error {
				o, err := s.resources(rolloutGroups).Get(t.Context(), defaultGroup, getOptions)
				if err != nil {
					return err
				}
				text, err := o.MarshalJSON()
				if err != nil {
					return err
				}
				var shown shownGroup
				if err := json.Unmarshal(text, &shown); err != nil {
					return err
				}
				if ready := shown.condition("Ready"); !strings.Contains(ready.Message, tc.shown) {
					return errors.New(ready.Message)
				}
				return nil
			})
			s.eventually("an Event contains "+tc.shown, func(present) error {
				list, err := s.world.admin.EventsV1().Events(s.name).List(t.Context(), listOptions)
				if err != nil {
					return err
				}
				for _, e := range list.Items {
					if e.Reason == tc.code && strings.Contains(e.Note, tc.shown) {
						return nil
					}
				}
				return errors.New("no Event does")
			})
		})
	}
}

func TestMissingPermissionForNodesIsReported(t *testing.T) {
	t.Parallel()
	s := managed(t)
	user := s.person()
	stuckBy(plays(localcluster.PlayCrashLoop))(s)
	s.awaitWaiting("PodFailing", "zone-a")
	node := localcluster.NodeName(0)
	user.showsDiagnosis("zone-a-0", fact{"node", node, "whether node " + node + " is Ready is not known, because you may not read nodes"})
	user.showsDiagnosis("zone-a-0", fact{"container", "main", "exit code 1 (Error)"})
}

// showsDiagnosis waits until kubectl lockstep why prints a fact about a pod.
func (p person) showsDiagnosis(pod string, want fact) {
	p.scene.t.Helper()
	p.scene.eventually(fmt.Sprintf("output of kubectl lockstep why for %s: %s", pod, want.Says), func(present) error {
		_, out, errs := p.types("why", defaultGroup, "-o", "json")
		var why struct {
			Pods []struct {
				Pod   string
				Facts []fact
			}
		}
		if err := json.Unmarshal([]byte(out), &why); err != nil || errs != "" {
			return fmt.Errorf("%w: %s%s", err, out, errs)
		}
		for _, d := range why.Pods {
			if d.Pod == pod && slices.ContainsFunc(d.Facts, func(f fact) bool {
				return f.About == want.About && f.Name == want.Name && strings.Contains(f.Says, want.Says)
			}) {
				return nil
			}
		}
		return fmt.Errorf("the diagnosis is %+v", why.Pods)
	})
}

// mayReadNodes allows a person to read nodes and volumes until the test ends.
func (p person) mayReadNodes() {
	p.scene.t.Helper()
	bindings := p.scene.world.admin.RbacV1().ClusterRoleBindings()
	name := p.scene.name + "-" + personAccount
	_, err := bindings.Create(p.scene.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lockstep-look-nodes"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: personAccount, Namespace: p.scene.name}},
	}, createOptions)
	if err != nil {
		p.scene.t.Fatal(err)
	}
	p.scene.t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(p.scene.t.Context()), name, deleteOptions); err != nil {
			p.scene.t.Error(err)
		}
	})
}

// finalizers replaces the finalizers of zone-a-0.
func (s *scene) finalizers(all ...string) {
	s.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": all}})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.world.admin.CoreV1().Pods(s.name).Patch(context.WithoutCancel(s.t.Context()), "zone-a-0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// loses makes the kubelet of a node stop reporting.
func (s *scene) loses(node string) {
	s.t.Helper()
	nodes := s.world.admin.CoreV1().Nodes()
	label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, localcluster.Lost)
	if _, err := nodes.Patch(s.t.Context(), node, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
	condition := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status.","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	if _, err := nodes.Patch(s.t.Context(), node, types.StrategicMergePatchType, condition, metav1.PatchOptions{}, "status"); err != nil {
		s.t.Fatal(err)
	}
}

// nodeNames returns the nodes of a pool of the scene.
func (s *scene) nodeNames(pool string) []string {
	s.t.Helper()
	list, err := s.world.admin.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{LabelSelector: nodeOf + "=" + s.pool(pool)})
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// claims gives each pod a PersistentVolumeClaim of its own.
func claims(set *appsv1.StatefulSet) {
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(""), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
}

// volumeOf creates the volume on a node that is bound to the claim of a pod.
func (s *scene) volumeOf(pod, node string) {
	s.t.Helper()
	volumes := s.world.admin.CoreV1().PersistentVolumes()
	_, err := volumes.Create(s.t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: s.name, Name: "data-" + pod},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := volumes.Delete(context.WithoutCancel(s.t.Context()), s.name, deleteOptions); err != nil {
			s.t.Error(err)
		}
	})
}
