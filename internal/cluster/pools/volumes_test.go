package pools

import (
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// volumes answers requests about claims, volumes and nodes, and passes on all others.
type volumes struct {
	*server
	claims  map[string]string // the volume of each claim; empty: it has none yet
	volumes map[string]string // the only node of each volume; empty: any
	nodes   []any
	fails   string // the resource of which no object can be read
	listed  int    // how often the nodes were listed
}

func (v *volumes) RoundTrip(q *http.Request) (*http.Response, error) {
	name, resource := path.Base(q.URL.Path), path.Base(path.Dir(q.URL.Path))
	refused := func(code int32, reason metav1.StatusReason) (*http.Response, error) {
		return apitest.Answer(int(code), metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}), nil
	}
	switch {
	case v.fails != "" && (resource == v.fails || name == v.fails):
		return refused(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case name == "nodes":
		v.listed++
		return apitest.Answer(http.StatusOK, map[string]any{"kind": "NodeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "30"}, "items": v.nodes}), nil
	case resource == "persistentvolumeclaims":
		volume, exists := v.claims[name]
		if !exists {
			return refused(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		return apitest.Answer(http.StatusOK, &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
		}), nil
	case resource == "persistentvolumes":
		node, exists := v.volumes[name]
		if !exists {
			return refused(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		return apitest.Answer(http.StatusOK, volumeOn(name, node)), nil
	}
	return v.server.RoundTrip(q)
}

// volumeOn returns a volume that can only be used on one node.
func volumeOn(name, node string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	if node != "" {
		is := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{is}}}}}
	}
	return volume
}

// nodeThat returns a node that takes pods, but for a change.
func nodeThat(name string, change func(*corev1.Node)) any {
	n := silentNode(name, start)
	n.Labels = map[string]string{corev1.LabelHostname: name}
	n.Status.Conditions[1].Status = corev1.ConditionTrue
	change(n)
	return n
}

func takesPods(*corev1.Node) {}

func isSilent(n *corev1.Node)   { n.Status.Conditions[1].Status = corev1.ConditionUnknown }
func isCordoned(n *corev1.Node) { n.Spec.Unschedulable = true }
func isOff(n *corev1.Node)      { n.Spec.Taints = []corev1.Taint{{Key: outOfService}} }

// waiting returns a StatefulCluster with a pod that has no node.
func waiting(claims ...string) *pool.Snapshot {
	p := pool.Pod{}
	p.Name, p.UID = "db-a", "p"
	for _, claim := range claims {
		p.Mounts = append(p.Mounts, pool.Mount{Template: strings.TrimSuffix(strings.TrimPrefix(claim, "db-"), "-a"), Claim: claim})
	}
	return &pool.Snapshot{Key: key, Pods: []pool.Pod{p}}
}

func TestALookAtVolumesShowsWhatAPodWaitsFor(t *testing.T) {
	const data, logs = "db-data-a", "db-logs-a"
	both := map[string]string{data: "one", logs: "two"}
	for sentence, tc := range map[string]struct {
		server   volumes
		wherever bool // nothing is known of nodes
		want     pool.VolumeLook
		fails    bool
	}{
		"a claim that does not exist":               {volumes{}, false, pool.VolumeLook{}, false},
		"a claim that has no volume yet":            {volumes{claims: map[string]string{data: ""}}, false, pool.VolumeLook{}, false},
		"a volume that does not exist":              {volumes{claims: both}, false, pool.VolumeLook{}, false},
		"a volume that can be used on any node":     {volumes{claims: both, volumes: map[string]string{"one": ""}}, false, pool.VolumeLook{}, false},
		"a volume on a node that takes pods":        {volumes{claims: both, volumes: map[string]string{"one": "n"}, nodes: []any{nodeThat("n", takesPods)}}, false, pool.VolumeLook{}, false},
		"a volume on a node that does not exist":    {volumes{claims: both, volumes: map[string]string{"one": "n"}, nodes: []any{nodeThat("m", takesPods)}}, false, pool.VolumeLook{Unreachable: true}, false},
		"a volume on a node that takes no pods":     {volumes{claims: both, volumes: map[string]string{"one": "n"}, nodes: []any{nodeThat("n", isCordoned)}}, false, pool.VolumeLook{Waits: "claim db-data-a, 1 nodes"}, false},
		"a volume on a node that does not report":   {volumes{claims: both, volumes: map[string]string{"one": "n"}, nodes: []any{nodeThat("n", isSilent)}}, false, pool.VolumeLook{Waits: "claim db-data-a, 1 nodes"}, false},
		"a volume on a node that is out of service": {volumes{claims: both, volumes: map[string]string{"one": "n"}, nodes: []any{nodeThat("n", isOff)}}, false, pool.VolumeLook{Waits: "claim db-data-a, 1 nodes"}, false},
		"the second volume on a node that does not exist": {
			volumes{claims: both, volumes: map[string]string{"one": "n", "two": "m"}, nodes: []any{nodeThat("n", isOff)}}, false, pool.VolumeLook{Unreachable: true}, false,
		},
		"nothing is known of nodes":     {volumes{claims: both, volumes: map[string]string{"one": "n"}}, true, pool.VolumeLook{}, false},
		"a claim that cannot be read":   {volumes{fails: "persistentvolumeclaims"}, false, pool.VolumeLook{}, true},
		"a volume that cannot be read":  {volumes{claims: both, fails: "persistentvolumes"}, false, pool.VolumeLook{}, true},
		"nodes that cannot be listed":   {volumes{claims: both, volumes: map[string]string{"one": "n"}, fails: "nodes"}, false, pool.VolumeLook{}, true},
		"nodes are listed once for all": {volumes{claims: both, volumes: map[string]string{"one": "n", "two": "n"}, nodes: []any{nodeThat("n", takesPods)}}, false, pool.VolumeLook{}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			tc.server.server = &server{}
			o, s := newObserver(t, &tc.server), waiting(data, logs)
			if tc.wherever {
				o.nodes = nil
			}
			if err := o.LookAtVolumes(t.Context(), s, []string{"db-a"}); (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			o.checks.fill(s)
			look, looked := s.Volumes["p"]
			if looked == tc.fails || tc.server.listed > 1 {
				t.Errorf("looked: %t; the nodes were listed %d times", looked, tc.server.listed)
			}
			if looked {
				tc.want.At, tc.want.Since = start, start
			}
			if diff := cmp.Diff(tc.want, look); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The first of the looks that show a volume out of reach counts. Looks at other pods stay while these pods exist.
func TestALookAtVolumesKeepsWhatTheOthersHaveShown(t *testing.T) {
	missing := &volumes{server: &server{}, claims: map[string]string{"db-data-a": "one"}, volumes: map[string]string{"one": "n"}}
	o, s := newObserver(t, missing), waiting("db-data-a")
	other, waits := s.Pods[0], s.Pods[0]
	other.Name, other.UID, waits.Name, waits.UID = "db-b", "q", "db-c", "r"
	s.Pods = append(s.Pods, other, waits)
	earlier := pool.VolumeLook{At: start.Add(-time.Minute), Since: start.Add(-time.Hour), Unreachable: true}
	o.checks.update(key, func(c *check) {
		c.volumes = map[string]pool.VolumeLook{"p": earlier, "q": earlier, "r": {At: earlier.At, Since: earlier.Since, Waits: "claim db-data-a, 1 nodes"}, "gone": earlier}
	})
	o.checks.fill(s)
	if err := o.LookAtVolumes(t.Context(), s, []string{"db-a", "db-c"}); err != nil {
		t.Fatal(err)
	}
	next := waiting("db-data-a")
	o.checks.fill(next)
	want := map[string]pool.VolumeLook{"p": {At: start, Since: earlier.Since, Unreachable: true}, "q": earlier, "r": {At: start, Since: start, Unreachable: true}}
	if diff := cmp.Diff(want, next.Volumes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An identity is only given up because of a volume if a live read shows the same as the look before.
func TestALiveReadLooksAgainAtVolumesThatWereOutOfReach(t *testing.T) {
	earlier := pool.VolumeLook{At: start.Add(-time.Minute), Since: start.Add(-time.Hour), Unreachable: true}
	for sentence, tc := range map[string]struct {
		nodes []any
		node  string // of the pod
		fails string
		of    string // UID of the pod of which the look was
		want  pool.VolumeLook
	}{
		"the node exists now":           {[]any{nodeThat("n", takesPods)}, "", "", "p", pool.VolumeLook{At: start, Since: earlier.Since}},
		"the node still does not exist": {nil, "", "", "p", pool.VolumeLook{At: start, Since: earlier.Since, Unreachable: true}},
		"the pod has a node meanwhile":  {[]any{nodeThat("n", takesPods)}, "n", "", "p", earlier},
		"the look was at a former pod":  {nil, "", "", "former", pool.VolumeLook{}},
		"the volume cannot be read":     {nil, "", "persistentvolumes", "p", earlier},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, &volumes{
				server: &server{node: tc.node, mounts: []string{"db-data-a"}}, claims: map[string]string{"db-data-a": "one"}, volumes: map[string]string{"one": "n"}, nodes: tc.nodes, fails: tc.fails,
			})
			o.checks.update(key, func(c *check) { c.volumes = map[string]pool.VolumeLook{tc.of: earlier} })
			live, err := o.Live(t.Context(), key)
			if (err != nil) != (tc.fails != "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, live.Volumes["p"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			kept := pool.Snapshot{Key: key}
			if o.checks.fill(&kept); !cmp.Equal(kept.Volumes[tc.of], earlier) {
				t.Errorf("the live read has changed what is kept: %+v", kept.Volumes)
			}
		})
	}
}
