package pools

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// silentNode is a node that has not reported since a time.
func silentNode(name string, since time.Time, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, UID: "n"}, Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue},
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)},
		}},
	}
}

func TestANodeIsConverted(t *testing.T) {
	ready := silentNode("n", start)
	ready.Status.Conditions[1].Status = corev1.ConditionTrue
	for sentence, tc := range map[string]struct {
		node *corev1.Node
		want pool.Node
	}{
		"it reports":                    {ready, pool.Node{Name: "n"}},
		"it does not report":            {silentNode("n", start), pool.Node{Name: "n", Silent: start}},
		"it is declared out of service": {silentNode("n", start, corev1.Taint{Key: outOfService}), pool.Node{Name: "n", Gone: true, Silent: start}},
		"it has another taint":          {silentNode("n", start, corev1.Taint{Key: "node.kubernetes.io/unreachable"}), pool.Node{Name: "n", Silent: start}},
		"it does not exist":             {nil, pool.Node{Name: "n", Gone: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := nodeOf("n", tc.node)
			if tc.node != nil {
				kept, err := recorded(tc.node.DeepCopy())
				n, is := kept.(*nodeRecord)
				if err != nil || !is || n.Node != got || n.GetName() != "n" {
					t.Errorf("it is kept as %+v, %v", kept, err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// nodes answers requests about nodes, and passes on all others.
type nodes struct {
	*server
	found []any
}

func (n *nodes) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/nodes") {
		return apitest.Answer(http.StatusOK, map[string]any{"kind": "NodeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "30"}, "items": n.found}), nil
	}
	return n.server.RoundTrip(q)
}

// The caches know no node, because their watch has not begun.
func TestALiveReadReadsTheNodesThatSeemToBeGone(t *testing.T) {
	for sentence, tc := range map[string]struct {
		found []any
		want  pool.Node
	}{
		"it exists":         {[]any{silentNode("n", start)}, pool.Node{Name: "n", Silent: start}},
		"it does not exist": {nil, pool.Node{Name: "n", Gone: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			live, err := newObserver(t, &nodes{&server{node: "n"}, tc.found}).Live(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, live.Pods[0].Node); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The caches show a node that does not report; it does meanwhile.
func TestALiveReadReadsTheNodesThatSeemToBeSilent(t *testing.T) {
	reports := silentNode("n", start)
	reports.Status.Conditions[1].Status = corev1.ConditionTrue
	o := newObserver(t, &nodes{&server{node: "n"}, []any{reports}})
	if err := o.nodes.GetStore().Add(kept(t, silentNode("n", start))); err != nil {
		t.Fatal(err)
	}
	live, err := o.Live(t.Context(), key)
	if err != nil || !live.Pods[0].Node.Silent.IsZero() {
		t.Errorf("error %v, the node is %+v", err, live.Pods[0].Node)
	}
}

func TestPoolsAreEnqueuedIfANodeOfTheirPodsChanges(t *testing.T) {
	reports := silentNode("n", start)
	reports.Status.Conditions[1].Status = corev1.ConditionTrue
	other := silentNode("n", start)
	other.Labels = map[string]string{"a": "b"}
	for sentence, tc := range map[string]struct {
		former, latest *corev1.Node
		want           []plan.Key
	}{
		"it is deleted":           {silentNode("n", start), nil, []plan.Key{key}},
		"it reports again":        {silentNode("n", start), reports, []plan.Key{key}},
		"its labels change":       {silentNode("n", start), other, nil},
		"another node is deleted": {silentNode("other", start), nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, &server{})
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-a", Namespace: "team", Labels: map[string]string{contract.PoolLabel: "db"}}, Spec: corev1.PodSpec{NodeName: "n"}}
			if err := o.pods.GetIndexer().Add(kept(t, p)); err != nil {
				t.Fatal(err)
			}
			var enqueued []plan.Key
			o.options.Changed = func(key plan.Key) { enqueued = append(enqueued, key) }
			if tc.latest == nil {
				o.nodeEvents().OnDelete(kept(t, tc.former))
			} else {
				o.nodeEvents().OnUpdate(kept(t, tc.former), kept(t, tc.latest))
			}
			if diff := cmp.Diff(tc.want, enqueued); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// The claim exists and lacks the labels by which the list finds it.
func TestALiveReadReadsTheClaimsThatLackTheLabels(t *testing.T) {
	mounts := []string{"db-data-a", "db-logs-a"}
	deleted, err := newObserver(t, &server{mounts: mounts, deleting: true}).Live(t.Context(), key)
	if err != nil || len(deleted.Unlabelled) > 0 {
		t.Errorf("error %v; claims that are being deleted are there: %v", err, deleted.Unlabelled)
	}
	live, err := newObserver(t, &server{mounts: mounts}).Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range live.Unlabelled {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"db-logs-a"}, names); diff != "" {
		t.Errorf("unlabelled (-want +got):\n%s", diff)
	}
}
