package observe

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// budgets contains the budgets of the namespace team.
type budgets struct {
	known bool
	tell  func(namespace string)
}

func (b *budgets) Budgets(namespace string) []group.DisruptionBudget {
	return []group.DisruptionBudget{{Name: "a", Limit: 1}, {Name: "b of " + namespace, Invalid: "wrong"}}
}

func (b *budgets) Known() bool { return b.known }

func (b *budgets) Answered() bool { return b.known }

func (b *budgets) Listen(changed func(namespace string)) { b.tell = changed }

func TestCachedAndLiveShowTheBudgetsOfTheNamespace(t *testing.T) {
	o := newObserver(t, newLibrary(newSet("zone-a")).client(t))
	show(o, newSet("zone-a"))
	for _, source := range []Budgets{nil, &budgets{}, &budgets{known: true}} {
		o.budgets = source
		var want []group.DisruptionBudget
		if source != nil {
			want = source.Budgets("team")
		}
		live, err := o.Live(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		for how, s := range map[string]group.Snapshot{"cached": o.Cached(store), "live": live} {
			if diff := cmp.Diff(want, s.Budgets); diff != "" {
				t.Errorf("%s (-want +got):\n%s", how, diff)
			}
			if s.Unread == o.BudgetsKnown() {
				t.Errorf("%s: unread: %t, known: %t", how, s.Unread, o.BudgetsKnown())
			}
		}
	}
}

// learning is a source of budgets that become known right after they are listed.
type learning struct{ *budgets }

func (l learning) Budgets(string) []group.DisruptionBudget {
	l.known = true
	return nil
}

func TestBudgetsThatBecomeKnownAfterTheyWereReadAreUnread(t *testing.T) {
	o := newObserver(t, newLibrary(newSet("zone-a")).client(t))
	o.budgets = learning{&budgets{}}
	if s := o.Cached(store); !s.Unread || len(s.Budgets) > 0 {
		t.Errorf("unread: %t, budgets: %v", s.Unread, s.Budgets)
	}
}

// A budget that covers pods of a group limits their evictions under the hold of the group.
func TestAPodOfAGroupIsEvictedUnderTheHoldOfItsGroup(t *testing.T) {
	o := newObserver(t, unreachable)
	o.budgets = &budgets{known: true}
	show(o, newSet("zone-a"))
	show(o, newPod("zone-a", 0))
	if pod, known := o.Pod("team", "zone-a-0"); !known || !pod.Held || pod.Key != store {
		t.Errorf("got %+v, want the hold of %s", pod, store)
	}
}

func TestWhetherBudgetsAreKnown(t *testing.T) {
	o := newObserver(t, unreachable)
	if !o.BudgetsKnown() {
		t.Error("missing budgets although no process reads them")
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
	optIn(o)
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

// Budgets of namespaces that did not opt in delay no other group.
func TestABudgetOfAnUnmanagedNamespaceNotifiesNoListener(t *testing.T) {
	o := newObserver(t, unreachable)
	source := &counted{}
	o.budgets = source
	show(o, newSet("zone-a"))
	show(o, newSet("covered", ungrouped, ofApp))
	evicted := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	showHold(o, holdOf(evicted, "evict/covered"))
	var got []string
	if err := o.Listen(Listener{Group: func(key plan.Key) { got = append(got, key.String()) }}); err != nil {
		t.Fatal(err)
	}
	source.tell("team")
	if len(got) > 0 || source.requested > 0 {
		t.Errorf("enqueued %s, and read budgets %d times", got, source.requested)
	}
	optIn(o)
	source.tell("team")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"team/budget/store", "team/store"}, slices.Compact(got)); diff != "" {
		t.Errorf("after it opted in (-want +got):\n%s", diff)
	}
	opted := o.Groups("team") // these groups are enqueued when the namespace opts in
	if !slices.Contains(opted, evicted) || !slices.Contains(opted, store) {
		t.Errorf("evaluated %v", opted)
	}
}

func TestLabelsAreReadOnceForHoweverManyBudgets(t *testing.T) {
	o := newObserver(t, unreachable)
	many := map[string]string{}
	for i := range 200 {
		many[fmt.Sprint("label-", i)] = "x"
	}
	show(o, newSet("covered", func(s *appsv1.StatefulSet) { s.Labels, s.Spec.Template.Labels = many, many }))
	cost := func(budgets int) float64 {
		source := &several{}
		for i := range budgets {
			source.all = append(source.all, group.DisruptionBudget{Name: fmt.Sprint("b-", i), Selector: group.Selector{{Key: "app", Demand: group.LabelExists}}})
		}
		o.budgets = source
		return testing.AllocsPerRun(10, func() { o.GroupsIn("team") })
	}
	if one, hundred := cost(1), cost(100); hundred > 2*one {
		t.Errorf("%v allocations for a hundred budgets, %v for one", hundred, one)
	}
}

// several contains the budgets of every namespace.
type several struct {
	budgets
	all []group.DisruptionBudget
}

func (s *several) Budgets(string) []group.DisruptionBudget { return s.all }
