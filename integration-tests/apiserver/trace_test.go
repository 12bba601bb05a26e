package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The first operator is killed, and its spans are lost. The second one creates them again from the
// Lease.
func TestARolloutReadsAsOneTraceInJaegerAfterAKillAndARefusedDownscale(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.guarded = true
	j := startJaeger(t)
	s.create(zone("zone-a", 2), zone("zone-b", 3, maxUnavailable("2")), zone("zone-c", 2))
	s.withRole()
	s.withCertificate()
	first := s.startTraced(j.environment(time.Hour), impatient...)
	s.awaitLeadership(first)
	second := s.startTraced(j.environment(100*time.Millisecond), slices.Concat(serveWebhooks(), []string{"-webhooks.update-ca-bundle=false"}, impatient)...)
	s.guardedAt(webhookAddress(t, second), s.secret().Data["ca"])

	s.change("zone-a", version(2), gated())
	s.change("zone-b", version(2), readyAfter(short))
	s.change("zone-c", version(2), readyAfter(short))
	s.opensGates("zone-a-0")
	s.awaitDeletion("zone-a-1")
	if err := s.scaleBy(scaled, "zone-c", -1); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a refusal", err)
	}
	first.Kill()
	s.awaitLeadership(second)
	s.opensGates("zone-a-1")
	s.scalesDownAtLast(scaled, "zone-c") // during the rollout, or after it
	s.settled()

	trace := s.tracedIn(j)
	if len(trace) != 1+3+6 && len(trace) != 1+3+7 {
		t.Errorf("there are %d spans, want one of the rollout, three of zones and one of each pod:\n%s", len(trace), describeSpans(trace))
	}
	s.wantTree(trace)
	s.wantTimes(trace)
	s.wantLink(j, trace, "admission prepare-downscale", map[string]string{
		"lockstep.decision": "denied", "lockstep.reason": "GroupHeld", "lockstep.holder": "rollout/zone-a", "k8s.namespace.name": s.name,
	})
	s.wantLink(j, trace, "reconcile group", map[string]string{"lockstep.holder": "rollout/zone-b"})

	second.Kill()
	s.forgetsExportedSpans()
	other := startJaeger(t)
	s.startTraced(other.environment(100*time.Millisecond), impatient...)
	again := s.tracedIn(other)
	if len(again) < 1+3 { // pods are deleted from the record once it shows their export
		t.Errorf("%d spans were exported again, want the rollout and its zones at least", len(again))
	}
	for _, again := range again {
		if !slices.ContainsFunc(trace, again.same) {
			t.Errorf("%s %s was not exported before:\n%s", again.OperationName, again.SpanID, describeSpans(trace))
		}
	}
}

// forgetsExportedSpans changes the Lease to the state after a crash before the export of the trace
// was recorded.
func (s *scene) forgetsExportedSpans() {
	s.t.Helper()
	leases := s.world.admin.CoordinationV1().Leases(s.name)
	lease, err := leases.Get(s.t.Context(), "lockstep-group-"+defaultGroup, getOptions)
	if err == nil {
		text := lease.Annotations["lockstep.dev/rollouts"]
		lease.Annotations["lockstep.dev/rollouts"] = strings.ReplaceAll(text, `,"exported":true`, "")
		_, err = leases.Update(s.t.Context(), lease, updateOptions)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// startTraced starts an operator with variables in its environment.
func (s *scene) startTraced(env []string, args ...string) *operator {
	s.t.Helper()
	own := []string{"-log.level=debug", "-kubernetes.namespace=" + s.name, "-operator.namespace=" + s.name}
	op, err := s.world.startIn(s.t.Context(), env, s.kubeconfig(), s.own.User, s.name, append(own, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(op.Kill)
	s.operator = op
	return op
}

// tracedIn waits until Jaeger has the complete trace of the rollout.
func (s *scene) tracedIn(j jaeger) []span {
	s.t.Helper()
	return s.tracedBy(j, "lockstep-group-"+defaultGroup)
}

// tracedBy waits until Jaeger has the complete trace of the only rollout that a Lease records.
func (s *scene) tracedBy(j jaeger, lease string) []span {
	s.t.Helper()
	var trace []span
	s.eventually("Jaeger has the trace of the rollout", func(present) error {
		l, err := s.world.admin.CoordinationV1().Leases(s.name).Get(s.t.Context(), lease, getOptions)
		if err != nil {
			return err
		}
		var remembered struct {
			Finished []struct{ Trace string }
		}
		text := l.Annotations["lockstep.dev/rollouts"]
		err = json.Unmarshal([]byte(text), &remembered)
		if len(remembered.Finished) != 1 {
			return errors.Join(fmt.Errorf("the Lease remembers %q", text), err)
		}
		trace, err = j.trace(strings.Split(remembered.Finished[0].Trace, "-")[1])
		if err == nil && !slices.ContainsFunc(trace, func(s span) bool { return s.parent() == "" }) {
			err = errors.New("its root is missing")
		}
		return err
	})
	return trace
}

// wantTree fails the test unless the trace has the rollout, below it zones, and below them each pod
// once.
func (s *scene) wantTree(trace []span) {
	s.t.Helper()
	ids, pods := map[string]span{}, map[string]int{}
	for _, sp := range trace {
		ids[sp.SpanID] = sp
	}
	for _, sp := range trace {
		parent := ids[sp.parent()]
		kind, name, _ := strings.Cut(sp.OperationName, " ")
		want, tag, value := map[string]string{"rollout": "", "zone": "rollout " + defaultGroup, "pod": "zone " + zoneOf(name)}[kind], "", name
		switch kind {
		case "rollout":
			tag = "lockstep.group"
		case "zone":
			tag = "k8s.statefulset.name"
		case "pod":
			tag = "k8s.pod.name"
			pods[name]++
		}
		switch {
		case parent.OperationName != want:
			s.t.Errorf("%q is below %q, want %q", sp.OperationName, parent.OperationName, want)
		case parent.SpanID != "" && !sp.within(parent):
			s.t.Errorf("%q lasts from %s to %s, and its parent %q from %s to %s", sp.OperationName, sp.start(), sp.end(), want, parent.start(), parent.end())
		case sp.service != "lockstep" || sp.Tags.get(tag) != value || sp.Tags.get("k8s.namespace.name") != s.name:
			s.t.Errorf("%q of service %q has the tags %v", sp.OperationName, sp.service, sp.Tags)
		}
	}
	for _, pod := range s.deletions() {
		if pods[pod] != 1 {
			s.t.Errorf("%s was deleted and has %d spans", pod, pods[pod])
		}
	}
}

func zoneOf(pod string) string {
	i := strings.LastIndex(pod, "-")
	return pod[:max(i, 0)]
}

// wantTimes checks the times of each pod's span. It begins when the deletion was recorded, which is
// before the deletion. It ends when an operator observed the Ready condition of the replacement,
// which has whole seconds.
func (s *scene) wantTimes(trace []span) {
	s.t.Helper()
	near := func(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Second }
	for _, d := range s.disruptions() {
		i := slices.IndexFunc(trace, func(sp span) bool { return sp.OperationName == "pod "+d.Pod })
		if i < 0 {
			continue // wantTree has already reported this
		}
		var events []string
		for _, e := range trace[i].Logs {
			events = append(events, e.Fields.get("event"))
		}
		switch sp := trace[i]; {
		case sp.Tags.get("k8s.pod.uid") != d.UID || sp.Tags.get("lockstep.reason") != "OutdatedRevision":
			s.t.Errorf("the span of %s has the tags %v", d.Pod, sp.Tags)
		case !slices.Equal(events, []string{"deleted", "gone", "recreated", "Ready"}):
			s.t.Errorf("the span of %s has the events %q", d.Pod, events)
		case !near(sp.start(), s.witness.recordedSince(d.UID)) || sp.start().After(d.At.Add(time.Second)):
			s.t.Errorf("the span of %s begins at %s, it was recorded at %s and deleted at %s", d.Pod, sp.start(), s.witness.recordedSince(d.UID), d.At)
		case s.witness.now().pods[d.Pod] != nil && (sp.end().Before(s.readySince(d.Pod)) || !near(sp.end(), s.readySince(d.Pod).Add(time.Second))):
			s.t.Errorf("the span of %s ends at %s, it is Ready since %s", d.Pod, sp.end(), s.readySince(d.Pod))
		}
	}
}

// wantLink waits for a span with these tags that is linked to the rollout.
func (s *scene) wantLink(j jaeger, trace []span, operation string, want map[string]string) {
	s.t.Helper()
	root := trace[slices.IndexFunc(trace, func(sp span) bool { return sp.parent() == "" })]
	s.eventually(operation+" is linked to the rollout", func(present) error {
		all, err := j.named(operation)
		if err != nil {
			return err
		}
		for _, sp := range all {
			fits := sp.linked(root.TraceID, root.SpanID)
			for key, value := range want {
				fits = fits && sp.Tags.get(key) == value
			}
			if fits {
				return nil
			}
		}
		return fmt.Errorf("there are %d, none linked and with %v:\n%s", len(all), want, describeSpans(all))
	})
}

// describeSpans returns spans as text.
func describeSpans(spans []span) string {
	var lines []string
	for _, sp := range spans {
		lines = append(lines, fmt.Sprintf("%s %s..%s parent %q %v", sp.OperationName, sp.start().Format(time.StampMilli), sp.end().Format(time.StampMilli), sp.parent(), sp.Tags))
	}
	return strings.Join(lines, "\n")
}
