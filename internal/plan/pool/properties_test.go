package pool_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// A hundred cases are too few for rare situations. The flag -rapid.checks and RAPID_CHECKS take precedence.
func init() {
	if os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "3000"); err != nil {
			panic(err)
		}
	}
}

func TestNoPlanBreaksARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		steps := pool.Plan(s)
		if broken := pools.Check(s, steps, hold.Decide(&s, steps)); broken != nil {
			t.Fatalf("%s\nbreaks %v", plan.Notation(steps), broken)
		}
	})
}

func TestNoEvictionBreaksARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		for _, p := range s.Pods {
			ask := plan.EvictionRequest{Pod: p.Name, UID: p.UID}
			answer := pool.OutlookOf(s).Evict(ask)
			if broken := brokenBy(s, ask, answer); broken != nil {
				t.Fatalf("the eviction of %s breaks %v", p.Name, broken)
			}
		}
	})
}

// The order in which caches list objects says nothing.
func TestPlansDoNotDependOnTheOrderOfObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		want := sortedPlan(s)
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		for range 3 {
			s.Pods, s.Claims, s.Revisions = slices.Clone(s.Pods), slices.Clone(s.Claims), slices.Clone(s.Revisions)
			source.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
			source.Shuffle(len(s.Claims), func(i, j int) { s.Claims[i], s.Claims[j] = s.Claims[j], s.Claims[i] })
			source.Shuffle(len(s.Revisions), func(i, j int) { s.Revisions[i], s.Revisions[j] = s.Revisions[j], s.Revisions[i] })
			if got := sortedPlan(s); got != want {
				t.Fatalf("first\n%s\nthen\n%s", want, got)
			}
		}
	})
}

func sortedPlan(s pool.Snapshot) string {
	s.Draw = drawn()
	lines := strings.Split(plan.Notation(slices.DeleteFunc(pool.Plan(s), func(a plan.Action) bool { _, is := a.(plan.Wait); return is })), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A missing pod is created whatever else is broken, under any hold. Only what is to come again keeps its place.
func TestHolesAreFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		s.Object.Ordered, s.Object.Keep, s.Object.Replicas = false, pool.KeepPolicy{}, 4
		s.Hold.Intents = nil
		for i := range s.Claims {
			s.Claims[i].Retain, s.Claims[i].From = false, ""
		}
		places := 0
		for _, p := range s.Pods {
			isNew := p.Gated || len(p.Mounts) == 0 && s.Now.Sub(p.Created.Time()) < 320*time.Second
			if p.Owner == s.Object.UID && (!p.Unmatched || isNew) && p.Phase != plan.Terminating {
				places++
			}
		}
		steps := pool.Plan(s)
		places += len(plan.Only[pool.AdoptPod](steps))
		for _, birth := range plan.Only[pool.CreatePods](steps) {
			places += len(birth.IDs)
		}
		if places < s.Object.Replicas {
			t.Fatalf("%d of %d places are filled after\n%s", places, s.Object.Replicas, plan.Notation(steps))
		}
	})
}

// If nothing is done and nothing is waited for, the goal is reached.
func TestSilenceMeansTheGoalIsReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		if steps := pool.Plan(s); len(steps) > 0 {
			return
		}
		available := 0
		for _, p := range s.Pods {
			if p.Owner == s.Object.UID && !p.Unmatched && p.Phase == plan.Ready {
				available++
			}
		}
		held := len(s.Hold.Intents) > 0 || !s.Hold.Holder.Free()
		if available != s.Object.Replicas || held && !s.Hold.Holder.Foreign() {
			t.Fatalf("%d of %d pods are Ready, the hold %q has %d intents", available, s.Object.Replicas, s.Hold.Holder, len(s.Hold.Intents))
		}
	})
}

// anySnapshot draws a StatefulCluster of the revisions 1 and 2 with pods, claims, nodes and a record in any state.
func anySnapshot(t *rapid.T) pool.Snapshot {
	s := pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "web"}, Now: start, Live: rapid.Bool().Draw(t, "live"),
		ObjectsAt: 100, PodsAt: 100, ClaimsAt: 100, Draw: drawn(),
		Revisions: []pool.Revision{{Name: "1", Hash: "1", Number: 1}, {Name: "2", Hash: "2", Number: 2}},
		Changes:   map[string]pool.Change{"1": {InPlace: rapid.Bool().Draw(t, "in place")}},
	}
	s.Object = anyObject(t)
	for i := range s.Revisions {
		s.Revisions[i].Claims = s.Object.Claims
	}
	for _, id := range []pool.ID{"a", "b", "c", "d", "e"}[:rapid.IntRange(0, 5).Draw(t, "pods")] {
		p := anyPod(t, &s, id)
		s.Pods = append(s.Pods, p)
		s.Claims = append(s.Claims, anyClaims(t, &s, id, p.UID)...)
		if rapid.IntRange(0, 3).Draw(t, "recorded "+string(id)) == 0 {
			s.Hold.Intents = append(s.Hold.Intents, anyIntent(t, p.Name, p.UID, p.Version))
		}
	}
	for _, id := range []pool.ID{"x", "y"}[:rapid.IntRange(0, 2).Draw(t, "identities without pods")] {
		s.Claims = append(s.Claims, anyClaims(t, &s, id, "uid of "+string(id))...)
		if rapid.IntRange(0, 3).Draw(t, "recorded "+string(id)) == 0 {
			s.Hold.Intents = append(s.Hold.Intents, anyIntent(t, pool.PodName("web", id), "uid of "+string(id), 12))
		}
	}
	s.Hold.Exists, s.Hold.UID, s.Hold.Own = true, "lease", rapid.Bool().Draw(t, "own")
	switch {
	case rapid.IntRange(0, 7).Draw(t, "another holder") == 0:
		s.Hold.Holder = "manual/me"
	case len(s.Hold.Intents) > 0:
		s.Hold.Holder = plan.StatefulClusterOperation.For("web")
	}
	return s
}

func anyObject(t *rapid.T) pool.Object {
	o := pool.Object{
		UID: "u", Version: 9, Generation: 1, Hash: "2", Replicas: rapid.IntRange(0, 5).Draw(t, "replicas"), RevisionHistory: 10,
		Paused: rapid.IntRange(0, 4).Draw(t, "paused") == 0, Ordered: rapid.IntRange(0, 4).Draw(t, "ordered") == 0,
		Keep:            pool.KeepPolicy{OnDelete: rapid.IntRange(0, 3).Draw(t, "keep deleted") == 0, OnEviction: rapid.IntRange(0, 3).Draw(t, "keep evicted") == 0},
		HandoverTimeout: 10 * time.Minute, Deadline: 10 * time.Minute,
		Liveness: pool.Liveness{NodeLost: 5 * time.Minute, Startup: 10 * time.Minute, CrashLoop: time.Hour, NotReady: time.Hour, MaxUnhealthy: pool.Share{Percent: 40}},
		Claim:    pool.ClaimPolicy{DeleteWhenScaled: rapid.Bool().Draw(t, "delete when scaled"), DeleteWhenReplaced: rapid.Bool().Draw(t, "delete when replaced")},
		Strategy: pool.Strategy{
			MaxUnavailable: pool.Share{Pods: rapid.IntRange(1, 2).Draw(t, "max unavailable")}, Partition: pool.Share{Pods: rapid.IntRange(0, 2).Draw(t, "partition")},
			Policy: rapid.SampledFrom([]pool.PodUpdatePolicy{pool.InPlaceIfPossible, pool.InPlaceOnly, pool.RecreateKeepIdentity, pool.Recreate}).Draw(t, "policy"),
		},
	}
	for _, name := range []string{"data", "logs"}[:rapid.IntRange(0, 2).Draw(t, "claim templates")] {
		o.Claims = append(o.Claims, pool.ClaimTemplate{Name: name})
	}
	return o
}

func anyPod(t *rapid.T, s *pool.Snapshot, id pool.ID) pool.Pod {
	name := func(what string) string { return what + " of " + string(id) }
	rarely := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, name(what)) == 0 }
	ago := func(what string) time.Time {
		return start.Add(-time.Duration(rapid.SampledFrom([]int{1, 30, 400, 4000}).Draw(t, name(what))) * time.Second)
	}
	p := pool.Pod{
		ID: id, Owner: "u", Scheduled: true, Node: pool.Node{Name: "n"}, Containers: []pool.Container{{Name: "db", Image: "db:1", ID: "first", Running: true}},
		Pod: plan.Pod{
			Name: pool.PodName("web", id), UID: string(id), Version: plan.Version(rapid.IntRange(10, 12).Draw(t, name("version"))), Created: plan.UnixTimeOf(ago("age")),
			Revision: rapid.SampledFrom([]string{"1", "2"}).Draw(t, name("revision")), Phase: rapid.SampledFrom([]plan.Phase{plan.Ready, plan.Ready, plan.Starting, plan.Failing, plan.Terminating}).Draw(t, name("phase")),
		},
	}
	switch {
	case p.Phase == plan.Ready:
		p.ReadySince = start.Add(-time.Second)
	case p.Phase == plan.Failing:
		p.NotReady, p.Why = ago("illness"), "CrashLoopBackOff"
	case p.Phase == plan.Terminating:
		p.EndsBy, p.Disrupted = ago("end"), rarely("eviction")
	case rarely("gate"):
		p.Gated, p.Scheduled, p.Node = true, false, pool.Node{}
	case rarely("end of containers"):
		p.Finished, p.Disrupted = true, rarely("eviction")
	}
	switch {
	case rarely("node gone"):
		p.Node.Gone = !p.Gated
	case rarely("silence") && !p.Gated:
		p.Node.Silent = ago("silence")
	}
	p.Asked, p.Unmatched, p.Retain = rarely("request"), rarely("other labels"), rarely("retention")
	if rarely("owner") {
		p.Owner = rapid.SampledFrom([]string{"", "stranger"}).Draw(t, name("owner"))
	}
	for _, template := range s.Object.Claims {
		p.Mounts = append(p.Mounts, pool.Mount{Template: template.Name, Claim: pool.ClaimName("web", template.Name, id)})
	}
	return p
}

// anyClaims draws the claims of an identity. Some are missing.
func anyClaims(t *rapid.T, s *pool.Snapshot, id pool.ID, uid string) []pool.Claim {
	var claims []pool.Claim
	var siblings []string
	for _, template := range s.Object.Claims {
		siblings = append(siblings, template.Name)
	}
	for _, template := range siblings {
		name := func(what string) string { return fmt.Sprintf("%s of claim %s of %s", what, template, id) }
		rarely := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, name(what)) == 0 }
		c := pool.Claim{Name: pool.ClaimName("web", template, id), UID: "claim", Version: 10, ID: id, Template: template, Pool: "u", Siblings: siblings}
		switch {
		case rarely("lack"):
			continue
		case rarely("deletion"):
			c.Deleting = true
		case rarely("end"):
			c.Retired, c.Ended = true, start.Add(-time.Minute)
			c.Because = rapid.SampledFrom([]reason.Code{reason.ScaledDown, reason.IdentityLost, reason.PodFinished, reason.CrashLooping}).Draw(t, name("reason"))
		case rarely("mark"):
			c.From, c.Retain = uid, rarely("retention")
		case rarely("other object"):
			c.Pool = "earlier"
		}
		claims = append(claims, c)
	}
	return claims
}

// anyIntent draws a record of a pod that a view as new as that shows at a version.
func anyIntent(t *rapid.T, pod, uid string, shown plan.Version) plan.Intent {
	return plan.Intent{
		Zone: "web", Pod: pod, UID: uid, Version: plan.Version(rapid.IntRange(10, int(shown)).Draw(t, "version of the record of "+pod)), Since: start.Add(-time.Minute), Known: time.Minute,
		Cause: rapid.SampledFrom([]reason.Code{reason.ScaledDown, reason.IdentityHandover, reason.UpdatedInPlace, reason.PodFinished, reason.NodeLost}).Draw(t, "cause of the record of "+pod),
	}
}
