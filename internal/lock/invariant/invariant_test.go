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

const shrinking = `
hold downscale/zone-b
  downscale zone-b from 2 to 1 admitted own
zone-a rev=1
  zone-a-0 ready@1
zone-b rev=1
  zone-b-0 ready@1   zone-b-1 ready@1
`

const waiting = `
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
		"the decrease that is noted":         {"", shrinking, []plan.Action{lower}},
		"an increase needs no hold":          {"", "zone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1", []plan.Action{change(func(a *group.SetReplicas) { a.To = 9 })}},
		"a downscale without a further read": {"ConfirmedFirst", shrinking, []plan.Action{lower}},
		"a decrease that is not noted":       {"DownscaleRecorded", "zone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1", []plan.Action{lower}},
		"a downscale of another client":      {"DownscaleRecorded", strings.Replace(shrinking, " own", "", 1), []plan.Action{lower}},
		"a decrease that is being prepared":  {"DownscaleRecorded", strings.Replace(shrinking, "admitted", "preparing", 1), []plan.Action{lower}},
		"further than noted":                 {"DownscaleRecorded", shrinking, []plan.Action{change(func(a *group.SetReplicas) { a.To = 0 })}},
		"under another hold":                 {"DownscaleRecorded", strings.Replace(shrinking, "hold downscale/zone-b", "hold rollout/zone-b", 1), []plan.Action{lower}},
		"while another zone is not whole":    {"DownscaleSparesOtherZones", strings.Replace(shrinking, "zone-a-0 ready", "zone-a-0 starting", 1), []plan.Action{lower}},
		"who is down leaves nevertheless":    {"", strings.NewReplacer("zone-a-0 ready", "zone-a-0 starting", "zone-b-1 ready", "zone-b-1 starting").Replace(shrinking), []plan.Action{lower}},
		"a pod that was not called": {
			"PreparedFirst", strings.NewReplacer("zone-b rev=1", "zone-b rev=1 prepares", "zone-b-1 ready@1", "zone-b-1 ready@1 ip=10.0.0.1").Replace(shrinking), []plan.Action{lower},
		},
		"who has waited":                         {"", waiting, []plan.Action{lower}},
		"who has not waited by the hold":         {"DelayKept", strings.Replace(waiting, "1 to 2 1h", "1 to 2 59m", 1), []plan.Action{lower}},
		"who is not noted":                       {"DelayKept", strings.Replace(waiting, "1 to 2 1h", "0 to 1 1h", 1), []plan.Action{lower}},
		"who replaced the one who is noted":      {"DelayKept", strings.Replace(waiting, "1h ago", "1h ago of=abcdef", 1), []plan.Action{lower}},
		"who is to stay":                         {"DelayKept", strings.Replace(waiting, "1h ago", "1h ago over", 1), []plan.Action{lower}},
		"who agreed by another call":             {"DelayKept", strings.Replace(waiting, "ago=1h", "ago=1h by=/former", 1), []plan.Action{lower}},
		"who is noted by another call":           {"DelayKept", strings.Replace(waiting, "1h ago", "1h ago by=/former", 1), []plan.Action{lower}},
		"who has not waited by himself":          {"DelayKept", strings.Replace(waiting, "ago=1h", "ago=1h stamp=59m", 1), []plan.Action{lower}},
		"who was told to stay":                   {"DelayKept", strings.Replace(waiting, "notified leave", "notified stay", 1), []plan.Action{lower}},
		"who did not agree":                      {"DelayKept", strings.Replace(waiting, "ago=1h", "ago=1h failed=no", 1), []plan.Action{lower}},
		"who is asked":                           {"DelayKept", strings.Replace(waiting, "ago=1h", "ago=1h underway", 1), []plan.Action{lower}},
		"who was restarted since":                {"DelayKept", strings.Replace(waiting, "notified leave zone-b-1", "notified leave zone-b-1 restarted", 1), []plan.Action{lower}},
		"who is absent":                          {"DelayKept", strings.NewReplacer("  zone-b-1 ready@1\n", "", "rev=1 mirror", "rev=1 replicas=2 mirror", "  notified leave zone-b-1 ago=1h\n", "").Replace(waiting), []plan.Action{lower}},
		"pods that leave by an unreadable delay": {"DelayKept", strings.Replace(waiting, "delay=1h", "delay=soon", 1), []plan.Action{lower}},

		"at another version": {"ExactSize", "zone-b rev=1 version=11\n zone-b-0 ready@1", []plan.Action{change(func(a *group.SetReplicas) { a.From, a.To = 1, 2 })}},
		"twice at a time":    {"ExactSize", shrinking, []plan.Action{lower, lower}},
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
	"a takedown that is noted breaks nothing": {
		"", healthy, deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a repair needs no note": {
		"", "zone-a rev=2\n zone-a-0 failing@1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"repairs in two zones are no takedowns": {
		"", "zone-a rev=2\n zone-a-0 failing@1\nzone-b rev=2\n zone-b-0 starting@1",
		deletes(down("zone-a-0"), down("zone-b-0")), hold.Decision{},
	},
	"a repair beyond the budget costs nothing": {
		"", "zone-a rev=2\n zone-a-0 failing@1 zone-a-1 failing@1 zone-a-2 failing@1",
		deletes(down("zone-a-0"), down("zone-a-1")), hold.Decision{},
	},
	"a takedown beyond the budget of evictions": {
		"WithinBudget", strings.Replace(healthy, "hold rollout/zone-a\nzone-a rev=2 current=1", "zpdb a\nhold rollout/zone-a\nzone-a rev=2 current=1 budget=2", 1),
		deletes(up("zone-a-0"), up("zone-a-1")), noted("zone-a-0", "zone-a-1"),
	},
	"two pods where budgets cannot be read": {
		"WithinBudget", strings.Replace(healthy, "hold rollout/zone-a\nzone-a rev=2 current=1", "zpdbs unread\nhold rollout/zone-a\nzone-a rev=2 current=1 budget=2", 1),
		deletes(up("zone-a-0"), up("zone-a-1")), noted("zone-a-0", "zone-a-1"),
	},
	"a budget that allows no evictions says nothing about rollouts": {
		"", strings.Replace(healthy, "hold rollout", "zpdb a limit=0\nhold rollout", 1), deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown while another zone's pod is noted": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-b-0\n", 1),
		deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown beside a downscale of another zone": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "downscale/zone-b\n  downscale zone-b from 3 to 2 admitted\n", 1),
		deletes(up("zone-a-0")), beside(noted("zone-a-0"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a downscale that ends with its last pod breaks nothing": {
		"", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a downscale that ends on caches": {
		"DownscaleKept", "hold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a downscale that ends before its last pod": {
		"DownscaleKept", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1", nil, writing(""),
	},
	"a downscale that ends while it can still happen": {
		"DownscaleKept", "live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1", nil, writing(""),
	},
	"a downscale noted over the hold of another zone": {
		"DownscaleAlone", healthy, nil, beside(writing("downscale/zone-b"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a downscale noted while a pod of another zone is": {
		"DownscaleAlone", strings.Replace(healthy, "rollout/zone-a\n", "free\n  intent zone-a-0\n", 1), nil,
		beside(writing("downscale/zone-b"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a hold from outside that a downscale is noted over": {
		"OutsideKept", "live\nhold manual/maintenance\n downscale zone-a from 2 to 1 admitted version=9\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1", nil,
		beside(writing("downscale/zone-a"), fixture.Shrinking("zone-a", 2, 1, group.Undoing)),
	},
	"a hold from outside that is given back": {
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
	"a takedown without any note": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), hold.Decision{},
	},
	"a zone that left is forgotten while its pods live on": {
		"ZonesKept", "live\norphaned zone-c\n zone-c-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone that left is forgotten on caches": {
		"ZonesKept", "deleted zone-c\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone outside of the group is forgotten while a pod of it is down": {
		"ZonesKept", "live\nrelabelled zone-c rev=1\n zone-c-0 starting@1\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a zone that has gone with its pods is forgotten": {
		"", "live\ndeleted zone-c\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a takedown while a zone that left may come back": {
		"OtherZonesAvailable", "live\n" + healthy + "orphaned zone-c\n zone-c-0 ready@1\n", deletes(up("zone-a-0")), remembering("zone-c", noted("zone-a-0")),
	},
	"a hold of a newer version is taken over while it notes a pod": {
		"OutsideKept", "live\nhold progressive/web renewed 5m ago unrenewed=5m\n intent zone-a-0 uid=former version=5\nzone-a rev=1\n zone-a-0 ready@1 version=20", nil, writing(""),
	},
	"a hold of a newer version is taken over while its renewals are seen": {
		"OutsideKept", "live\nhold progressive/web renewed 5m ago unrenewed=59s\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a hold of a newer version that is over": {
		"", "live\nhold progressive/web renewed 5m ago unrenewed=1m\nzone-a rev=1\n zone-a-0 ready@1", nil, writing(""),
	},
	"a takedown whose note is of another pod": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), noted("zone-a-1"),
	},
	"a takedown whose note is of another version": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), writing("rollout/zone-a", fixture.IntentAt("zone-a-0", "zone-a-0", 9)),
	},
	"a takedown whose note is of another UID": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), writing("rollout/zone-a", fixture.IntentAt("zone-a-0", "former", 10)),
	},
	"a takedown under the hold of another zone": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), writing("rollout/zone-b", fixture.IntentOf("zone-a-0")),
	},
	"a takedown under the hold of another operation": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), writing("downscale/zone-a", fixture.IntentOf("zone-a-0")),
	},
	"a takedown while the Lease is to be removed": {
		"RecordedFirst", healthy, deletes(up("zone-a-0")), hold.Decision{Need: hold.Remove, Record: noted("zone-a-0").Record},
	},
	"a takedown while a pod of another zone starts": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready", "zone-b-1 starting", 1), deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown while a pod of another zone is missing": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready@1", "", 1) + "zone-c rev=1 replicas=1\n", deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown while a pod of another zone leaves": {
		"OtherZonesAvailable", strings.Replace(healthy, "zone-b-1 ready", "zone-b-1 terminating", 1), deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown while a pod of another zone is not stable": {
		"OtherZonesAvailable", healthy + "zone-c rev=1 minReady=10s\n  zone-c-0 ready@1 for=9s\n", deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a surplus pod does not stand in for a missing one": {
		"OtherZonesAvailable", healthy + "zone-c rev=1 replicas=1 start=1\n  zone-c-0 ready@1\n", deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a repair while a zone has another strategy": {
		"OnDeleteOnly", "zone-a rev=2\n zone-a-0 failing@1\nzone-b rev=2 strategy=RollingUpdate\n zone-b-0 ready@2", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a repair in a paused zone": {
		"NotPaused", "zone-a rev=2 paused\n zone-a-0 failing@1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a takedown without a further read": {
		"ConfirmedFirst", healthy, deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a repair without a further read": {
		"ConfirmedFirst", "zone-a rev=2\n zone-a-0 failing@1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"two takedowns with budget one": {
		"WithinBudget", healthy, deletes(up("zone-a-0"), up("zone-a-1")), noted("zone-a-0", "zone-a-1"),
	},
	"a takedown of a pod that is not available yet": {
		"", "zone-a rev=2 minReady=1m\n zone-a-0 ready@1 for=10s zone-a-1 ready@1", deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown of a pod that is not available yet, beside another one": {
		"WithinBudget", "zone-a rev=2 minReady=1m\n zone-a-0 ready@1 for=10s zone-a-1 ready@1 for=10s", deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown beside a pod that is down": {
		"WithinBudget", "zone-a rev=2\n zone-a-0 starting@2 zone-a-1 ready@1", deletes(up("zone-a-1")), noted("zone-a-1"),
	},
	"a takedown beside a missing pod": {
		"WithinBudget", "zone-a rev=2 replicas=2\n zone-a-1 ready@1", deletes(up("zone-a-1")), noted("zone-a-1"),
	},
	"a takedown beside a noted pod beyond the spec": {
		"WithinBudget", "hold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1", deletes(up("zone-a-0")), noted("zone-a-0", "zone-a-1"),
	},
	"a takedown beside a noted pod that is gone and that a cached spec does not ask for": {
		"WithinBudget", "hold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2\n zone-a-0 ready@1", deletes(up("zone-a-0")), noted("zone-a-0", "zone-a-1"),
	},
	"a takedown beside a noted pod that is gone and that a live spec does not ask for": {
		"", "live\nhold rollout/zone-a\n intent zone-a-1 version=5\nzone-a rev=2\n zone-a-0 ready@1", deletes(up("zone-a-0")), noted("zone-a-0", "zone-a-1"),
	},
	"a takedown while a pod of another zone is noted that is gone and that a cached spec does not ask for": {
		"OneZoneAtATime", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-b-2\n", 1),
		deletes(up("zone-a-0")), noted("zone-a-0"),
	},
	"a takedown beside a noted pod": {
		"WithinBudget", strings.Replace(healthy, "rollout/zone-a\n", "rollout/zone-a\n  intent zone-a-0 version=20\n", 1),
		deletes(up("zone-a-1")), noted("zone-a-0", "zone-a-1"),
	},
	"a delete of another version": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 version=11", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a delete of another UID": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 uid=new", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a delete of a pod that is leaving": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 terminating@1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a delete of a pod that is not adopted yet": {
		"ExactTarget", "zone-a rev=2\n zone-a-0 failing@1 adopted=no", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a delete of a pod that is not there": {
		"ExactTarget", "zone-a rev=2 replicas=1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a delete of a stray": {
		"ExactTarget", "zone-b rev=2\nstray zone-a-0 failing@1", deletes(down("zone-a-0")), hold.Decision{},
	},
	"a takedown that claims to be a repair": {
		"ExactTarget", healthy, deletes(down("zone-a-0")), hold.Decision{},
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
				t.Errorf("Check found %v, want %s and how", found, v.rule)
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
	both := deletes(up("zone-a-0"), up("zone-b-0"))
	found := invariant.Check(s, actions(both), noted("zone-a-0", "zone-b-0"))
	if found == nil || found.Name != "OneZoneAtATime" {
		t.Errorf("found %v", found)
	}
}

func TestAPlanThatNeedsALiveReadIsNotJudged(t *testing.T) {
	s := fixture.MustParse(healthy)
	if found := invariant.Check(s, actions(deletes(up("zone-a-0"))), hold.Decision{Need: hold.ReadLive}); found != nil {
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

func up(pod string) plan.DeletePod {
	return plan.DeletePod{Zone: pod[:len(pod)-2], Pod: pod, UID: pod, Version: 10, Up: true, Because: reason.OutdatedRevision}
}

func down(pod string) plan.DeletePod {
	d := up(pod)
	d.Up, d.Because = false, reason.OutdatedAndUnavailable
	return d
}

// noted returns the decision to write the hold of zone-a's rollout with intents for these pods.
func noted(pods ...string) hold.Decision {
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

// beside adds a downscale to the record of a decision.
func beside(d hold.Decision, downscale group.Downscale) hold.Decision {
	held := group.HoldOf(d.Record)
	held.Downscale = downscale
	d.Record = held.Record()
	return d
}

// remembering adds a zone to the record of a decision.
func remembering(zone string, d hold.Decision) hold.Decision {
	held := group.HoldOf(d.Record)
	held.Members = []group.Member{{Zone: zone, UID: zone}}
	d.Record = held.Record()
	return d
}
