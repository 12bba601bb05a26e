package observe

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// budgets are those of the namespace team.
type budgets struct {
	known bool
	tell  func(namespace string)
}

func (b *budgets) Budgets(namespace string) []plan.DisruptionBudget {
	return []plan.DisruptionBudget{{Name: "a", Limit: 1}, {Name: "b of " + namespace, Invalid: "wrong"}}
}

func (b *budgets) Known() bool { return b.known }

func (b *budgets) Answered() bool { return b.known }

func (b *budgets) Listen(changed func(namespace string)) { b.tell = changed }

func TestCachedAndLiveShowTheBudgetsOfTheNamespace(t *testing.T) {
	o := newObserver(t, newLibrary(newSet("zone-a")).client(t))
	show(o, newSet("zone-a"))
	for _, source := range []Budgets{nil, &budgets{}, &budgets{known: true}} {
		o.budgets = source
		var want []plan.DisruptionBudget
		if source != nil {
			want = source.Budgets("team")
		}
		live, err := o.Live(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		for how, s := range map[string]plan.Snapshot{"cached": o.Cached(store), "live": live} {
			if diff := cmp.Diff(want, s.Budgets); diff != "" {
				t.Errorf("%s (-want +got):\n%s", how, diff)
			}
			if s.Unread == o.BudgetsKnown() {
				t.Errorf("%s: unread: %t, known: %t", how, s.Unread, o.BudgetsKnown())
			}
		}
	}
}

func TestWhetherBudgetsAreKnown(t *testing.T) {
	o := newObserver(t, unreachable)
	if !o.BudgetsKnown() {
		t.Error("where nobody reads them none are missing")
	}
	for _, known := range []bool{true, false} {
		o.budgets = &budgets{known: known}
		if o.BudgetsKnown() != known {
			t.Errorf("known: %t, want %t", !known, known)
		}
	}
}

func TestABudgetConcernsEveryGroupOfItsNamespace(t *testing.T) {
	o := newObserver(t, unreachable)
	source := &budgets{}
	o.budgets = source
	show(o, newSet("zone-a"))
	show(o, newSet("zone-b"))
	show(o, newSet("zone-c", inGroup("other")))
	show(o, newSet("zone-d", inGroup("")))
	show(o, newSet("zone-e", ungrouped))
	show(o, newSet("zone-f", func(s *appsv1.StatefulSet) { s.Labels = map[string]string{contract.PrepareDownscaleLabel: "true"} }))
	show(o, newSet("zone-a", inGroup("elsewhere"), func(s *appsv1.StatefulSet) { s.Namespace, s.UID = "another", "uid" }))
	var got []string
	if err := o.Listen(Listener{Group: func(key plan.Key) { got = append(got, key.String()) }}); err != nil {
		t.Fatal(err)
	}
	source.tell("team")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"team/", "team/budget/a", "team/budget/b of team", "team/other", "team/store"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
