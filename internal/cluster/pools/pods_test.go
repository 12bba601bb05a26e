package pools

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// podServer is an API server with one pod. It counts requests.
type podServer struct {
	pod      *corev1.Pod
	requests int
}

func (s *podServer) RoundTrip(*http.Request) (*http.Response, error) {
	s.requests++
	return apitest.Answer(http.StatusOK, s.pod), nil
}

// namedPod is the name of a pod of the StatefulCluster db.
const namedPod = "db-0123456789abcdef"

func podOwnedBy(name, apiVersion, kind string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: "p", ResourceVersion: "9", Labels: map[string]string{contract.PoolLabel: "db"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "db", UID: "u", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func newPods(t *testing.T, s *podServer) Pods {
	t.Helper()
	client := apitest.Client(t, s)
	groups, err := observe.New(client, lease.NewStore(client, "", "test"), observe.Options{Selector: labels.Everything(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return Pods{groups, newObserver(t, s)}
}

func TestPodsOfStatefulClustersAreLookedUpByName(t *testing.T) {
	ours := podOwnedBy(namedPod, "lockstep.dev/v1alpha1", "StatefulCluster")
	unlabelled := ours.DeepCopy()
	unlabelled.Labels = nil
	adopted := podOwnedBy("db-0", "lockstep.dev/v1alpha1", "StatefulCluster")
	orphan := ours.DeepCopy()
	orphan.OwnerReferences = nil
	held := observe.Pod{UID: "p", Version: 9, Up: true, Held: true, Key: key}
	for sentence, tc := range map[string]struct {
		pod      *corev1.Pod
		inGroups bool // the cache of groups shows it
		inPools  bool // the cache of StatefulClusters shows it
		without  bool // no StatefulCluster exists
		cached   observe.Pod
		known    bool
		live     observe.Pod
	}{
		"a pod of a StatefulCluster":                                   {ours, true, true, false, held, true, held},
		"a pod that only the cache of groups shows":                    {ours, true, false, false, observe.Pod{}, false, held},
		"a pod that no cache shows":                                    {ours, false, false, false, observe.Pod{}, false, held},
		"a pod without the label of its StatefulCluster":               {unlabelled, true, false, false, observe.Pod{}, false, observe.Pod{UID: "p", Version: 9, Up: true}},
		"a pod of another kind with the name of such a pod":            {podOwnedBy(namedPod, "batch/v1", "Job"), true, true, false, observe.Pod{UID: "p", Version: 9, Up: true}, true, observe.Pod{UID: "p", Version: 9, Up: true}},
		"a pod of a kind of the same name in another group":            {podOwnedBy(namedPod, "example.com/v1", "StatefulCluster"), true, true, false, observe.Pod{UID: "p", Version: 9, Up: true}, true, observe.Pod{UID: "p", Version: 9, Up: true}},
		"a pod of another kind with a name of its own":                 {podOwnedBy("job-x7k2p", "batch/v1", "Job"), true, false, false, observe.Pod{UID: "p", Version: 9, Up: true}, true, observe.Pod{UID: "p", Version: 9, Up: true}},
		"a pod that was adopted":                                       {adopted, true, true, false, held, true, held},
		"a pod that was adopted, which only the cache of groups shows": {adopted, true, false, false, observe.Pod{}, false, held},
		"a pod that lost its StatefulCluster":                          {orphan, true, true, false, held, true, held},
		"a pod of a StatefulCluster that does not exist any more":      {orphan, true, true, true, observe.Pod{UID: "p", Version: 9, Up: true}, true, observe.Pod{UID: "p", Version: 9, Up: true}},
		"a pod of a StatefulSet with the name of such a pod": {
			podOwnedBy("db-0", "apps/v1", "StatefulSet"), true, false, false, observe.Pod{UID: "p", Version: 9, Up: true, Unplaced: true, Ambiguous: true}, true, observe.Pod{UID: "p", Version: 9, Up: true, Unplaced: true},
		},
		"a pod of a StatefulSet that the caches do not show": {podOwnedBy("db-0", "apps/v1", "StatefulSet"), true, false, true, observe.Pod{UID: "p", Version: 9, Up: true, Unplaced: true}, true, observe.Pod{UID: "p", Version: 9, Up: true, Unplaced: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := &podServer{pod: tc.pod}
			pods := newPods(t, server)
			if !tc.without {
				pods.Pools.objects[key] = pool.Object{UID: "u"}
			}
			if tc.inGroups {
				if err := pods.PutInCache(tc.pod.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			if tc.inPools {
				if err := pods.Pools.pods.GetStore().Add(kept(t, tc.pod.DeepCopy())); err != nil {
					t.Fatal(err)
				}
			}
			cached, known := pods.Pod("team", tc.pod.Name)
			if diff := cmp.Diff(tc.cached, cached); diff != "" || known != tc.known || server.requests > 0 {
				t.Errorf("known: %t after %d requests (-want +got):\n%s", known, server.requests, diff)
			}
			live, exists, err := pods.LivePod(t.Context(), "team", tc.pod.Name)
			if diff := cmp.Diff(tc.live, live); diff != "" || !exists || err != nil {
				t.Errorf("live: exists %t, %v (-want +got):\n%s", exists, err, diff)
			}
		})
	}
}
