package act_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// foundOrphans record the orphans that an Executor passes on.
type foundOrphans struct {
	checks
	found []statefulcluster.Orphan
}

func (f *foundOrphans) FoundOrphans(_ plan.Key, found statefulcluster.Orphans) { f.found = found.Pods }

// A pod that has ended, or is about to end, must not take the place of one that serves.
func TestWhichPodsAreOrphans(t *testing.T) {
	orphan := statefulcluster.Orphan{Name: "db-0", UID: "p", Version: 9}
	labelled, ofSet, ofFormerKind := orphan, orphan, orphan
	labelled.Labelled, ofSet.Controller, ofFormerKind.Controller = true, "StatefulSet/db", "StatefulCluster/db"
	phase := func(is corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = is }
	}
	for sentence, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   []statefulcluster.Orphan
	}{
		"it runs":       {phase(corev1.PodRunning), []statefulcluster.Orphan{orphan}},
		"it is pending": {phase(corev1.PodPending), []statefulcluster.Orphan{orphan}},
		"it terminates": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, nil},
		"it has ended":  {phase(corev1.PodSucceeded), nil},
		"it has failed": {phase(corev1.PodFailed), nil},
		"it is labelled": {func(p *corev1.Pod) {
			p.Labels = map[string]string{contract.PoolLabel: "db", contract.InstanceIDLabel: "0"}
		}, []statefulcluster.Orphan{labelled}},
		"it has the label of another identity": {
			func(p *corev1.Pod) {
				p.Labels = map[string]string{contract.PoolLabel: "db", contract.InstanceIDLabel: "1"}
			}, []statefulcluster.Orphan{orphan},
		},
		"it has the label of another StatefulCluster": {
			func(p *corev1.Pod) {
				p.Labels = map[string]string{contract.PoolLabel: "d", contract.InstanceIDLabel: "0"}
			}, []statefulcluster.Orphan{orphan},
		},
		"it belongs to a StatefulSet": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", UID: "s", Controller: new(true)}}
			},
			[]statefulcluster.Orphan{ofSet},
		},
		"it belongs to a StatefulSet, which creates it again": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", UID: "s", Controller: new(true)}}
				p.DeletionTimestamp = new(metav1.Now())
			},
			[]statefulcluster.Orphan{ofSet},
		},
		"it belongs to a Job, which may keep ended pods forever": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "db", UID: "j", Controller: new(true)}}
			}, nil,
		},
		"it belongs to another StatefulCluster": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "lockstep.dev/v1alpha1", Kind: "StatefulCluster", Name: "db-0", UID: "o", Controller: new(true)}}
			}, nil,
		},
		"it belongs to the former kind of the name": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "enge.me/v1", Kind: "StatefulCluster", Name: "db", UID: "o", Controller: new(true)}}
			}, []statefulcluster.Orphan{ofFormerKind},
		},
		"it belongs to the object": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulCluster", Name: "db", UID: "u", Controller: new(true)}}
			}, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "team", UID: "p", ResourceVersion: "9"}}
			tc.change(&pod)
			r, passedOn := newRoom(t), &foundOrphans{}
			r.Checks = passedOn
			r.answers = func(string) any {
				return &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{pod}}
			}
			s := testPool()
			s.Object.Selector = "app=db"
			if _, err := r.Run(t.Context(), s, []plan.Action{statefulcluster.LookForOrphans{Pool: "db"}}, hold.Decision{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, passedOn.found); diff != "" {
				t.Errorf("orphans (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"GET pods?labelSelector=app%3Ddb"}, r.said()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
