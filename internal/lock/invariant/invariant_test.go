package invariant_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// Two available zones whose pods are outdated.
const healthy = `
hold rollout/zone-a
zone-a rev=2 current=1
  zone-a-0 ready@1   zone-a-1 ready@1
zone-b rev=2 current=1
  zone-b-0 ready@1   zone-b-1 ready@1
`

type violation struct {
	rule     string // the only broken rule; empty for none
	group    string
	deletes  []plan.DeletePod
	decision hold.Decision
}

const scalingDown = `
hold downscale/zone-b
  downscale zone-b from 2 to 1 admitted own
zone-a rev=1
  zone-a-0 ready@1
zone-b rev=1
  zone-b-0 ready@1   zone-b-1 ready@1
`

const delayed = `
hold downscale/zone-b
  downscale zone-b from 2 to 1 admitted own
  acknowledged zone-b 1 to 2 1h ago
zone-b rev=1 mirror=web scale=1 delay=1h
  zone-b-0 ready@1
  zone-b-1 ready@1
  notified leave zone-b-1 ago=1h
`

var lower = group.SetReplicas{Zone: "zone-b", UID: "zone-b", Version: 10, From: 2, To: 1}

func TestChangesOfReplicas(t *testing.T) {
	change := func(edit func(*group.SetReplicas)) group.SetReplicas {
		a := lower
		edit(&a)
		return a
	}
	for sentence, tc := range map[string]struct {
		rule, group string
		sizes       []plan.Action
	}{
		"the recorded downscale":                                              {"", scalingDown, []plan.Action{lower}},
		"a scale-up without a hold":                                           {"", "zone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1", []plan.Action{change(func(a *group.SetReplicas) { a.To = 9 })}},
		"a downscale without a live read":                                     {"ConfirmedFirst", scalingDown, []plan.Action{lower}},
		"a downscale that is not recorded":                                    {"DownscaleRecorded", "zone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1", []plan.Action{lower}},
		"a downscale of another client":                                       {"DownscaleRecorded", strings.Replace(scalingDown, " own", "", 1), []plan.Action{lower}},
		"a downscale that is being prepared":                                  {"DownscaleRecorded", strings.Replace(scalingDown, "admitted", "preparing", 1), []plan.Action{lower}},
		"a downscale beyond the recorded number of replicas":                  {"DownscaleRecorded", scalingDown, []plan.Action{change(func(a *group.SetReplicas) { a.To = 0 })}},
		"a downscale under the hold of another operation":                     {"DownscaleRecorded", strings.Replace(scalingDown, "hold downscale/zone-b", "hold rollout/zone-b", 1), []plan.Action{lower}},
		"a downscale while another zone is unavailable":                       {"DownscaleSparesOtherZones", strings.Replace(scalingDown, "zone-a-0 ready", "zone-a-0 starting", 1), []plan.Action{lower}},
		"a downscale of an unavailable pod while another zone is unavailable": {"", strings.NewReplacer("zone-a-0 ready", "zone-a-0 starting", "zone-b-1 ready", "zone-b-1 starting").Replace(scalingDown), []plan.Action{lower}},
		"a pod that was not called": {
			"PreparedFirst", strings.NewReplacer("zone-b rev=1", "zone-b rev=1 prepares", "zone-b-1 ready@1", "zone-b-1 ready@1 ip=10.0.0.1").Replace(scalingDown), []plan.Action{lower},
		},
		"a pod whose delay has passed":                            {"", delayed, []plan.Action{lower}},
		"a pod whose recorded delay has not passed":               {"DelayKept", strings.Replace(delayed, "1 to 2 1h", "1 to 2 59m", 1), []plan.Action{lower}},
		"a pod that is not recorded":                              {"DelayKept", strings.Replace(delayed, "1 to 2 1h", "0 to 1 1h", 1), []plan.Action{lower}},
		"a pod that replaced the recorded pod":                    {"DelayKept", strings.Replace(delayed, "1h ago", "1h ago of=abcdef", 1), []plan.Action{lower}},
		"a pod that is to stay":                                   {"DelayKept", strings.Replace(delayed, "1h ago", "1h ago over", 1), []plan.Action{lower}},
		"a pod acknowledged through another call":                 {"DelayKept", strings.Replace(delayed, "ago=1h", "ago=1h by=/former", 1), []plan.Action{lower}},
		"a pod recorded with another call":                        {"DelayKept", strings.Replace(delayed, "1h ago", "1h ago by=/former", 1), []plan.Action{lower}},
		"a pod whose own time says that its delay has not passed": {"DelayKept", strings.Replace(delayed, "ago=1h", "ago=1h stamp=59m", 1), []plan.Action{lower}},
		"a pod that was notified to stay":                         {"DelayKept", strings.Replace(delayed, "notified leave", "notified stay", 1), []plan.Action{lower}},
		"a pod that declined":                                     {"DelayKept", strings.Replace(delayed, "ago=1h", "ago=1h failed=no", 1), []plan.Action{lower}},
		"a pod that is being called":                              {"DelayKept", strings.Replace(delayed, "ago=1h", "ago=1h underway", 1), []plan.Action{lower}},
		"a pod that was restarted since":                          {"DelayKept", strings.Replace(delayed, "notified leave zone-b-1", "notified leave zone-b-1 restarted", 1), []plan.Action{lower}},
		"a missing pod":                                           {"DelayKept", strings.NewReplacer("  zone-b-1 ready@1\n", "", "rev=1 mirror", "rev=1 replicas=2 mirror", "  notified leave zone-b-1 ago=1h\n", "").Replace(delayed), []plan.Action{lower}},
		"a delay that cannot be read":                             {"DelayKept", strings.Replace(delayed, "delay=1h", "delay=soon", 1), []plan.Action{lower}},

		"a StatefulSet at another version": {"ExactSize", "zone-b rev=1 version=11\n zone-b-0 ready@1", []plan.Action{change(func(a *group.SetReplicas) { a.From, a.To = 1, 2 })}},
		"two changes of one StatefulSet":   {"ExactSize", scalingDown, []plan.Action{lower, lower}},
	} {
		t.Run(sentence, func(t *testing.T) {
			rule := ""
			if found := invariant.Check(fixture.MustParse(tc.group), tc.sizes, hold.Decision{Verify: tc.rule != "ConfirmedFirst"}); found != nil {
				rule = found.Name
			}
			if rule != tc.rule {
				t.Errorf("breaks %q, want %q", rule, tc.rule)
			}
		})
	}
}

var violations = map[string]violation{
	"a recorded disruption": {
		"", healthy, deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a repair without a record": {
		"", "zone-a rev=2\n zone-a-0 failing@1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"repairs in two zones": {
		"", "zone-a rev=2\n zone-a-0 failing@1\nzone-b rev=2\n zone-b-0 starting@1",
		deletes(repair("zone-a-0"), repair("zone-b-0")), hold.Decision{},
	},
	"repairs beyond the budget": {
		"", "zone-a rev=2\n zone-a-0 failing@1 zone-a-1 failing@1 zone-a-2 failing@1",
		deletes(repair("zone-a-0"), repair("zone-a-1")), hold.Decision{},
	},
	"disruptions beyond the budget for evictions": {
		"WithinBudget", strings.Replace(healthy, "hold rollout/zone-a\nzone-a rev=2 current=1", "zpdb a\nhold rollout/zone-a\nzone-a rev=2 current=1 budget=2", 1),
		deletes(disruption("zone-a-0"), disruption("zone-a-1")), recorded("zone-a-0", "zone-a-1"),
	},
	"two pods where budgets cannot be read": {
		"WithinBudget", strings.Replace(healthy, "hold rollout/zone-a\nzone-a rev=2 current=1", "zpdbs unread\nhold rollout/zone-a\nzone-a rev=2 current=1 budget=2", 1),
		deletes(disruption("zone-a-0"), disruption("zone-a-1")), recorded("zone-a-0", "zone-a-1"),
	},
	"a rollout under a budget that allows no evictions": {
		"", strings.Replace(healthy, "hold rollout", "zpdb a limit=0\nhold rollout", 1), deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while a pod of another zone is recorded": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-b-0\n", 1),
		deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption during a downscale of another zone": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "downscale/zone-b\n  downscale zone-b from 3 to 2 admitted\n", 1),
		deletes(disruption("zone-a-0")), withDownscale(recorded("zone-a-0"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a downscale that ends with its last pod": {
		"", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a downscale that ends by caches alone": {
		"DownscaleKept", "hold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a downscale that ends before its last pod": {
		"DownscaleKept", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1", nil, writing(""),
	},
	"a downscale that ends while it can still happen": {
		"DownscaleKept", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1", nil, writing(""),
	},
	"a downscale recorded over the hold of another zone": {
		"DownscaleAlone", healthy, nil, withDownscale(writing("downscale/zone-b"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a downscale recorded while a pod of another zone is recorded": {
		"DownscaleAlone", strings.Replace(healthy, "rollout/zone-a\n", "free\n  intent zone-a-0\n", 1), nil,
		withDownscale(writing("downscale/zone-b"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a hold from outside that a recorded downscale replaces": {
		"OutsideKept", "live\nhold manual/maintenance\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1", nil,
		withDownscale(writing("downscale/zone-a"), fixture.Shrinking("zone-a", 2, 1, group.Undoing)),
	},
	"a hold from outside that is released": {
		"OutsideKept", "live\nhold manual/maintenance\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a hold from outside that gets more time": {
		"OutsideKept", "live\nhold manual/maintenance\nzone-a rev=1\n zone-a-0 ready@1", nil, writing("manual/maintenance"),
	},
	"a hold from outside that is removed": {
		"OutsideKept", "live\nhold manual/maintenance", nil, hold.Decision{Need: hold.Remove},
	},
	"a hold from outside that has expired": {
		"", "live\nhold manual/maintenance renewed 5m ago\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a disruption without a record": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), hold.Decision{},
	},
	"a zone that left is forgotten while its pods exist": {
		"ZonesKept", "live\norphaned zone-c\n zone-c-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone that left is forgotten by caches alone": {
		"ZonesKept", "deleted zone-c\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone outside of the group is forgotten while a pod of it is not ready": {
		"ZonesKept", "live\nrelabelled zone-c rev=1\n zone-c-0 starting@1\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone that was deleted with its pods is forgotten": {
		"", "live\ndeleted zone-c\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a disruption while a zone that left may return": {
		"OtherZonesAvailable", "live\n" + healthy + "orphaned zone-c\n zone-c-0 ready@1\n", deletes(disruption("zone-a-0")), withMember("zone-c", recorded("zone-a-0")),
	},
	"a hold of a newer version is taken over while it records a pod": {
		"OutsideKept", "live\nhold progressive/web renewed 5m ago unrenewed=5m\n intent zone-a-0 uid=former version=5\nzone-a rev=1\n zone-a-0 ready@1 version=20", nil, writing(""),
	},
	"a hold of a newer version is taken over while its renewals are seen": {
		"OutsideKept", "live\nhold progressive/web renewed 5m ago unrenewed=59s\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a hold of a newer version that is over": {
		"", "live\nhold progressive/web renewed 5m ago unrenewed=1m\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a disruption with a record of another pod": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), recorded("zone-a-1"),
	},
	"a disruption with a record of another version": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), writing("rollout/zone-a", fixture.IntentAt("zone-a-0", "zone-a-0", 9)),
	},
	"a disruption with a record of another UID": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), writing("rollout/zone-a", fixture.IntentAt("zone-a-0", "former", 10)),
	},
	"a disruption under the hold of another zone": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), writing("rollout/zone-b", fixture.IntentOf("zone-a-0")),
	},
	"a disruption under the hold of another operation": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), writing("downscale/zone-a", fixture.IntentOf("zone-a-0")),
	},
	"a disruption while the Lease is to be removed": {
		"RecordedFirst", healthy, deletes(disruption("zone-a-0")), hold.Decision{Need: hold.Remove, Record: recorded("zone-a-0").Record},
	},
	"a disruption while a pod of another zone starts": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready", "zone-b-1 starting", 1), deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while a pod of another zone is missing": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready@1", "", 1) + "zone-c rev=1 replicas=1\n", deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while a pod of another zone terminates": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready", "zone-b-1 terminating", 1), deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while a pod of another zone is not available yet": {
		"OtherZonesAvailable", healthy + "zone-c rev=1 minReady=10s\n  zone-c-0 ready@1 for=9s\n", deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while a surplus pod and a missing pod add up in another zone": {
		"OtherZonesAvailable", healthy + "zone-c rev=1 replicas=1 start=1\n  zone-c-0 ready@1\n", deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a repair while a zone has another strategy": {
		"OnDeleteOnly", "zone-a rev=2\n zone-a-0 failing@1\nzone-b rev=2 strategy=RollingUpdate\n zone-b-0 ready@2", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a repair in a paused zone": {
		"NotPaused", "zone-a rev=2 paused\n zone-a-0 failing@1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a disruption without a live read": {
		"ConfirmedFirst", healthy, deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a repair without a live read": {
		"ConfirmedFirst", "zone-a rev=2\n zone-a-0 failing@1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"two disruptions with a budget of one pod": {
		"WithinBudget", healthy, deletes(disruption("zone-a-0"), disruption("zone-a-1")), recorded("zone-a-0", "zone-a-1"),
	},
	"a disruption of a pod that is not available yet": {
		"", "zone-a rev=2 minReady=1m\n zone-a-0 ready@1 for=10s zone-a-1 ready@1", deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption of a pod that is not available yet, in addition to another such pod": {
		"WithinBudget", "zone-a rev=2 minReady=1m\n zone-a-0 ready@1 for=10s zone-a-1 ready@1 for=10s", deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while another pod of its zone is not ready": {
		"WithinBudget", "zone-a rev=2\n zone-a-0 starting@2 zone-a-1 ready@1", deletes(disruption("zone-a-1")), recorded("zone-a-1"),
	},
	"a disruption while another pod of its zone is missing": {
		"WithinBudget", "zone-a rev=2 replicas=2\n zone-a-1 ready@1", deletes(disruption("zone-a-1")), recorded("zone-a-1"),
	},
	"a disruption while a pod beyond the spec is recorded": {
		"WithinBudget", "hold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1", deletes(disruption("zone-a-0")), recorded("zone-a-0", "zone-a-1"),
	},
	"a disruption while a deleted pod is recorded that a cached spec does not request": {
		"WithinBudget", "hold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2\n zone-a-0 ready@1", deletes(disruption("zone-a-0")), recorded("zone-a-0", "zone-a-1"),
	},
	"a disruption while a deleted pod is recorded that a live spec does not request": {
		"", "live\nhold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2\n zone-a-0 ready@1", deletes(disruption("zone-a-0")), recorded("zone-a-0", "zone-a-1"),
	},
	"a disruption while a deleted pod of another zone is recorded that a cached spec does not request": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-b-2\n", 1),
		deletes(disruption("zone-a-0")), recorded("zone-a-0"),
	},
	"a disruption while another pod of its zone is recorded": {
		"WithinBudget", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-a-0 version=20\n", 1),
		deletes(disruption("zone-a-1")), recorded("zone-a-0", "zone-a-1"),
	},
	"a delete of another version": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 version=11", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a delete of another UID": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 uid=new", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a delete of a terminating pod": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 terminating@1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a delete of a pod that is not adopted yet": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 adopted=no", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a delete of a missing pod": {
		"ExactTarget", "zone-a rev=2 replicas=1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a delete of a stray": {
		"ExactTarget", "zone-b rev=2\nstray zone-a-0 failing@1", deletes(repair("zone-a-0")), hold.Decision{},
	},
	"a disruption that claims to be a repair": {
		"ExactTarget", healthy, deletes(repair("zone-a-0")), hold.Decision{},
	},
}

func TestEveryRuleCanBeBrokenAlone(t *testing.T) {
	covered := map[string]bool{}
	for sentence, v := range violations {
		covered[v.rule] = true
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(v.group)
			v.decision.Verify = v.rule != "ConfirmedFirst"
			got := strings.Join(invariant.Broken(s, v.deletes, v.decision), ", ")
			if got != v.rule {
				t.Errorf("breaks %q, want %q", got, v.rule)
			}
			found := invariant.Check(s, actions(v.deletes), v.decision)
			switch {
			case v.rule == "" && found != nil:
				t.Errorf("Check found %v", found)
			case v.rule != "" && (found == nil || found.Name != v.rule || found.Detail == ""):
				t.Errorf("Check found %v, want %s with a detail", found, v.rule)
			case found != nil && !strings.HasPrefix(found.Error(), v.rule+": "):
				t.Errorf("the error does not name the rule: %v", found)
			}
		})
	}
	for _, rule := range []string{"DownscaleRecorded", "DownscaleSparesOtherZones", "PreparedFirst", "DelayKept", "ExactSize"} {
		covered[rule] = true // in TestChangesOfReplicas
	}
	for _, rule := range invariant.Rules() {
		aboutEvictions := strings.Contains(rule.Name, "Grant") // in TestEveryRuleAboutEvictionsCanBeBrokenAlone
		if !covered[rule.Name] && !aboutEvictions {
			t.Errorf("no case breaks %s", rule.Name)
		}
	}
}

func TestDisruptionsInTwoZonesAreFoundWhateverIsRecorded(t *testing.T) {
	s := fixture.MustParse(healthy)
	both := deletes(disruption("zone-a-0"), disruption("zone-b-0"))
	found := invariant.Check(s, actions(both), recorded("zone-a-0", "zone-b-0"))
	if found == nil || found.Name != "OneZoneAtATime" {
		t.Errorf("found %v", found)
	}
}

func TestAPlanThatNeedsALiveReadIsNotJudged(t *testing.T) {
	s := fixture.MustParse(healthy)
	if found := invariant.Check(s, actions(deletes(disruption("zone-a-0"))), hold.Decision{Need: hold.ReadLive}); found != nil {
		t.Errorf("found %v", found)
	}
}

func TestWaitsAndOtherStepsBreakNothing(t *testing.T) {
	s := fixture.MustParse(healthy)
	steps := []plan.Action{
		plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.Paused}},
		plan.CancelDeletion{Intent: fixture.IntentOf("zone-a-0")}, plan.Release{Holder: "rollout/zone-a"},
		group.AdoptRevision{Zone: "zone-a", Revision: "2"},
	}
	if found := invariant.Check(s, steps, hold.Decision{}); found != nil {
		t.Errorf("found %v", found)
	}
}

func TestEveryRuleHasANameAGuaranteeAndAStatement(t *testing.T) {
	seen := map[string]bool{}
	last := 1
	for _, rule := range invariant.Rules() {
		if rule.Name == "" || rule.Statement == "" || seen[rule.Name] {
			t.Errorf("rule without name or statement, or twice: %q, %q", rule.Name, rule.Statement)
		}
		if rule.Guarantee < last || rule.Guarantee > 10 {
			t.Errorf("%s is out of order: guarantee %d after %d", rule.Name, rule.Guarantee, last)
		}
		seen[rule.Name], last = true, rule.Guarantee
	}
	rules := invariant.Rules()
	rules[0] = invariant.Rule{}
	if diff := cmp.Diff(invariant.Rules()[0].Name, "OneZoneAtATime"); diff != "" {
		t.Errorf("the catalogue can be changed from outside: %s", diff)
	}
}

func deletes(all ...plan.DeletePod) []plan.DeletePod { return all }

func disruption(pod string) plan.DeletePod {
	return plan.DeletePod{Zone: pod[:len(pod)-2], Pod: pod, UID: pod, Version: 10, Up: true, Because: reason.OutdatedRevision}
}

func repair(pod string) plan.DeletePod {
	d := disruption(pod)
	d.Up, d.Because = false, reason.OutdatedAndUnavailable
	return d
}

// recorded returns the decision to write the hold of zone-a's rollout with intents for these pods.
func recorded(pods ...string) hold.Decision {
	var intents []plan.Intent
	for _, pod := range pods {
		intents = append(intents, fixture.IntentOf(pod))
	}
	return writing(plan.RolloutOperation.For("zone-a"), intents...)
}

func writing(holder plan.Holder, intents ...plan.Intent) hold.Decision {
	return hold.Decision{Need: hold.Write, Record: group.Hold{Hold: plan.Hold{Exists: true, Own: true, Holder: holder, Intents: intents}}.Record()}
}

func actions(deletes []plan.DeletePod) []plan.Action {
	steps := make([]plan.Action, len(deletes))
	for i, d := range deletes {
		steps[i] = d
	}
	return steps
}

// withDownscale adds a downscale to the record of a decision.
func withDownscale(d hold.Decision, downscale group.Downscale) hold.Decision {
	held := group.HoldOf(d.Record)
	held.Downscale = downscale
	d.Record = held.Record()
	return d
}

// withMember adds a zone to the record of a decision.
func withMember(zone string, d hold.Decision) hold.Decision {
	held := group.HoldOf(d.Record)
	held.Members = []group.Member{{Zone: zone, UID: zone}}
	d.Record = held.Record()
	return d
}
