package spans_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// updateOfPods returns the record of an update of four pods, of which the last one has no successor yet.
func updateOfPods() plan.RolledGroup {
	at := func(seconds int) time.Time { return fixture.Now().Add(time.Duration(seconds) * time.Second) }
	return plan.RolledGroup{
		Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", Since: at(0), Zones: []plan.RolledZone{{
			Name: "db", UID: "u", From: "db-1", To: "db-2", Budget: 1, Since: at(0), Pods: []plan.RolledPod{
				{Name: "db-a", UID: "a", Cause: reason.UpdatedByNewIdentity, Successor: "db-x", Deleted: at(0), Recreated: at(1), Ready: at(3)},
				{Name: "db-b", UID: "b", Cause: reason.IdentityHandover, Deleted: at(3), Recreated: at(5), Ready: at(6)},
				{Name: "db-c", UID: "c", Cause: reason.UpdatedInPlace, Deleted: at(6), Recreated: at(6), Ready: at(7), Seen: true},
				{Name: "db-d", UID: "d", Cause: reason.UpdatedByNewIdentity, Open: true, Deleted: at(7), Recreated: at(7)},
			},
		}},
	}
}

func TestAnUpdateOfAStatefulClusterIsOneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		key := plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}
		update := updateOfPods()
		p.Show(t.Context(), key, plan.Rollouts{Current: update})
		time.Sleep(time.Second)
		synctest.Wait()
		update = p.Kept(key, plan.Rollouts{Current: update}).Current
		if pods := update.Zones[0].Pods; len(pods) != 1 || pods[0].Name != "db-d" {
			t.Fatalf("the record keeps %v, want the pod without a successor", pods)
		}
		d := &update.Zones[0].Pods[0]
		d.Open, d.Successor, d.Recreated = false, "db-y", fixture.Now().Add(8*time.Second)
		update.Zones[0].Until, update.Until = fixture.Now().Add(9*time.Second), fixture.Now().Add(9*time.Second)
		p.Show(t.Context(), key, plan.Rollouts{Finished: []plan.RolledGroup{update}})
		_ = p.end(t.Context())
		const want = `
update db 0..9
  revision db-2 0..9
    pod db-a 0..3 deleted@0 recreated@1 Ready@3
    pod db-b 3..6 deleted@3 gone@5 recreated@5 Ready@6
    pod db-c 6..7 updated@6 Ready@7
    pod db-d 7..8 deleted@7 recreated@8
`
		if diff := cmp.Diff(want, tree(t, c.spans)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, s := range c.spans {
			var text []string
			for _, a := range s.Attributes {
				text = append(text, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
			}
			const revision = "k8s.namespace.name=team lockstep.statefulcluster=db lockstep.revision.from=db-1 lockstep.revision.to=db-2 lockstep.holder=statefulcluster/db"
			want := map[string]string{
				"update db":     `k8s.namespace.name=team lockstep.statefulcluster=db lockstep.revision.from=["db-1"] lockstep.revision.to=["db-2"]`,
				"revision db-2": revision + " lockstep.budget=1",
				"pod db-a":      revision + " k8s.pod.name=db-a k8s.pod.uid=a lockstep.reason=UpdatedByNewIdentity lockstep.successor=db-x lockstep.ready.seen=false",
			}[s.Name]
			if got := strings.Join(text, " "); want != "" && got != want {
				t.Errorf("%s\ngot  %s\nwant %s", s.Name, got, want)
			}
		}
	})
}

// A pod that is updated in place twice has two spans.
func TestEachUpdateOfAPodInPlaceHasASpanOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		update := updateOfPods()
		first := update.Zones[0].Pods[2]
		again := first
		again.Deleted, again.Recreated, again.Ready = again.Deleted.Add(time.Minute), again.Recreated.Add(time.Minute), again.Ready.Add(time.Minute)
		update.Zones[0].Pods = []plan.RolledPod{first, again}
		p.Show(t.Context(), plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, plan.Rollouts{Current: update})
		_ = p.end(t.Context())
		if len(c.spans) != 2 || c.spans[0].SpanContext.SpanID() == c.spans[1].SpanContext.SpanID() {
			t.Errorf("%d spans: %v", len(c.spans), c.spans)
		}
	})
}

func TestAReplacementIsATraceOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		key := plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}
		pod := updateOfPods().Zones[0].Pods[0]
		pod.Cause = reason.NodeGone
		open := updateOfPods().Zones[0].Pods[3]
		recorded := plan.Rollouts{Replacements: []plan.Replacement{
			{Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", RolledPod: pod},
			{Trace: "00-0123456789abcdef0123456789abcde0-0123456789abcdef-01", RolledPod: open},
		}}
		p.Show(t.Context(), key, recorded)
		time.Sleep(time.Second)
		synctest.Wait()
		if left := p.Kept(key, recorded).Replacements; len(left) != 1 || left[0].Name != open.Name {
			t.Errorf("the record keeps %v, want the replacement in progress", left)
		}
		_ = p.end(t.Context())
		if diff := cmp.Diff("\nreplace db-a 0..3 deleted@0 recreated@1 Ready@3\n", tree(t, c.spans)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
