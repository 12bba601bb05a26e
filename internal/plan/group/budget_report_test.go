package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// tallies prints the number of allowed evictions of a report and of each of its parts.
func tallies(r group.BudgetReport) string {
	text := fmt.Sprintf("%d in %s", r.Allowed, strings.Join(r.Groups, ","))
	if len(r.Rivals) > 0 {
		text += ", also covered by " + strings.Join(r.Rivals, ",")
	}
	for _, part := range slices.Concat(r.Zones, r.Partitions) {
		text += fmt.Sprintf("; %s: %d of %d down, %d", part.Name, part.Unavailable, part.Pods, part.Allowed)
	}
	if !r.Until.IsZero() {
		text += "; until " + r.Until.Format(time.TimeOnly)
	}
	return text
}

// Each case is a group, and the expected report about its first budget.
func TestStatusOfABudget(t *testing.T) {
	partitions := `zpdb store regex="zone-[a-c]-([0-9]+)"`
	for sentence, tc := range map[string]struct{ group, want string }{
		"one pod of one zone":                      {"zpdb store\n" + three, "1 in store; zone-a: 0 of 3 down, 1; zone-b: 0 of 3 down, 1; zone-c: 0 of 3 down, 1"},
		"as many as the limit":                     {"zpdb store limit=2\n" + three, "2 in store; zone-a: 0 of 3 down, 2; zone-b: 0 of 3 down, 2; zone-c: 0 of 3 down, 2"},
		"no more than the pods of a zone":          {"zpdb store limit=9\n" + three, "3 in store; zone-a: 0 of 3 down, 3; zone-b: 0 of 3 down, 3; zone-c: 0 of 3 down, 3"},
		"a limit of 0":                             {"zpdb store limit=0\n" + three, "0 in store; zone-a: 0 of 3 down, 0; zone-b: 0 of 3 down, 0; zone-c: 0 of 3 down, 0"},
		"fewer while a pod is missing":             {"zpdb store limit=2\nzone-a rev=1 replicas=3\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "1 in store; zone-a: 1 of 3 down, 1; zone-b: 0 of 1 down, 0"},
		"no eviction in a zone without pods":       {"zpdb store\nzone-a rev=1 replicas=2\nzone-b rev=1\n zone-b-0 ready@1\n", "0 in store; zone-a: 2 of 2 down, 0; zone-b: 0 of 1 down, 0"},
		"a budget that covers no pod":              {"zpdb store select=\"app=store\"\n" + three, ""},
		"a budget that cannot be used":             {"zpdb store invalid=\"no limit\"\n" + three, "0 in store; zone-a: 0 of 3 down, 0; zone-b: 0 of 3 down, 0; zone-c: 0 of 3 down, 0"},
		"another budget that covers the same pods": {"zpdb one\nzpdb two limit=3\n" + three, "0 in store, also covered by two; zone-a: 0 of 3 down, 0; zone-b: 0 of 3 down, 0; zone-c: 0 of 3 down, 0"},
		"no eviction while a rollout of a zone has the hold": {
			"zpdb store\nhold rollout/zone-b\n intent zone-b-1\n" + three, "0 in store; zone-a: 0 of 3 down, 0; zone-b: 1 of 3 down, 0; zone-c: 0 of 3 down, 0",
		},
		"partitions one by one": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1\n",
			"1 in store; zone-a: 1 of 2 down, 1; zone-b: 0 of 2 down, 1; 0: 0 of 2 down, 1; 1: 1 of 2 down, 0",
		},
		"partitions in natural order, missing ones too": {
			partitions + "\nzone-a rev=1 replicas=11\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1\nzone-b rev=1 replicas=3\n zone-b-0 ready@1 zone-b-1 ready@1 zone-b-10 starting@1\n",
			"2 in store; zone-a: 8 of 11 down, 2; zone-b: 1 of 3 down, 2; 0: 0 of 2 down, 1; 1: 0 of 2 down, 1; 2: 1 of 2 down, 0; 10: 1 of 1 down, 0",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(flush(tc.group))
			s.Key.Name = "store"
			got := group.ReportBudgets(s.Budgets, []group.Snapshot{s})
			want := tc.want
			if want == "" {
				want = "0 in "
			}
			if text := tallies(got[0]); text != want {
				t.Errorf("got %q\nwant %q", text, want)
			}
		})
	}
}

func TestPartsOfSeveralGroupsAreAddedUp(t *testing.T) {
	a := fixture.MustParse(`zpdb store regex="[a-z-]*-([0-9]+)"` + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n")
	b := fixture.MustParse("zone-c rev=1\n zone-c-0 starting@1\nzone-d rev=1\n zone-d-0 ready@1\n")
	a.Key.Name, b.Key.Name = "group-10", "group-9"
	got := group.ReportBudgets(a.Budgets, []group.Snapshot{a, b})
	want := "1 in group-9,group-10; zone-a: 0 of 1 down, 1; zone-b: 0 of 1 down, 1; zone-c: 1 of 1 down, 0; zone-d: 0 of 1 down, 0; 0: 1 of 4 down, 1"
	if diff := cmp.Diff(want, tallies(got[0])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestABudgetAllowsNoMoreThanTheHoldHasRoomFor(t *testing.T) {
	s := ofSize(3 * 150)
	s.Zones[2].Pods[0].Phase = plan.Ready
	for mode, budget := range map[string]group.DisruptionBudget{
		"zones":      {Name: "store", Limit: 150},
		"partitions": {Name: "store", Limit: 3, Partition: fixture.Partitions(`zone-[a-c]-([0-9]+)`), Group: 1},
	} {
		got := group.ReportBudgets([]group.DisruptionBudget{budget}, []group.Snapshot{s})[0]
		if got.Allowed != plan.MaxIntents || got.Zones[0].Allowed != plan.MaxIntents {
			t.Errorf("%s: %d, of them %d in a zone, want %d", mode, got.Allowed, got.Zones[0].Allowed, plan.MaxIntents)
		}
	}
}

func TestAPodThatIsNotReadyForLongCountsOnce(t *testing.T) {
	s := fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\nzone-c rev=1\n zone-c-0 ready@1\n")
	budget := group.DisruptionBudget{Name: "store", Limit: 3, Partition: fixture.Partitions(`zone-[a-c]-([0-9]+)`), Group: 1, Delay: time.Hour}
	for i, since := range []time.Duration{2 * time.Hour, time.Minute, 2 * time.Hour} {
		s.Zones[i].Pods[0].ReadySince = s.Now.Add(-since)
	}
	if got := group.ReportBudgets([]group.DisruptionBudget{budget}, []group.Snapshot{s})[0]; got.Partitions[0].Allowed != 3 {
		t.Errorf("got %+v, want 3 of partition 0", got)
	}
	budget.Limit = 1
	got := group.ReportBudgets([]group.DisruptionBudget{budget}, []group.Snapshot{s})[0]
	if want := s.Now.Add(59 * time.Minute); got.Allowed != 1 || !got.Until.Equal(want) {
		t.Errorf("got %+v, want the fresh one alone until %s", got, want)
	}
}

// drawBudgets draws one or two budgets for evictions.
func drawBudgets(t *rapid.T) []group.DisruptionBudget {
	budgets := []group.DisruptionBudget{{Name: "store", Limit: rapid.IntRange(0, 3).Draw(t, "limit")}}
	b := &budgets[0]
	switch rapid.IntRange(0, 3).Draw(t, "counts") {
	case 0:
		b.Limit, b.Percentage = 0, rapid.IntRange(1, 100).Draw(t, "percentage")
	case 1, 2:
		b.Partition, b.Group = fixture.Partitions(rapid.SampledFrom([]string{`zone-[a-c]-([0-9]+)`, `zone-[a-c]-([0-2])`, `zone-(.)-[0-9]+`}).Draw(t, "regex")), 1
		b.Delay = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "delay")
	}
	if rapid.IntRange(0, 4).Draw(t, "rival") == 0 {
		only := group.Selector{{Key: "statefulset.kubernetes.io/pod-name", Demand: group.LabelIn, Values: []string{"zone-a-0", "zone-b-1"}}}
		budgets = append(budgets, group.DisruptionBudget{Name: "zz", Limit: 1, Selector: only})
	}
	return budgets
}

// granted evicts pods one after the other, in order, and returns how many evictions were allowed.
func granted(s group.Snapshot, pods []plan.Pod) (n int) {
	for _, pod := range pods {
		p := group.Evict(s, plan.EvictionRequest{Pod: pod.Name, UID: pod.UID})
		if !p.Allowed() || !p.NeedsRecord() {
			continue
		}
		n++
		holder := s.Hold.Holder
		if p.Record.Partition != "" || holder.Foreign() || holder.Zone() != p.Record.Zone {
			s.Hold.Holder = p.Record.Evicts()
		}
		others := slices.DeleteFunc(slices.Clone(s.Hold.Intents), func(i plan.Intent) bool { return i.Pod == pod.Name })
		s.Hold.Intents = append(others, p.Record)
	}
	return n
}

// agree compares the reported number with the number of granted evictions. If an operation waits,
// the first grant may give the turn to that operation.
func agree(s group.Snapshot, reported, granted int) bool {
	if len(s.Hold.Waiting) > 0 {
		return (reported > 0) == (granted > 0)
	}
	return reported == granted
}

// The new pod is Ready and not available yet. It counts as down already, in place of the deleted
// pod.
func TestABudgetAllowsTheEvictionOfAPodThatReplacesADeletedPod(t *testing.T) {
	s := fixture.MustParse(`
zpdb store limit=1
hold rollout/zone-a
  intent zone-a-0 uid=former version=5
zone-a rev=2 current=1 minReady=1m
  zone-a-0 ready@2 for=5s version=20 zone-a-1 ready@2 for=1h
zone-b rev=2
  zone-b-0 ready@2
`)
	permit := group.Evict(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"})
	if reported := group.ReportBudgets(s.Budgets, []group.Snapshot{s})[0].Allowed; !permit.Allowed() || reported != 1 {
		t.Errorf("reported %d, and the answer is %v", reported, permit)
	}
}

func TestABudgetAllowsAsManyEvictionsAsAreGranted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		s.Budgets = drawBudgets(t)
		show(t, s)
		report := group.ReportBudgets(s.Budgets, []group.Snapshot{s})[0]
		partitions := map[string][]plan.Pod{}
		if len(report.Groups) == 0 && !slices.ContainsFunc(s.Zones, func(z group.Zone) bool { return len(z.Pods) > 0 }) {
			return // it is unknown what the budget covers
		}
		for _, z := range s.Zones {
			part := slices.IndexFunc(report.Zones, func(p group.BudgetPart) bool { return p.Name == z.Name })
			if part < 0 {
				t.Fatalf("%s is not reported", z.Name)
			}
			for _, pod := range z.Pods {
				if partition, known := s.Budgets[0].PartitionOf(pod.Name); known {
					partitions[partition] = append(partitions[partition], pod)
				}
			}
			if got, want := report.Zones[part].Allowed, granted(s, z.Pods); !agree(s, got, want) {
				t.Errorf("%s: reported %d, granted %d", z.Name, got, want)
			}
		}
		if s.Budgets[0].ByPartition() && len(report.Partitions) != len(partitions) {
			t.Errorf("reported %d partitions, want %d", len(report.Partitions), len(partitions))
		}
		for _, part := range report.Partitions {
			if got, want := part.Allowed, granted(s, partitions[part.Name]); !agree(s, got, want) {
				t.Errorf("partition %s: reported %d, granted %d", part.Name, got, want)
			}
		}
	})
}

func TestReportsAboutBudgetsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		s.Budgets = drawBudgets(t)
		before := plan.Notation(group.Plan(s))
		first := group.ReportBudgets(s.Budgets, []group.Snapshot{s})
		if diff := cmp.Diff(first, group.ReportBudgets(s.Budgets, []group.Snapshot{s})); diff != "" {
			t.Errorf("another report (-first +second):\n%s", diff)
		}
		if after := plan.Notation(group.Plan(s)); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// BenchmarkReportBudgets reports one budget in groups of that many pods.
func BenchmarkReportBudgets(b *testing.B) {
	for _, pods := range []int{30, 300, 5000} {
		for mode, budget := range map[string]group.DisruptionBudget{
			"zones":      {Name: "store", Limit: 1},
			"partitions": {Name: "store", Limit: 1, Partition: fixture.Partitions(`zone-[a-c]-([0-9]+)`), Group: 1},
		} {
			b.Run(fmt.Sprintf("%d pods by %s", pods, mode), func(b *testing.B) {
				s := ofSize(pods)
				for b.Loop() {
					group.ReportBudgets([]group.DisruptionBudget{budget}, []group.Snapshot{s})
				}
			})
		}
	}
}
