package pools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var now = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

// change is a plan that a case gives, and what it is made from.
type change struct {
	pool.Snapshot
	steps    []plan.Action
	decision hold.Decision
}

// three returns a pool of three available pods a, b and c, each with one claim, and nothing to do.
func three() *change {
	c := &change{Snapshot: pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "web"}, Now: now, Live: true,
		Object:    pool.Object{UID: "object", Replicas: 3, Strategy: pool.Strategy{MaxUnavailable: pool.Share{Pods: 1}}},
		ObjectsAt: 100, PodsAt: 100, ClaimsAt: 100,
	}}
	c.Object.Liveness.MaxUnhealthy = pool.Share{Percent: 40}
	for _, id := range []pool.ID{"a", "b", "c"} {
		c.Pods = append(c.Pods, pool.Pod{
			Pod: plan.Pod{Name: "web-" + string(id), UID: string(id), Version: 10, Phase: plan.Ready, ReadySince: now.Add(-time.Hour)},
			ID:  id, Owner: "object", Scheduled: true, Mounts: []pool.Mount{{Template: "data", Claim: "web-data-" + string(id)}},
		})
		c.claim(id)
	}
	return c
}

func (c *change) claim(id pool.ID) *pool.Claim {
	c.Claims = append(c.Claims, pool.Claim{Name: "web-data-" + string(id), ID: id, Template: "data", Pool: "object", Siblings: []string{"data"}})
	return &c.Claims[len(c.Claims)-1]
}

// last returns the claim that was added last.
func (c *change) last() *pool.Claim { return &c.Claims[len(c.Claims)-1] }

// without removes a pod.
func (c *change) without(id pool.ID) *change {
	for i := range c.Pods {
		if c.Pods[i].ID == id {
			c.Pods = append(c.Pods[:i], c.Pods[i+1:]...)
			break
		}
	}
	return c
}

// spent marks the claims of the identity a.
func (c *change) spent(because reason.Code) *change {
	for i := range c.Claims {
		if of := &c.Claims[i]; of.ID == "a" {
			of.Retired, of.Ended, of.Because = true, now.Add(-time.Hour), because
		}
	}
	return c
}

func (c *change) pod(id pool.ID) *pool.Pod {
	for i := range c.Pods {
		if c.Pods[i].ID == id {
			return &c.Pods[i]
		}
	}
	return &pool.Pod{}
}

// plans adds actions to the plan.
func (c *change) plans(steps ...plan.Action) *change {
	c.steps = append(c.steps, steps...)
	return c
}

// deletes plans to delete a pod, and records that.
func (c *change) deletes(id pool.ID, because reason.Code) *change {
	p := c.pod(id)
	c.plans(plan.DeletePod{Zone: "web", Pod: "web-" + string(id), UID: p.UID, Version: p.Version, Up: true, Because: because})
	c.decision.Verify = true
	return c.records(intent(id, because))
}

// records writes intents to the hold.
func (c *change) records(intents ...plan.Intent) *change {
	c.decision.Need, c.decision.Record.Holder = hold.Write, "statefulcluster/web"
	c.decision.Record.Intents = append(c.decision.Record.Intents, intents...)
	return c
}

// has gives the hold intents that the decision keeps.
func (c *change) has(intents ...plan.Intent) *change {
	c.Hold.Exists, c.Hold.Holder, c.Hold.Intents = true, "statefulcluster/web", intents
	if c.decision.Need == hold.Write {
		c.records(intents...)
	}
	return c
}

func (c *change) edit(edit func(*change)) *change {
	edit(c)
	return c
}

func intent(id pool.ID, because reason.Code) plan.Intent {
	return plan.Intent{Zone: "web", Pod: "web-" + string(id), UID: string(id), Version: 10, Cause: because, Since: now}
}

// outOfReach gives the pod a no node and a volume that is out of reach.
func (c *change) outOfReach() *change {
	p := c.pod("a")
	p.Phase, p.Scheduled, c.Volumes = plan.Starting, false, map[string]pool.VolumeLook{"a": {At: now, Unreachable: true}}
	return c
}

// nextPod is three pods of which a follows another pod of its identity, and has no node.
func nextPod() *change {
	c := three()
	p := c.pod("a")
	p.Phase, p.Scheduled, p.From, c.Claims[0].From = plan.Starting, false, "former", "former"
	return c
}

// begun is an update of the pod a in place that has begun.
func begun() *change {
	c := three().has(intent("a", reason.UpdatedInPlace))
	p := c.pod("a")
	p.Version, p.Update = 11, pool.InPlaceUpdate{Revision: "2", At: 10, Begun: true}
	return c
}

var (
	resizeA = pool.ResizePod{Pod: "web-a", UID: "a", Version: 11}
	closeA  = pool.SetGate{Pod: "web-a", UID: "a", Version: 11}
)

// completes plans the last stage of an update of the pod a in place.
func (c *change) completes() *change {
	c.decision.Verify = true
	last := intent("a", reason.UpdatedInPlace)
	last.Version = 11
	return c.records(last).plans(pool.UpdateInPlace{Of: plan.Disruption{Zone: "web", Pod: "web-a", UID: "a", Version: 11, Because: reason.UpdatedInPlace}})
}

// handsOver plans the next pod of the identity a, whose former pod is gone.
func handsOver() *change {
	c := three().without("a")
	c.Claims[0].From = "a"
	return c.has(intent("a", reason.IdentityHandover)).records(intent("a", reason.IdentityHandover)).plans(pool.HandOver{Pool: "web", ID: "a", From: "a", Had: c.Claims[:1]})
}

// spentA is the identity a, whose claims the policy gives up.
func spentA() *change {
	c := three().without("a").spent(reason.ScaledDown)
	c.Object.Claim.DeleteWhenScaled = true
	return c.plans(pool.DeleteClaims{Pool: "web", ID: "a", Claims: c.Claims[:1]})
}

// endedInTurns is spentA with claims that say different times, the latest one in the middle.
func endedInTurns() *change {
	return spentA().edit(func(c *change) {
		c.claim("a").Name, c.claim("a").Name = "web-logs-a", "web-cache-a"
		c.spent(reason.ScaledDown)
		c.Claims[0].Ended, c.last().Ended = now.Add(-2*time.Hour), now.Add(-2*time.Hour)
	})
}

// lostInHandover is spentA of an identity that was being handed over when its record was lost.
func lostInHandover() *change {
	return spentA().spent(reason.IdentityLost).edit(func(c *change) { c.Claims[0].From = "former" })
}

// adopts plans to adopt a pod that belongs to nothing.
func adopts() *change {
	c := three().without("c")
	c.Object.Adopt = true
	c.Orphans.Pods = []pool.Orphan{{Name: "web-0", UID: "0", Version: 9}}
	return c.plans(pool.AdoptPod{Pool: "web", ID: "0", Pod: "web-0", UID: "0", Version: 9})
}

// labels plans to label a claim of the pod a.
func labels() *change {
	c := three()
	c.pod("a").Mounts = []pool.Mount{{Template: "data", Claim: "data-web-a"}}
	c.Claims = c.Claims[1:]
	c.Unlabelled = []pool.UnlabelledClaim{{Name: "data-web-a", Template: "data", UID: "u"}}
	return c.plans(pool.LabelClaims{Pool: "web", ID: "a", Pod: "web-a", Claims: c.Unlabelled})
}

// relabels plans to label a claim that the identity of the pod a had under an earlier object.
func relabels() *change {
	c := three()
	c.Claims = append(c.Claims, pool.Claim{Name: "web-logs-a", UID: "l", Version: 8, ID: "a", Template: "logs", Pool: "former"})
	return c.plans(pool.LabelClaims{Pool: "web", ID: "a", Pod: "web-a", Claims: []pool.UnlabelledClaim{{Name: "web-logs-a", UID: "l", Version: 8, Template: "logs"}}})
}

func TestEveryRuleOfPlansCanBeBrokenAlone(t *testing.T) {
	covered := map[string]bool{}
	for sentence, tc := range map[string]struct {
		rule string
		*change
	}{
		"nothing":                          {"", three()},
		"a new identity":                   {"", three().without("a").plans(pool.CreatePods{Pool: "web", IDs: []pool.ID{"new"}})},
		"an identity with a claim is born": {"IdentityNew", three().without("a").plans(pool.CreatePods{Pool: "web", IDs: []pool.ID{"a"}})},
		"an identity with a pod of another owner is born": {"IdentityNew", three().edit(func(c *change) { c.pod("a").Owner, c.Claims = "other", nil }).plans(pool.CreatePods{Pool: "web", IDs: []pool.ID{"a"}})},
		"one identity is born twice":                      {"IdentityNew", three().plans(pool.CreatePods{Pool: "web", IDs: []pool.ID{"new"}}, pool.CreatePods{Pool: "web", IDs: []pool.ID{"new"}})},

		"a hand-over":                               {"", handsOver()},
		"a hand-over that verifies no claim":        {"HandoverRecorded", three().without("a").edit(func(c *change) { c.Claims[0].From = "a" }).has(intent("a", reason.IdentityHandover)).records(intent("a", reason.IdentityHandover)).plans(pool.HandOver{Pool: "web", ID: "a", From: "a"})},
		"a hand-over that is not recorded":          {"HandoverRecorded", three().without("a").edit(func(c *change) { c.Claims[0].From = "a" }).plans(pool.HandOver{Pool: "web", ID: "a", From: "a"})},
		"a hand-over beside the former pod":         {"HandoverRecorded", three().edit(func(c *change) { c.Claims[0].From = "a"; c.pod("a").Phase = plan.Terminating }).has(intent("a", reason.IdentityHandover)).records(intent("a", reason.IdentityHandover)).plans(pool.HandOver{Pool: "web", ID: "a", From: "a"})},
		"a hand-over without a claim":               {"HandoverRecorded", handsOver().edit(func(c *change) { c.Claims[0].Siblings = []string{"data", "logs"} })},
		"a hand-over with the claim of another pod": {"HandoverRecorded", handsOver().edit(func(c *change) { c.Claims[0].From = "former" })},
		"a hand-over with a claim that is marked":   {"HandoverRecorded", handsOver().spent(reason.ScaledDown)},
		"a hand-over with a claim that is deleted":  {"HandoverRecorded", handsOver().edit(func(c *change) { c.Claims[0].Deleting = true })},

		"claims of a new pod":                     {"", three().edit(func(c *change) { c.pod("a").Gated, c.pod("a").Phase = true, plan.Starting }).plans(pool.CompletePod{Pool: "web", ID: "a", Pod: "web-a", UID: "a"})},
		"claims of a pod that may be scheduled":   {"ClaimsCreatedOnce", three().plans(pool.CompletePod{Pool: "web", ID: "a", Pod: "web-a", UID: "a"})},
		"claims of a next pod that lacks another": {"ClaimsCreatedOnce", three().edit(func(c *change) { p := c.pod("a"); p.Gated, p.Phase, p.From = true, plan.Starting, "former" }).plans(pool.CompletePod{Pool: "web", ID: "a", Pod: "web-a", UID: "a"})},

		"births under a hold from outside": {"", three().without("a").edit(func(c *change) { c.Hold.Exists, c.Hold.Holder = true, "manual/me" }).plans(pool.CreatePods{Pool: "web", IDs: []pool.ID{"new"}})},
		"a delete under a hold from outside": {"OutsideKept", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) {
			c.Hold.Exists, c.Hold.Holder, c.decision.Record.Holder = true, "manual/me", "manual/me"
		})},
		"a hold from outside is written over": {"OutsideKept", three().edit(func(c *change) { c.Hold.Exists, c.Hold.Holder = true, "manual/me" }).records()},
		"a hold from outside that has expired": {"", three().edit(func(c *change) {
			c.Hold.Exists, c.Hold.Holder, c.Hold.Renewed, c.Hold.Duration = true, "manual/me", now.Add(-time.Minute), time.Second
		}).records()},
		"claims marked while the hold cannot be read": {"OutsideKept", three().without("a").edit(func(c *change) { c.Hold.Exists, c.Hold.Unreadable = true, "damaged" }).plans(pool.RetireIdentity{Pool: "web", ID: "a"})},

		"a delete that is not recorded":               {"RecordedFirst", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.decision.Record.Intents = nil })},
		"a delete that is recorded for another cause": {"RecordedFirst", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.decision.Record.Intents[0].Cause = reason.ScaledDown })},
		"a delete without a write":                    {"RecordedFirst", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.decision.Need = hold.Carry })},
		"an update in place that is not recorded":     {"RecordedFirst", three().edit(func(c *change) { c.decision.Verify = true }).plans(pool.UpdateInPlace{Of: plan.Disruption{Zone: "web", Pod: "web-a", UID: "a", Version: 10, Because: reason.UpdatedInPlace}})},

		"an update in place begins without a record":       {"RecordedFirst", three().edit(func(c *change) { c.decision.Verify = true }).plans(pool.BeginUpdate{Of: plan.Disruption{Zone: "web", Pod: "web-a", UID: "a", Version: 10, Because: reason.UpdatedInPlace}})},
		"a pod is resized":                                 {"", begun().plans(resizeA)},
		"a pod is resized that has not begun":              {"RecordedFirst", begun().edit(func(c *change) { c.pod("a").Update.Begun = false }).plans(resizeA)},
		"a pod is resized without a record":                {"RecordedFirst", begun().edit(func(c *change) { c.Hold.Intents = nil }).plans(resizeA)},
		"a gate is closed":                                 {"", begun().plans(closeA)},
		"a gate is closed under the record of another one": {"RecordedFirst", begun().edit(func(c *change) { c.Hold.Intents[0].UID = "other" }).plans(closeA)},
		"a gate is closed under an earlier record":         {"RecordedFirst", begun().edit(func(c *change) { c.pod("a").Update.At = 9 }).plans(closeA)},
		"a gate is opened":                                 {"", three().plans(pool.SetGate{Pod: "web-a", UID: "a", Version: 10, Open: true})},
		"an update in place goes on under another hold":    {"OutsideKept", begun().edit(func(c *change) { c.Hold.Holder = "manual/me" }).plans(resizeA)},
		"another version is resized":                       {"ExactTarget", begun().plans(pool.ResizePod{Pod: "web-a", UID: "a", Version: 12})},
		"an update in place ends while others are down":    {"", begun().edit(func(c *change) { c.pod("b").Phase = plan.Starting }).completes()},
		"one that is not recorded begins again while others are down": {"", begun().edit(func(c *change) {
			c.pod("b").Phase, c.Hold.Intents = plan.Starting, nil
		}).completes()},
		"one that has not begun begins while others are down": {"WithinMaxUnavailable", begun().edit(func(c *change) {
			c.pod("b").Phase, c.Hold.Intents, c.pod("a").Update = plan.Starting, nil, pool.InPlaceUpdate{}
		}).completes()},
		"an update in place that has only begun is dropped": {"RecordKept", begun().records()},

		"a record that may still happen is dropped":               {"RecordKept", three().has(intent("a", reason.ReplacementAsked)).records()},
		"a record of a later pod is dropped":                      {"", three().edit(func(c *change) { c.pod("a").Version = 11 }).has(intent("a", reason.ReplacementAsked)).records()},
		"a record whose pod terminates is dropped":                {"RecordKept", three().edit(func(c *change) { c.pod("a").Version, c.pod("a").Phase = 11, plan.Terminating }).has(intent("a", reason.ScaledDown)).records()},
		"a record whose claims are not marked is dropped":         {"RecordKept", three().without("a").has(intent("a", reason.ScaledDown)).records()},
		"a record whose claims are marked is dropped":             {"", three().without("a").spent(reason.ScaledDown).has(intent("a", reason.ScaledDown)).records()},
		"a record is dropped by an older view of pods":            {"RecordKept", three().without("a").spent(reason.ScaledDown).edit(func(c *change) { c.PodsAt = 9 }).has(intent("a", reason.ScaledDown)).records()},
		"a hand-over is dropped before its next pod is available": {"RecordKept", three().edit(func(c *change) { p := c.pod("a"); p.UID, p.Version, p.Phase = "next", 20, plan.Starting }).has(intent("a", reason.IdentityHandover)).records()},
		"a grant is dropped by the caches":                        {"RecordKept", three().edit(func(c *change) { c.Live = false }).has(granted("a", time.Hour)).records()},
		"a grant is dropped by a live read in time":               {"", three().has(granted("a", time.Hour)).records()},
		"a grant gives way to a deletion of a later version": {"RecordKept", three().has(granted("a", time.Minute)).edit(func(c *change) {
			later := intent("a", reason.NodeGone)
			later.Version = 12
			c.records(later)
		})},
		"a grant is dropped too early": {"RecordKept", three().has(granted("a", time.Minute)).records()},
		"an update that is not complete is dropped": {"RecordKept", three().edit(func(c *change) {
			p := c.pod("a")
			p.Version = 11
			p.Update = pool.InPlaceUpdate{Revision: "2", At: 10, Restarts: map[string]string{"db": "first"}}
		}).has(intent("a", reason.UpdatedInPlace)).records()},

		"a delete without a further read": {"ConfirmedFirst", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.decision.Verify = false })},

		"a delete of another version":  {"ExactTarget", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.pod("a").Version = 11 })},
		"a delete of another owner's":  {"ExactTarget", three().deletes("a", reason.ReplacementAsked).edit(func(c *change) { c.pod("a").Owner = "other" })},
		"a pod deleted for two causes": {"ExactTarget", three().deletes("a", reason.ReplacementAsked).deletes("a", reason.NodeGone)},

		"a pod given up because of its volume":                  {"", three().outOfReach().deletes("a", reason.VolumeUnreachable)},
		"one whose volume was not looked at":                    {"DoubtKept", three().outOfReach().edit(func(c *change) { c.Volumes = nil }).deletes("a", reason.VolumeUnreachable)},
		"one that has a node":                                   {"DoubtKept", three().outOfReach().edit(func(c *change) { c.pod("a").Scheduled = true }).deletes("a", reason.VolumeUnreachable)},
		"one that the caches show":                              {"DoubtKept", three().outOfReach().edit(func(c *change) { c.Live = false }).deletes("a", reason.VolumeUnreachable)},
		"an update":                                             {"", three().deletes("a", reason.IdentityHandover)},
		"an update while another is down":                       {"WithinMaxUnavailable", three().edit(func(c *change) { c.pod("b").Phase = plan.Starting }).deletes("a", reason.IdentityHandover)},
		"an update while one is missing":                        {"WithinMaxUnavailable", three().without("b").deletes("a", reason.UpdatedByNewIdentity)},
		"an update while another is recorded":                   {"WithinMaxUnavailable", three().deletes("a", reason.ReplacementAsked).has(intent("b", reason.UpdatedInPlace))},
		"an update of a pod that is down while another is down": {"", three().edit(func(c *change) { c.pod("a").Phase, c.pod("b").Phase = plan.Starting, plan.Starting }).deletes("a", reason.IdentityHandover)},
		"an update while another was Ready for a moment":        {"WithinMaxUnavailable", three().edit(func(c *change) { c.Object.MinReady, c.pod("b").ReadySince = time.Minute, now }).deletes("a", reason.IdentityHandover)},
		"two of three by a percentage":                          {"", three().edit(func(c *change) { c.Object.Strategy.MaxUnavailable = pool.Share{Percent: 34} }).deletes("a", reason.IdentityHandover).deletes("b", reason.IdentityHandover)},

		"one of four leaves":                         {"", three().edit(func(c *change) { c.Object.Replicas = 2 }).deletes("a", reason.ScaledDown)},
		"one too many leaves":                        {"SurplusExact", three().deletes("a", reason.ScaledDown)},
		"one leaves beside one that is recorded":     {"SurplusExact", three().edit(func(c *change) { c.Object.Replicas = 2 }).deletes("a", reason.ScaledDown).has(intent("b", reason.ScaledDown))},
		"one of four leaves, and the Lease says so":  {"", three().edit(func(c *change) { c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 3, Recorded: true} }).deletes("a", reason.ScaledDown)},
		"one leaves that was recorded":               {"", three().edit(func(c *change) { c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 2, Recorded: true} }).deletes("a", reason.ScaledDown).has(intent("a", reason.ScaledDown))},
		"one leaves although no fewer are asked for": {"LoweredOnly", three().edit(func(c *change) { c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 2, Recorded: true} }).deletes("a", reason.ScaledDown)},
		"an update if no pods are asked for":         {"LoweredFirst", three().edit(func(c *change) { c.Object.Replicas = 0 }).deletes("a", reason.UpdatedByNewIdentity)},
		"updates of pods that are to leave": {"LoweredFirst", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 1, pool.Part{Replicas: 3, Recorded: true}
		}).deletes("a", reason.UpdatedByNewIdentity).deletes("b", reason.UpdatedByNewIdentity)},
		"an update before others have left": {"LoweredFirst", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 1, pool.Part{Replicas: 3, Recorded: true}
		}).deletes("a", reason.UpdatedByNewIdentity)},
		"an update of the pod that stays": {"", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 1, pool.Part{Replicas: 3, Recorded: true}
		}).deletes("a", reason.UpdatedByNewIdentity).deletes("b", reason.ScaledDown).deletes("c", reason.ScaledDown)},
		"updates beside one that leaves": {"LoweredFirst", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 1, pool.Part{Replicas: 3, Recorded: true}
		}).deletes("a", reason.ScaledDown).deletes("b", reason.UpdatedByNewIdentity).deletes("c", reason.UpdatedByNewIdentity)},
		"one is too many":                          {"", three().edit(func(c *change) { c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 2, Recorded: true} }).deletes("a", reason.ReplicasExceeded)},
		"one leaves as too many, and too few stay": {"SurplusExact", three().edit(func(c *change) { c.Part = pool.Part{Replicas: 3, Recorded: true} }).deletes("a", reason.ReplicasExceeded)},
		"the last copy is too many": {"DoubtKept", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 2, Recorded: true}
			c.pod("a").Phase, c.pod("b").Phase, c.pod("c").Phase = plan.Starting, plan.Starting, plan.Starting
		}).deletes("a", reason.ReplicasExceeded)},
		"a pod that has run ends while another is down": {"DoubtKept", three().edit(func(c *change) {
			c.pod("a").Finished, c.pod("a").Ran, c.pod("a").Created, c.pod("b").Phase = true, true, plan.UnixTimeOf(now.Add(-time.Minute)), plan.Starting
		}).deletes("a", reason.PodFinished)},
		"an old pod is rejected while another is down": {"DoubtKept", three().edit(func(c *change) {
			c.pod("a").Finished, c.pod("a").Created, c.pod("b").Phase = true, plan.UnixTimeOf(now.Add(-320*time.Second)), plan.Starting
		}).deletes("a", reason.PodFinished)},
		"a pod that was old when it was rejected ends while another is down": {"DoubtKept", three().edit(func(c *change) {
			c.pod("a").Finished, c.pod("a").Created, c.pod("b").Phase = true, plan.UnixTimeOf(now.Add(-time.Hour)), plan.Starting
			c.pod("a").Ended = c.pod("a").Created + 320
		}).deletes("a", reason.PodFinished)},
		"a pod that was young when it was rejected ends while another is down": {"", three().edit(func(c *change) {
			c.pod("a").Finished, c.pod("a").Created, c.pod("b").Phase = true, plan.UnixTimeOf(now.Add(-time.Hour)), plan.Starting
			c.pod("a").Ended = c.pod("a").Created + 319
		}).deletes("a", reason.PodFinished)},
		"a young pod is rejected while another is down": {"", three().edit(func(c *change) {
			c.pod("a").Finished, c.pod("a").Created, c.pod("b").Phase = true, plan.UnixTimeOf(now.Add(-319*time.Second)), plan.Starting
		}).deletes("a", reason.PodFinished)},
		"the last pod without claims is too many": {"", three().edit(func(c *change) {
			c.Object.Replicas, c.Part = 2, pool.Part{Replicas: 2, Recorded: true}
			c.pod("a").Phase, c.pod("b").Phase, c.pod("c").Phase = plan.Starting, plan.Starting, plan.Starting
			c.pod("a").Mounts, c.Claims = nil, nil
		}).deletes("a", reason.ReplicasExceeded)},
		"one leaves because another gets its next pod": {"", three().without("b").deletes("a", reason.ScaledDown).has(intent("b", reason.IdentityHandover)).edit(func(c *change) { c.Object.Replicas = 2 })},

		"a lost node":                                        {"", three().edit(func(c *change) { c.pod("a").Phase = plan.Starting }).deletes("a", reason.NodeLost)},
		"a lost node while another pod is down":              {"DoubtKept", three().edit(func(c *change) { c.pod("a").Phase, c.pod("b").Phase = plan.Starting, plan.Starting }).deletes("a", reason.NodeLost)},
		"a lost node of the last pod":                        {"DoubtKept", three().edit(func(c *change) { c.Object.Replicas = 1 }).without("b").without("c").edit(func(c *change) { c.pod("a").Phase = plan.Starting }).deletes("a", reason.CrashLooping)},
		"a copy is given up in doubt beside one that leaves": {"DoubtKept", three().edit(func(c *change) { c.Object.Replicas = 1 }).without("b").edit(func(c *change) { c.pod("a").Phase = plan.Starting }).deletes("a", reason.NodeLost).deletes("c", reason.ScaledDown)},
		"a next pod without a node":                          {"", nextPod().deletes("a", reason.HandoverFailed)},
		"a next pod without a node while another is down":    {"DoubtKept", nextPod().edit(func(c *change) { c.pod("b").Phase = plan.Starting }).deletes("a", reason.HandoverFailed)},
		"a next pod that waits for claims that it has":       {"DoubtKept", nextPod().edit(func(c *change) { c.pod("a").Gated, c.pod("b").Phase = true, plan.Starting }).deletes("a", reason.HandoverFailed)},
		"a next pod whose identity has lost a claim": {"", nextPod().edit(func(c *change) {
			c.pod("a").Gated, c.pod("b").Phase, c.Claims[0].Siblings = true, plan.Starting, []string{"data", "logs"}
		}).deletes("a", reason.HandoverFailed)},
		"a next pod whose claim is being deleted":   {"", nextPod().edit(func(c *change) { c.pod("a").Gated, c.pod("b").Phase, c.Claims[0].Deleting = true, plan.Starting, true }).deletes("a", reason.HandoverFailed)},
		"a node that is gone while another is down": {"", three().edit(func(c *change) { c.pod("a").Phase, c.pod("b").Phase = plan.Starting, plan.Starting }).deletes("a", reason.NodeGone)},

		"an identity ends":                                  {"", three().without("a").plans(pool.RetireIdentity{Pool: "web", ID: "a"})},
		"an identity ends without a live read":              {"EndedWithoutPod", three().without("a").edit(func(c *change) { c.Live = false }).plans(pool.RetireIdentity{Pool: "web", ID: "a"})},
		"an identity with a pod ends":                       {"EndedWithoutPod", three().plans(pool.RetireIdentity{Pool: "web", ID: "a"})},
		"an identity ends with claims of an earlier object": {"EndedWithoutPod", three().without("a").plans(pool.RetireIdentity{Pool: "web", ID: "a", Claims: []pool.Claim{{ID: "a", Pool: "former"}}})},

		"claims that the policy gives up":                   {"", spentA()},
		"a pod is released":                                 {"", three().edit(func(c *change) { c.pod("a").Unmatched = true }).plans(pool.ReleasePod{Pool: "web", Pod: "web-a", UID: "a", Version: 10})},
		"a pod is released that the selector matches":       {"OwnPodsOnly", three().plans(pool.ReleasePod{Pool: "web", Pod: "web-a", UID: "a", Version: 10})},
		"a pod is released at another version":              {"OwnPodsOnly", three().edit(func(c *change) { c.pod("a").Unmatched = true }).plans(pool.ReleasePod{Pool: "web", Pod: "web-a", UID: "a", Version: 9})},
		"a pod is adopted":                                  {"", adopts()},
		"a pod is adopted without a live read":              {"OwnPodsOnly", adopts().edit(func(c *change) { c.Live = false })},
		"a pod of a StatefulSet is adopted":                 {"OwnPodsOnly", adopts().edit(func(c *change) { c.Orphans.Pods[0].Controller = "StatefulSet/web" })},
		"a pod is adopted that no person asked for":         {"OwnPodsOnly", adopts().edit(func(c *change) { c.Object.Adopt = false })},
		"a pod is adopted at another version":               {"OwnPodsOnly", adopts().edit(func(c *change) { c.Orphans.Pods[0].Version = 8 })},
		"a pod is adopted as another identity":              {"OwnPodsOnly", three().plans(adopts().steps...).edit(func(c *change) { c.Orphans, c.Object.Adopt = adopts().Orphans, true; c.pod("c").ID = "0" })},
		"a pod is adopted by an object that is deleted":     {"OwnPodsOnly", adopts().edit(func(c *change) { c.Object.Deleting = true })},
		"a claim gets labels":                               {"", labels()},
		"a claim gets labels without a live read":           {"OwnClaimsOnly", labels().edit(func(c *change) { c.Live = false })},
		"a claim gets labels that its pod does not mount":   {"OwnClaimsOnly", labels().edit(func(c *change) { c.pod("a").Mounts = nil })},
		"a claim of a StatefulSet gets labels":              {"OwnClaimsOnly", labels().edit(func(c *change) { c.Unlabelled[0].Owner = "StatefulSet/web" })},
		"a claim gets the labels of a pod of another owner": {"OwnClaimsOnly", labels().edit(func(c *change) { c.pod("a").Owner = "other" })},
		"a claim of an earlier object gets labels":          {"", relabels()},
		"a claim that is being deleted gets labels":         {"OwnClaimsOnly", relabels().edit(func(c *change) { c.last().Deleting = true })},
		"a claim of another identity gets labels":           {"OwnClaimsOnly", relabels().edit(func(c *change) { c.last().ID = "b" })},
		"a claim gets labels at another version":            {"OwnClaimsOnly", relabels().edit(func(c *change) { c.last().Version = 9 })},
		"claims that the policy keeps":                      {"ClaimKept", spentA().edit(func(c *change) { c.Object.Claim.DeleteWhenScaled = false })},
		"claims that left for another reason":               {"ClaimKept", spentA().spent(reason.NodeLost)},
		"claims of an identity with a pod":                  {"ClaimKept", spentA().edit(func(c *change) { c.Pods = append(c.Pods, pool.Pod{Pod: plan.Pod{Name: "web-a"}, ID: "a"}) })},
		"claims of an identity with a record":               {"ClaimKept", spentA().edit(func(c *change) { c.PodsAt = 9 }).has(intent("a", reason.ScaledDown))},
		"claims without a live read":                        {"ClaimKept", spentA().edit(func(c *change) { c.Live = false })},
		"claims beside one that is not marked":              {"ClaimKept", spentA().edit(func(c *change) { c.claim("a").Name = "web-logs-a" })},
		"claims that a person keeps":                        {"ClaimKept", spentA().edit(func(c *change) { c.Claims[0].Keep = true })},
		"claims of an earlier object":                       {"ClaimKept", spentA().plans(pool.DeleteClaims{Pool: "web", ID: "z", Claims: []pool.Claim{{ID: "z", Pool: "former"}}})},
		"claims that are old enough":                        {"", spentA().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{DeleteAfter: time.Hour} })},
		"claims that are not old enough":                    {"ClaimKept", spentA().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{DeleteAfter: time.Hour + 1} })},
		"claims of which one is not old enough":             {"ClaimKept", endedInTurns().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{DeleteAfter: time.Hour + 1} })},
		"claims of which the latest one is old enough":      {"", endedInTurns().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{DeleteAfter: time.Hour} })},
		"claims beyond the limit":                           {"", spentA().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{Limit: new(0)} })},
		"claims beyond the limit that were handed over":     {"ClaimKept", lostInHandover().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{Limit: new(0)} })},
		"claims that were handed over":                      {"ClaimKept", lostInHandover().edit(func(c *change) { c.Object.Claim.DeleteWhenReplaced = true })},
		"claims that were handed over and are old enough":   {"", lostInHandover().edit(func(c *change) { c.Object.Claim.DeleteAfter = time.Hour })},
		"claims within the limit":                           {"ClaimKept", spentA().edit(func(c *change) { c.Object.Claim = pool.ClaimPolicy{Limit: new(1)} })},
	} {
		covered[tc.rule] = true
		t.Run(sentence, func(t *testing.T) {
			expect(t, tc.rule, pools.Broken(tc.Snapshot, tc.steps, tc.decision), pools.Check(tc.Snapshot, tc.steps, tc.decision))
		})
	}
	for _, rule := range pools.Rules() {
		if !covered[rule.Name] && !strings.Contains(rule.Name, "Grant") { // those are in the test below
			t.Errorf("no case breaks %s", rule.Name)
		}
	}
}

func granted(id pool.ID, known time.Duration) plan.Intent {
	i := intent(id, reason.EvictionGranted)
	i.Known = known
	return i
}

func TestEveryRuleOfEvictionsCanBeBrokenAlone(t *testing.T) {
	covered := map[string]bool{}
	allowed := func(c *change) *change { return c.records(granted("a", 0)) }
	down := func(c *change) { c.pod("a").Phase = plan.Starting }
	for sentence, tc := range map[string]struct {
		rule string
		*change
		version plan.Version // of the answer
	}{
		"a pod that serves":                        {"", allowed(three()), 0},
		"a pod that serves without a record":       {"GrantRecorded", three(), 0},
		"a pod recorded at another version":        {"GrantRecorded", allowed(three()).edit(func(c *change) { c.pod("a").Version = 11 }), 0},
		"a pod under a hold from outside":          {"GrantRecorded", allowed(three()).edit(func(c *change) { c.Hold.Exists, c.Hold.Holder = true, "manual/me" }), 0},
		"a grant that drops another":               {"GrantRecorded", allowed(three()).edit(func(c *change) { c.Object.Strategy.MaxUnavailable.Pods = 2 }).edit(func(c *change) { c.Hold.Intents = []plan.Intent{granted("b", 0)} }), 0},
		"a pod while another is down":              {"GrantWithinBudget", allowed(three()).edit(func(c *change) { c.pod("b").Phase = plan.Starting }), 0},
		"a pod while another is recorded":          {"GrantWithinBudget", allowed(three().has(granted("b", 0))).records(granted("b", 0)), 0},
		"one pod although none may be unavailable": {"", allowed(three()).edit(func(c *change) { c.Object.Strategy.MaxUnavailable.Pods = 0 }), 0},
		"a pod of an object that is being deleted": {"", three().edit(func(c *change) { c.Object.Deleting = true }), 0},
		"a pod that is down":                       {"", three().edit(down), 10},
		"a pod that is down at any version":        {"ExactGrant", three().edit(down), 0},
		"a pod that terminates at any version":     {"", three().edit(func(c *change) { c.pod("a").Phase = plan.Terminating }), 0},
		"a pod of another owner":                   {"ExactGrant", three().edit(down).edit(func(c *change) { c.pod("a").Owner = "other" }), 10},
		"another pod of the name":                  {"ExactGrant", three().edit(down).edit(func(c *change) { c.pod("a").UID = "next" }), 10},
	} {
		covered[tc.rule] = true
		t.Run(sentence, func(t *testing.T) {
			ask, answer := plan.EvictionRequest{Pod: "web-a", UID: "a"}, plan.EvictionAnswer{Version: tc.version}
			expect(t, tc.rule, pools.BrokenByEviction(tc.Snapshot, ask, answer, tc.decision), pools.CheckEviction(tc.Snapshot, ask, answer, tc.decision))
		})
	}
	for _, rule := range pools.Rules() {
		if !covered[rule.Name] && strings.Contains(rule.Name, "Grant") {
			t.Errorf("no case breaks %s", rule.Name)
		}
	}
}

// expect checks that exactly one rule is broken, or none.
func expect(t *testing.T, want string, broken []string, found *invariant.Violation) {
	t.Helper()
	if got := strings.Join(broken, ", "); got != want {
		t.Errorf("breaks %q, want %q", got, want)
	}
	if (found == nil) != (want == "") || found != nil && (found.Name != want || found.Detail == "") {
		t.Errorf("found %v, want %q with a detail", found, want)
	}
}

func TestAnEvictionThatIsRefusedBreaksNothing(t *testing.T) {
	c, refused := three(), plan.EvictionAnswer{Because: plan.Refusal{Code: reason.PodStarting}}
	if found := pools.CheckEviction(c.Snapshot, plan.EvictionRequest{Pod: "web-a", UID: "a"}, refused, hold.Decision{}); found != nil {
		t.Error(found)
	}
}
