package groups_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	sizedTwo = "zone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1 leader=zone-a replicas=1\n zone-b-0 ready@1\n"
)

// overwrite lets another writer overwrite the replicas of zone-b a number of times; lockstep
// responds each time.
func (w *world) overwrite(t *testing.T, times int) {
	t.Helper()
	c, _ := newController(w)
	w.contests = c.Contests
	for range times + 1 {
		w.cached = fixture.MustParse(sizedTwo)
		w.cached.Key = store
		w.done = nil
		for _, a := range plan.Only[group.SetReplicas](group.Plan(w.Cached(store))) {
			w.done = append(w.done, plan.Receipt{Step: a})
		}
		if _, err := c.Reconcile(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) remarks() []string {
	var all []string
	for _, r := range group.Remarks(w.Cached(store)) {
		all = append(all, r.String())
	}
	return all
}

func TestFieldManagerIsReadOnceAContestIsReported(t *testing.T) {
	w := &world{writer: "gitops"}
	w.overwrite(t, 2)
	if w.writerReads > 0 || len(w.overwritten) != 2 {
		t.Errorf("%d reads, overwritten %v", w.writerReads, w.overwritten)
	}
	w = &world{writer: "gitops"}
	w.overwrite(t, 5) // lockstep sees three of these, because it waits after the third
	if want := []string{`wait zone-b because ReplicasContested (field manager "gitops")`}; !slices.Equal(w.remarks(), want) {
		t.Errorf("remarks %q, want %q", w.remarks(), want)
	}
	if w.writerReads != 1 || !slices.Equal(w.overwritten, []string{"zone-b", "zone-b", "zone-b"}) {
		t.Errorf("%d reads, overwritten %v", w.writerReads, w.overwritten)
	}
}

func TestContestIsReportedWithoutANameIfTheWriterCannotBeRead(t *testing.T) {
	w := &world{writerFails: errors.New("no route to host")}
	w.overwrite(t, 5)
	if want := []string{"wait zone-b because ReplicasContested"}; !slices.Equal(w.remarks(), want) {
		t.Errorf("remarks %q, want %q", w.remarks(), want)
	}
}

func TestContestsAreDroppedWithLeadership(t *testing.T) {
	w := &world{writer: "gitops"}
	w.overwrite(t, 5)
	c, _ := newController(w)
	c.Contests = w.contests
	c.Resign(store)
	if got := w.remarks(); len(got) > 0 {
		t.Errorf("remarks %q", got)
	}
}
