package invariant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// Two available zones; one pod is to be evicted.
const drained = `
hold free
zone-a rev=1
  zone-a-0 ready@1   zone-a-1 ready@1
zone-b rev=1
  zone-b-0 ready@1   zone-b-1 ready@1
`

// Two zones that were recreated with other selectors while their pods exist.
const inTheWay = `
hold free
zone-a rev=1 replicas=2
  orphan zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=1 replicas=2
  zone-b-1 ready@1
  orphan zone-b-0 ready@1
`

// One zone of the two has moved to another group meanwhile.
const leftInTheWay = `
hold free
relabelled zone-b rev=1 replicas=2
  zone-b-1 ready@1
  orphan zone-b-0 ready@1
zone-a rev=1 replicas=2
  orphan zone-a-0 ready@1 zone-a-1 ready@1
`

const regex = `zpdb a regex="zone-[ab]-([0-9]+)"`

const byPartitions = `
zpdb a regex="zone-[ab]-([0-9]+)"
hold eviction/partitions
zone-a rev=1
  zone-a-0 ready@1   zone-a-1 ready@1
zone-b rev=1
  zone-b-0 ready@1   zone-b-1 ready@1
`

// The only zone of a group, whose partitions would take turns.
const alone = `
zpdb a regex="zone-[ab]-([0-9]+)"
hold eviction/partitions
zone-a rev=1
  zone-a-0 ready@1   zone-a-1 ready@1
`

type evicted struct {
	rule     string // the only broken rule; empty for none
	group    string
	permit   plan.EvictionAnswer
	decision hold.Decision
}

var evictions = map[string]evicted{
	"a recorded grant":                                             {"", drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant during a rollout of its zone":                         {"", with(drained, "hold free", "hold rollout/zone-a"), granted("zone-a-0"), evicting("rollout/zone-a", "zone-a-0")},
	"a grant during a rollout of another zone":                     {"GrantAlone", with(drained, "hold free", "hold rollout/zone-b"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant over the hold of an available zone after a live read": {"", "live" + with(drained, "hold free", "hold rollout/zone-b"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant while a pod of another zone is recorded":              {"GrantAlone", with(drained, "hold free", "hold free\n intent zone-b-0"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0", "zone-b-0")},
	"a grant during a downscale of another zone": {
		"GrantAlone", with(drained, "hold free", "hold eviction/zone-a\n downscale zone-b from 3 to 2 admitted"), granted("zone-a-0"),
		withDownscale(evicting("eviction/zone-a", "zone-a-0"), fixture.Shrinking("zone-b", 3, 2, group.Admitted)),
	},
	"a grant that the hold does not record":                {"GrantRecorded", drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-1")},
	"a grant under the hold of another zone":               {"GrantRecorded", drained, granted("zone-a-0"), evicting("eviction/zone-b", "zone-a-0")},
	"a grant without a write":                              {"GrantRecorded", drained, granted("zone-a-0"), hold.Decision{}},
	"a grant for the former pod of that name":              {"GrantRecorded", with(drained, "zone-a-0 ready@1", "zone-a-0 ready@1 uid=new"), grantedAs("zone-a-0", "new"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant whose record replaces another grant":          {"GrantKept", with(drained, "hold free", "zpdb a limit=2\nhold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant while a pod of another zone is not ready":     {"GrantSparesOtherZones", with(drained, "zone-b-1 ready", "zone-b-1 starting"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant while a pod of another zone is missing":       {"GrantSparesOtherZones", with(with(drained, "zone-b-1 ready@1", ""), "zone-b rev=1", "zone-b rev=1 replicas=2"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant while another pod of its zone is not ready":   {"GrantWithinBudget", with(drained, "zone-a-1 ready", "zone-a-1 starting"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant in addition to another one":                   {"GrantWithinBudget", with(drained, "hold free", "hold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0", "zone-a-1")},
	"a grant in addition to another one within the budget": {"", with(drained, "hold free", "zpdb a limit=2\nhold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0", "zone-a-1")},
	"a grant under a budget that allows none":              {"GrantWithinBudget", "zpdb a limit=0" + drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant under a small percentage":                     {"", "zpdb a percent=1" + drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant under two budgets":                            {"GrantWithinBudget", "zpdb a\nzpdb b" + drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant under a budget that cannot be used":           {"GrantWithinBudget", "zpdb a invalid=why" + drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant under a budget that does not select the pod":  {"", "zpdb a limit=0 select=other" + drained, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a pod beyond the spec":                                {"", with(drained, "zone-a rev=1", "zone-a rev=1 replicas=1"), granted("zone-a-1"), evicting("eviction/zone-a", "zone-a-1")},
	"an orphan that has the name of a missing pod":         {"", with(drained, "zone-a-0 ready@1   zone-a-1 ready@1", "orphan zone-a-0 ready@1 zone-a-1 ready@1"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan while another orphan is recorded":           {"GrantWithinBudget", with(with(drained, "zone-a-0 ready@1   zone-a-1 ready@1", "orphan zone-a-0 ready@1 zone-a-1 ready@1"), "hold free", "hold eviction/zone-a\n intent zone-a-1 granted\n"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0", "zone-a-1")},
	"an orphan while another pod is not ready":             {"GrantWithinBudget", with(drained, "zone-a-0 ready@1   zone-a-1 ready@1", "zone-a-0 starting@1\n  orphan zone-a-1 ready@1"), atVersion(granted("zone-a-1")), evicting("eviction/zone-a", "zone-a-1")},
	"an orphan at any version":                             {"ExactGrant", inTheWay, granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan while orphans are ready in another zone":    {"", inTheWay, atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan over the hold of a zone whose orphans are ready in a live read": {
		"", "live" + with(inTheWay, "hold free", "hold rollout/zone-b"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0"),
	},
	"an orphan over the hold of a zone whose orphans are ready in caches": {
		"GrantAlone", with(inTheWay, "hold free", "hold rollout/zone-b"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0"),
	},
	"an orphan over the hold of a zone with a pod beyond the spec": {
		"GrantAlone", "live" + with(with(inTheWay, "hold free", "hold rollout/zone-b"), "zone-b-1 ready@1", "zone-b-1 ready@1 zone-b-2 ready@1"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0"),
	},
	"an orphan of a partition while an orphan of another zone is ready": {"", regex + inTheWay, atVersion(ofPartition("0", "zone-a-0")), apart("zone-a-0")},
	"an orphan of a partition while an orphan of another zone is not ready": {
		"GrantWithinBudget", regex + with(inTheWay, "orphan zone-b-0 ready", "orphan zone-b-0 starting"), atVersion(ofPartition("0", "zone-a-0")), apart("zone-a-0"),
	},
	"an orphan of a partition while an orphan of another zone has not been ready for long enough": {
		"GrantWithinBudget", regex + " delay=2h" + inTheWay, atVersion(ofPartition("0", "zone-a-0")), apart("zone-a-0"),
	},
	"an orphan of a partition while the orphan of another zone is recorded": {
		"GrantWithinBudget", regex + with(inTheWay, "hold free", "hold eviction/partitions\n intent zone-b-0 granted partition=0\n"), atVersion(ofPartition("0", "zone-a-0")), apart("zone-a-0", "zone-b-0"),
	},
	"a pod of a partition while an orphan of another zone is ready": {
		"GrantWithinBudget", regex + with(inTheWay, "orphan zone-a-0 ready@1 zone-a-1 ready@1", "zone-a-0 ready@1 zone-a-1 ready@1"), ofPartition("0", "zone-a-0"), apart("zone-a-0"),
	},
	"an orphan while another zone misses a pod":                                      {"GrantSparesOtherZones", with(inTheWay, "zone-b-1 ready@1", ""), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan while an orphan of another zone is not ready":                         {"GrantSparesOtherZones", with(inTheWay, "orphan zone-b-0 ready", "orphan zone-b-0 starting"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan while an orphan of another zone is not available yet":                 {"GrantSparesOtherZones", with(inTheWay, "zone-b rev=1", "zone-b rev=1 minReady=2h"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0")},
	"an orphan while orphans are ready in a zone that left the group":                {"", "live" + leftInTheWay, atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0"))},
	"an orphan of a partition while orphans are ready in a zone that left the group": {"", regex + "\nlive" + leftInTheWay, atVersion(ofPartition("0", "zone-a-0")), withMember("zone-b", apart("zone-a-0"))},
	"an orphan while caches show orphans in a zone that left the group":              {"GrantSparesOtherZones", leftInTheWay, atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0"))},
	"an orphan while an orphan of a zone that left the group is not ready": {
		"GrantSparesOtherZones", "live" + with(leftInTheWay, "orphan zone-b-0 ready", "orphan zone-b-0 starting"), atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"an orphan while a zone that left the group misses a pod": {
		"GrantSparesOtherZones", "live" + with(leftInTheWay, "orphan zone-b-0 ready@1", ""), atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"an orphan while a zone that left the group has a pod beyond the spec": {
		"GrantSparesOtherZones", "live" + with(leftInTheWay, "zone-b-1 ready@1", "zone-b-1 ready@1 zone-b-2 ready@1"), atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"an orphan while a zone that left the group is not observed": {
		"GrantSparesOtherZones", "live" + with(leftInTheWay, "zone-b rev=1", "zone-b rev=1 unobserved"), atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"an orphan while a zone that left the group has no StatefulSet": {
		"GrantSparesOtherZones", "live" + with(with(leftInTheWay, "relabelled zone-b rev=1 replicas=2", "orphaned zone-b"), "  orphan zone-b-0 ready@1\n", ""), atVersion(granted("zone-a-0")), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"a pod while orphans are ready in a zone that left the group": {
		"GrantSparesOtherZones", "live" + with(leftInTheWay, "orphan zone-a-0 ready@1 zone-a-1 ready@1", "zone-a-0 ready@1 zone-a-1 ready@1"), granted("zone-a-0"), withMember("zone-b", evicting("eviction/zone-a", "zone-a-0")),
	},
	"a pod while orphans are ready in another zone": {
		"GrantSparesOtherZones", with(inTheWay, "orphan zone-a-0 ready@1 zone-a-1 ready@1", "zone-a-0 ready@1 zone-a-1 ready@1"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0"),
	},
	"an orphan beyond the spec while orphans are ready in another zone": {
		"GrantSparesOtherZones", with(inTheWay, "zone-a rev=1 replicas=2", "zone-a rev=1 replicas=0"), atVersion(granted("zone-a-0")), evicting("eviction/zone-a", "zone-a-0"),
	},
	"a pod beyond the spec while another pod is not ready": {"GrantWithinBudget", with(with(drained, "zone-a rev=1", "zone-a rev=1 replicas=1"), "zone-a-0 ready", "zone-a-0 starting"), granted("zone-a-1"), evicting("eviction/zone-a", "zone-a-1")},
	"a pod beyond the spec while another pod is recorded":  {"GrantWithinBudget", with(with(drained, "zone-a rev=1", "zone-a rev=1 replicas=1"), "hold free", "hold eviction/zone-a\n intent zone-a-0 granted\n"), granted("zone-a-1"), evicting("eviction/zone-a", "zone-a-1", "zone-a-0")},
	"a grant while a pod beyond the spec is recorded":      {"GrantWithinBudget", with(with(drained, "zone-a rev=1", "zone-a rev=1 replicas=1"), "hold free", "hold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0", "zone-a-1")},
	"a grant while a deleted pod is recorded that a cached spec does not request": {
		"GrantWithinBudget", with(with(drained, "   zone-a-1 ready@1", ""), "hold free", "hold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0", "zone-a-1"),
	},
	"a grant while a deleted pod is recorded that a live spec does not request": {
		"", "live" + with(with(drained, "   zone-a-1 ready@1", ""), "hold free", "hold eviction/zone-a\n intent zone-a-1 granted\n"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0"),
	},
	"a partition while a deleted pod beyond the spec is recorded": {
		"GrantWithinBudget", with(with(byPartitions, "([0-9]+)", "[0-9]*([0-9])"), "hold eviction/partitions", "hold eviction/partitions\n intent zone-b-10 granted partition=0\n"),
		ofPartition("0", "zone-a-0"), apart("zone-b-10", "zone-a-0"),
	},
	"a pod that is not ready, without a record":      {"", with(drained, "zone-a-0 ready", "zone-a-0 failing"), plan.EvictionAnswer{Version: 10}, hold.Decision{}},
	"a pod that is not ready, at another version":    {"ExactGrant", with(drained, "zone-a-0 ready", "zone-a-0 failing"), plan.EvictionAnswer{Version: 9}, hold.Decision{}},
	"a pod that is not ready, at any version":        {"ExactGrant", with(drained, "zone-a-0 ready", "zone-a-0 failing"), plan.EvictionAnswer{}, hold.Decision{}},
	"a pod that no longer exists":                    {"ExactGrant", with(drained, "zone-a-0 ready@1 ", ""), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a grant for another version":                    {"ExactGrant", with(drained, "zone-a-0 ready@1", "zone-a-0 ready@1 version=11"), granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a refusal":                                      {"", with(drained, "hold free", "hold rollout/zone-b"), plan.EvictionAnswer{Because: plan.Refusal{Code: "GroupHeld"}}, hold.Decision{}},
	"a grant while another partition is unavailable": {"", with(byPartitions, "zone-b-1 ready", "zone-b-1 starting"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition while a zone was deleted with its pods": {
		"", "live\ndeleted zone-c\n" + with(byPartitions, "zone-b-1 ready", "zone-b-1 starting"), ofPartition("0", "zone-a-0"), apart("zone-a-0"),
	},
	"a partition while a zone that left may return": {
		"GrantSparesOtherZones", "live\norphaned zone-c\n zone-c-0 ready@1\n" + byPartitions, ofPartition("0", "zone-a-0"), withMember("zone-c", apart("zone-a-0")),
	},
	"a partition while a zone is gone in caches": {
		"GrantSparesOtherZones", "deleted zone-c\n" + byPartitions, ofPartition("0", "zone-a-0"), withMember("zone-c", apart("zone-a-0")),
	},
	"two partitions of the only zone":                     {"GrantWithinBudget", with(alone, "zone-a-1 ready", "zone-a-1 starting"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"two pods of one partition":                           {"GrantWithinBudget", with(byPartitions, "zone-b-0 ready", "zone-b-0 starting"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition that is missing in a zone":               {"GrantWithinBudget", with(with(byPartitions, "zone-b-0 ready@1   ", ""), "zone-b rev=1", "zone-b rev=1 replicas=2"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition that a zone does not have":               {"GrantWithinBudget", with(byPartitions, "zone-b-0 ready@1   zone-b-1 ready@1", "zone-b-0 ready@1"), ofPartition("1", "zone-a-1"), apart("zone-a-1")},
	"two pods of one partition within the budget":         {"", with(with(byPartitions, "zpdb a", "zpdb a limit=2"), "zone-b-0 ready", "zone-b-0 starting"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition that has not been ready for long enough": {"GrantWithinBudget", with(with(byPartitions, "zpdb a", "zpdb a delay=1m"), "zone-b-0 ready@1", "zone-b-0 ready@1 for=59s"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition that has been ready for long enough":     {"", with(with(byPartitions, "zpdb a", "zpdb a delay=1m"), "zone-b-0 ready@1", "zone-b-0 ready@1 for=1m"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition during a rollout":                        {"GrantAlone", with(byPartitions, "hold eviction/partitions", "hold rollout/zone-a"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition while a pod of a rollout is recorded":    {"GrantAlone", with(byPartitions, "hold eviction/partitions", "hold eviction/partitions\n intent zone-a-1"), ofPartition("0", "zone-a-0"), apart("zone-a-0")},
	"a partition while another partition is recorded":     {"", with(byPartitions, "hold eviction/partitions", "hold eviction/partitions\n intent zone-b-1 granted partition=1\n"), ofPartition("0", "zone-a-0"), withPartition(apart("zone-a-0", "zone-b-1"), "1")},
	"a partition under the hold of a zone":                {"GrantRecorded", byPartitions, ofPartition("0", "zone-a-0"), evicting("eviction/zone-a", "zone-a-0")},
	"a zone while a pod of a partition is recorded":       {"GrantAlone", with(drained, "hold free", "hold eviction/partitions\n intent zone-b-1 granted partition=1\n"), granted("zone-a-0"), withPartition(evicting("eviction/zone-a", "zone-a-0", "zone-b-1"), "1")},
	"a partition during a downscale of its zone": {
		"GrantAlone", with(byPartitions, "hold eviction/partitions", "hold eviction/partitions\n downscale zone-a from 3 to 2 admitted"), ofPartition("0", "zone-a-0"),
		withDownscale(apart("zone-a-0"), fixture.Shrinking("zone-a", 3, 2, group.Admitted)),
	},
}

func TestEveryRuleAboutEvictionsCanBeBrokenAlone(t *testing.T) {
	covered := map[string]bool{}
	for sentence, e := range evictions {
		covered[e.rule] = true
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(e.group)
			pod := e.permit.Record.Pod
			if pod == "" {
				pod = "zone-a-0"
			}
			ask := plan.EvictionRequest{Pod: pod, UID: pod}
			if e.permit.Record.UID != "" {
				ask.UID = e.permit.Record.UID
			}
			if e.permit.Allowed() {
				if got := strings.Join(invariant.BrokenByEviction(s, ask, e.permit, e.decision), ", "); got != e.rule {
					t.Errorf("breaks %q, want %q", got, e.rule)
				}
			}
			found := invariant.CheckEviction(s, ask, e.permit, e.decision)
			if (found == nil) != (e.rule == "") || found != nil && (found.Name != e.rule || found.Detail == "") {
				t.Errorf("CheckEviction found %v, want %q", found, e.rule)
			}
		})
	}
	for _, rule := range invariant.Rules() {
		if strings.Contains(rule.Name, "Grant") && !covered[rule.Name] {
			t.Errorf("no case breaks %s", rule.Name)
		}
	}
}

func TestGrantsAreKeptUntilTheirEndIsSeen(t *testing.T) {
	const grant = "hold eviction/zone-a\n intent zone-a-0 granted "
	const zone = "\nzone-a rev=1\n zone-a-0 "
	for sentence, tc := range map[string]struct {
		group  string
		ended  bool
		record hold.Decision
	}{
		"a pod at the recorded version":                                       {"live\n" + grant + "known=44s" + zone + "ready@1", false, writing("")},
		"a pod at the recorded version, after the time":                       {"live\n" + grant + "known=70s" + zone + "ready@1", true, writing("")},
		"a pod that has changed, after the time":                              {"live\n" + grant + "known=70s" + zone + "ready@1 version=11", true, writing("")},
		"a pod at the recorded version, in caches":                            {grant + "known=1h" + zone + "ready@1", false, writing("")},
		"a pod that is older than recorded":                                   {"live\n" + grant + "known=69s" + zone + "ready@1 version=9", false, writing("")},
		"a pod that a restore made older than recorded":                       {"live\n" + grant + "known=70s" + zone + "ready@1 version=9", true, writing("")},
		"a pod that a restore made older than recorded, in caches":            {grant + "known=70s" + zone + "ready@1 version=9", false, writing("")},
		"a terminating pod":                                                   {"live\n" + grant + "known=1h" + zone + "terminating@1 version=11", false, writing("")},
		"a replacement that is ready":                                         {grant + zone + "ready@1 uid=new version=20", true, writing("")},
		"a replacement that is ready, under an unbound grant":                 {"live\n" + grant + "unbound known=69s" + zone + "ready@1 uid=new version=20", false, writing("")},
		"a replacement that is ready, under an unbound grant, after the time": {"live\n" + grant + "unbound known=70s" + zone + "ready@1 uid=new version=20", true, writing("")},
		"a replacement that starts":                                           {grant + zone + "starting@1 uid=new version=20", false, writing("")},
		"a replacement that is repaired":                                      {grant + zone + "starting@1 uid=new version=20", true, writing("rollout/zone-a", fixture.IntentAt("zone-a-0", "new", 20))},
		"a predecessor that is ready":                                         {grant + zone + "ready@1 uid=old version=9", false, writing("")},
		"a predecessor that a restore brought back":                           {"live\n" + grant + zone + "ready@1 uid=old version=9", true, writing("")},
		"a predecessor that a restore brought back, under an unbound grant":   {"live\n" + grant + "unbound known=69s" + zone + "ready@1 uid=old version=9", false, writing("")},
		"a missing pod": {grant + "\nzone-a rev=1 replicas=1", false, writing("")},
		"a missing pod that a live spec does not request":                {"live\n" + grant + "\nzone-a rev=1 replicas=0", true, writing("")},
		"a missing pod that a cached spec does not request":              {grant + "\nzone-a rev=1 replicas=0", false, writing("")},
		"a missing pod in a view that is older than the record":          {"pods at 9\n" + grant + "\nzone-a rev=1 replicas=0", false, writing("")},
		"a missing pod after a restore":                                  {"live\npods at 9\n" + grant + "\nzone-a rev=1 replicas=1", true, writing("")},
		"a pod at the recorded version that lockstep is about to delete": {grant + zone + "ready@1", false, writing("rollout/zone-a", fixture.IntentOf("zone-a-0"))},
		"a pod at the recorded version that is granted again":            {grant + zone + "ready@1", true, writing("eviction/zone-a", fixture.Granted("zone-a-0"))},
		"no write":        {grant + zone + "ready@1", true, hold.Decision{}},
		"a removed Lease": {grant + "\npods at 9", false, hold.Decision{Need: hold.Remove}},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := invariant.Check(fixture.MustParse(tc.group), nil, tc.record)
			if ended := found == nil; ended != tc.ended || found != nil && found.Name != "GrantKept" {
				t.Errorf("found %v, want its end %t", found, tc.ended)
			}
		})
	}
}

func with(text, former, next string) string { return strings.Replace(text, former, next, 1) }

func granted(pod string) plan.EvictionAnswer { return grantedAs(pod, pod) }

func grantedAs(pod, uid string) plan.EvictionAnswer {
	record := fixture.Granted(pod)
	record.UID, record.Since = uid, fixture.Now().Add(-time.Second)
	return plan.EvictionAnswer{Record: record}
}

// atVersion binds the eviction of an orphan to its version.
func atVersion(p plan.EvictionAnswer) plan.EvictionAnswer {
	p.Version = p.Record.Version
	return p
}

func ofPartition(partition, pod string) plan.EvictionAnswer {
	p := granted(pod)
	p.Record.Partition = partition
	return p
}

func evicting(holder plan.Holder, pods ...string) hold.Decision {
	var grants []plan.Intent
	for _, pod := range pods {
		grants = append(grants, fixture.Granted(pod))
	}
	return writing(holder, grants...)
}

func apart(pods ...string) hold.Decision {
	return withPartition(evicting(plan.EvictionOperation.For(plan.Partitions), pods...), "0")
}

func withPartition(d hold.Decision, partition string) hold.Decision {
	d.Record.Intents[len(d.Record.Intents)-1].Partition = partition
	return d
}
