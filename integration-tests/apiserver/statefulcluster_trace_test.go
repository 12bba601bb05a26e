package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The first operator is killed, and its spans are lost. The second one creates them again from the Lease.
func TestAnUpdateOfAStatefulClusterReadsAsOneTraceInJaegerAfterAKill(t *testing.T) {
	t.Parallel()
	for sentence, tc := range map[string]struct {
		policy string
		reason string
		events []string
	}{
		"by new identities": {"Recreate", "UpdatedByNewIdentity", []string{"deleted", "recreated", "Ready"}},
		"by hand-overs":     {"RecreateKeepIdentity", "IdentityHandover", []string{"deleted", "gone", "recreated", "Ready"}},
		"in place":          {"InPlaceOnly", "UpdatedInPlace", []string{"updated", "Ready"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p, before, j := tracedUpdate(t, tc.policy)
			trace := p.tracedBy(j, "lockstep-statefulcluster-"+p.name)
			p.wantTree(trace)
			if got := p.statusTrace(); got != trace[0].TraceID {
				t.Errorf("the status names the trace %q, want %q", got, trace[0].TraceID)
			}
			for i := range before {
				p.wantSpan(trace, "pod", &before[i], tc.reason, tc.events)
			}
			root := trace[slices.IndexFunc(trace, func(sp span) bool { return sp.parent() == "" })]
			t.Logf("update %s: %d spans in %s", sentence, len(trace), root.end().Sub(root.start()))
		})
	}
}

// The operator that leads is killed after the pod has ended and before its successor is Ready.
func TestAReplacementOfAPodOfAStatefulClusterReadsAsATraceInJaegerAfterAKill(t *testing.T) {
	t.Parallel()
	const replicas = 2
	p, first, second, j := tracedPool(t, replicas, "InPlaceIfPossible")
	p.updates(fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {%q: "5s"}}}}}`, localcluster.ReadyAfter))
	before := p.hasImage(replicas, "db:1")[0]
	asked := []byte(`{"metadata": {"labels": {"lockstep.dev/specified-delete": "true"}}}`)
	if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), before.Name, types.MergePatchType, asked, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	var trace string
	p.eventually("the Lease records the replacement", func(present) error {
		l, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Get(t.Context(), "lockstep-statefulcluster-"+p.name, getOptions)
		if err != nil {
			return err
		}
		var recorded struct{ Replacements []struct{ Trace string } }
		text := l.Annotations["lockstep.dev/rollouts"]
		if err := json.Unmarshal([]byte(text), &recorded); err != nil || len(recorded.Replacements) != 1 {
			return fmt.Errorf("it records %q, error %w", text, err)
		}
		trace = strings.Split(recorded.Replacements[0].Trace, "-")[1]
		return nil
	})
	first.Kill()
	p.awaitLeadership(second)
	p.settles(replicas)
	var spans []span
	p.eventually("Jaeger has the trace", func(present) (err error) {
		if spans, err = j.trace(trace); err == nil && len(spans) == 0 {
			err = errors.New("it has no spans")
		}
		return err
	})
	if len(spans) != 1 || spans[0].parent() != "" {
		t.Errorf("the trace is\n%s", describeSpans(spans))
	}
	p.wantSpan(spans, "replace", &before, "ReplacementAsked", []string{"deleted", "recreated", "Ready"})
}

// tracedPool returns a StatefulCluster with two operators. The first one leads, and exports no spans.
func tracedPool(t *testing.T, replicas int, policy string) (p pool, first, second *operator, j jaeger) {
	t.Helper()
	s := unmanaged(t)
	j = startJaeger(t)
	s.allowsPools()
	enabled := append([]string{"-statefulcluster.enabled"}, impatient...)
	first = s.startTraced(j.environment(time.Hour), enabled...)
	s.awaitLeadership(first)
	second = s.startTraced(j.environment(100*time.Millisecond), enabled...)
	p = s.createPool(replicas, map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": policy}}})
	p.settles(replicas)
	return p, first, second, j
}

// tracedUpdate updates a StatefulCluster of three pods by a policy. The operator that leads is killed when it has updated one
// pod and disrupted another. It returns the pods before the update.
func tracedUpdate(t *testing.T, policy string) (p pool, before []corev1.Pod, _ jaeger) {
	t.Helper()
	const replicas = 3
	p, first, second, j := tracedPool(t, replicas, policy)
	before = p.pods()
	p.updates(withContainer("db:2", ""))
	p.eventually("one pod is updated, and another one is being updated", func(present) error {
		updated := 0
		for _, pod := range p.pods() {
			if pod.Spec.Containers[0].Image == "db:2" {
				updated++
			}
		}
		if updated < 2 {
			return fmt.Errorf("%d pods have the new image", updated)
		}
		return nil
	})
	first.Kill()
	p.awaitLeadership(second)
	p.hasImage(replicas, "db:2")
	return p, before, j
}

// wantTree fails the test unless the trace has the update, below it one revision, and below that pods.
func (p pool) wantTree(trace []span) {
	p.t.Helper()
	ids := map[string]span{}
	for _, sp := range trace {
		ids[sp.SpanID] = sp
	}
	for _, sp := range trace {
		parent := ids[sp.parent()]
		kind, _, _ := strings.Cut(sp.OperationName, " ")
		above, _, _ := strings.Cut(parent.OperationName, " ")
		if want, known := map[string]string{"update": "", "revision": "update", "pod": "revision"}[kind]; !known || above != want {
			p.t.Errorf("%q is below %q", sp.OperationName, parent.OperationName)
		}
		if parent.SpanID != "" && !sp.within(parent) {
			p.t.Errorf("%q lasts from %s to %s, and its parent %q from %s to %s", sp.OperationName, sp.start(), sp.end(), parent.OperationName, parent.start(), parent.end())
		}
		if sp.service != "lockstep" || sp.Tags.get("lockstep.statefulcluster") != p.name || sp.Tags.get("k8s.namespace.name") != p.scene.name {
			p.t.Errorf("%q of service %q has the tags %v", sp.OperationName, sp.service, sp.Tags)
		}
	}
	if len(trace) != 1+1+3 {
		p.t.Errorf("there are %d spans, want one of the update, one of the revision and one of each pod:\n%s", len(trace), describeSpans(trace))
	}
}

// wantSpan fails the test unless the trace has one span of that kind for a pod, from the record of its disruption until the
// pod that has its place is Ready.
func (p pool) wantSpan(trace []span, kind string, pod *corev1.Pod, reason string, events []string) {
	p.t.Helper()
	spans := slices.DeleteFunc(slices.Clone(trace), func(sp span) bool { return sp.Tags.get("k8s.pod.uid") != string(pod.UID) })
	if len(spans) != 1 || spans[0].OperationName != kind+" "+pod.Name || spans[0].Tags.get("lockstep.reason") != reason {
		p.t.Errorf("pod %s has the spans\n%s", pod.Name, describeSpans(spans))
		return
	}
	sp := spans[0]
	var got []string
	for _, e := range sp.Logs {
		got = append(got, e.Fields.get("event"))
	}
	if !slices.Equal(got, events) {
		p.t.Errorf("the span of %s has the events %q, want %q", pod.Name, got, events)
	}
	next := pod.Name
	if successor := sp.Tags.get("lockstep.successor"); successor != "" {
		next = successor
	}
	at, err := p.readyTime(next)
	if err != nil || sp.end().Before(at) || sp.end().After(at.Add(2*time.Second)) {
		p.t.Errorf("the span of %s ends at %s, pod %s is Ready since %s, error %v", pod.Name, sp.end(), next, at, err)
	}
}

// readyTime returns since when a pod of the pool is Ready, in whole seconds.
func (p pool) readyTime(name string) (time.Time, error) {
	pod, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions)
	if err != nil {
		return time.Time{}, err
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, nil
		}
	}
	return time.Time{}, errors.New("it is not Ready")
}

// statusTrace returns the trace that the status names.
func (p pool) statusTrace() string {
	p.t.Helper()
	var id string
	p.eventually("the status names a trace", func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if id, _, _ = unstructured.NestedString(o.Object, "status", "trace"); id == "" {
			return errors.New("it names none")
		}
		return nil
	})
	return id
}
