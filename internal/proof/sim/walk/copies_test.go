package walk

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// A plan with one action of each order that the walk carries out, as the walk and as the real executor carry it out: the
// writes of both are the same, in the same order, and so are those after a refused write of the Lease.
func TestARoundWritesInTheOrderOfTheExecutor(t *testing.T) {
	const updated, held, deleted, adopted, raised = "update of a pod", "write of the Lease", "delete of a pod", "status of a zone", "replicas of a zone"
	for sentence, tc := range map[string]struct {
		refuses bool
		want    []string
	}{
		"all writes are accepted":           {false, []string{updated, held, deleted, adopted, raised}},
		"the write of the Lease is refused": {true, []string{updated, raised}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var seen group.Snapshot
			var steps []plan.Action
			var d hold.Decision
			var walked []string
			synctest.Test(t, func(t *testing.T) {
				w := newWalk(t.Context(), Draw(1))
				p, g := w.processes[0], w.groups[0]
				p.term++
				r := &round{process: p, g: g, term: p.term, snapshot: p.cached(g), shown: p.shownOf(g), requeueAfter: onlyEvents}
				steps, d = oneOfEachOrder(&r.snapshot)
				if tc.refuses {
					d.Record.UID, d.Record.Version = "of another Lease", 1
				}
				seen, r.actions, r.decision = r.snapshot, steps, d
				done := false
				counts := map[action]string{podsUpdated: updated, upPodsReplaced: deleted, downPodsReplaced: deleted, revisionsAdopted: adopted, upscales: raised}
				before := map[action]int{}
				for what := range counts {
					before[what] = w.report.Actions[what]
				}
				version := g.lease
				r.execute(func(error) { done = true })
				for n := 0; !done && n < 10_000; n++ {
					w.step()
					for what, word := range counts {
						if now := w.report.Actions[what]; now > before[what] {
							before[what] = now
							walked = append(walked, word)
						}
					}
					if g.lease != version {
						version = g.lease
						walked = append(walked, held)
					}
				}
				w.end()
			})
			server := &recordedWrites{words: map[string]string{
				"PATCH pods": updated, "POST leases": held, "PUT leases": held, "DELETE pods": deleted, "PATCH status": adopted, "PATCH statefulsets": raised,
			}, refuses: tc.refuses}
			client := apitest.Client(t, server)
			e := act.Executor{Client: client, Holds: lease.NewStore(client, "", "test"), Fresh: freshness.NewLog(), Tracer: noop.Tracer{}, Rollouts: untraced{}, Managed: func(string) bool { return true }}
			d.Record.Renewed = time.Now() // the executor sends nothing under a hold that has expired
			_, _ = e.Run(t.Context(), &seen, steps, d)
			if diff := cmp.Diff(server.seen, walked); diff != "" {
				t.Errorf("the walk differs from the executor (-executor +walk):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, server.seen); diff != "" {
				t.Errorf("the executor (-want +got):\n%s", diff)
			}
		})
	}
}

// untraced are rollouts without traces.
type untraced struct{}

func (untraced) Begin(context.Context) string                     { return "" }
func (untraced) Kept(_ plan.Key, all plan.Rollouts) plan.Rollouts { return all }

// oneOfEachOrder returns actions about the first two zones, in no order, and the decision about the Lease.
func oneOfEachOrder(s *group.Snapshot) ([]plan.Action, hold.Decision) {
	first, second := s.Zones[0], s.Zones[1]
	cancelled, ended := first.Pods[0], first.Pods[1]
	intent := func(p plan.Pod) plan.Intent {
		return plan.Intent{Zone: first.Name, Pod: p.Name, UID: p.UID, Version: p.Version, Cause: reason.OutdatedRevision, Since: s.Now}
	}
	record := s.Record()
	record.Exists, record.Holder, record.Renewed, record.Duration = true, plan.RolloutOperation.For(first.Name), s.Now, hold.Duration
	record.Intents = []plan.Intent{intent(ended)}
	return []plan.Action{
		group.SetReplicas{Zone: second.Name, UID: second.UID, Version: second.Version, From: second.Replicas, To: second.Replicas + 1},
		group.AdoptRevision{Zone: first.Name, UID: first.UID, Version: first.Version, Revision: first.UpdateRevision},
		plan.DeletePod{Zone: first.Name, Pod: ended.Name, UID: ended.UID, Version: ended.Version, Up: true, Because: reason.OutdatedRevision},
		plan.CancelDeletion{Intent: intent(cancelled)},
	}, hold.Decision{Need: hold.Write, Record: record}
}

// recordedWrites is an API server that records the writes that it accepts, by the words of a test.
type recordedWrites struct {
	words   map[string]string
	refuses bool // writes of the Lease
	seen    []string
}

// RoundTrip implements http.RoundTripper.
func (w *recordedWrites) RoundTrip(q *http.Request) (*http.Response, error) {
	parts := strings.Split(q.URL.Path, "/")
	resource := parts[len(parts)-2]
	switch last := parts[len(parts)-1]; {
	case last == "status":
		resource = last
	case q.Method == http.MethodPost:
		resource = last
	}
	if resource == "leases" && w.refuses {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict), nil
	}
	if word := w.words[q.Method+" "+resource]; word != "" {
		w.seen = append(w.seen, word)
	}
	object := map[string]any{}
	if q.Body != nil {
		body, _ := io.ReadAll(q.Body)
		_ = json.Unmarshal(body, &object)
	}
	kind := map[string]string{"pods": "Pod", "leases": "Lease"}[resource]
	if kind == "" {
		kind = "StatefulSet"
	}
	object["kind"] = kind
	object["apiVersion"] = map[string]string{"Pod": "v1", "Lease": "coordination.k8s.io/v1", "StatefulSet": "apps/v1"}[kind]
	return apitest.Answer(http.StatusOK, object), nil
}
