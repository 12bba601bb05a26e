package pool_test

import (
	"cmp"
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
			s.Orphans.Pods, s.Unlabelled = slices.Clone(s.Orphans.Pods), slices.Clone(s.Unlabelled)
			source.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
			source.Shuffle(len(s.Claims), func(i, j int) { s.Claims[i], s.Claims[j] = s.Claims[j], s.Claims[i] })
			source.Shuffle(len(s.Revisions), func(i, j int) { s.Revisions[i], s.Revisions[j] = s.Revisions[j], s.Revisions[i] })
			source.Shuffle(len(s.Orphans.Pods), func(i, j int) { s.Orphans.Pods[i], s.Orphans.Pods[j] = s.Orphans.Pods[j], s.Orphans.Pods[i] })
			source.Shuffle(len(s.Unlabelled), func(i, j int) { s.Unlabelled[i], s.Unlabelled[j] = s.Unlabelled[j], s.Unlabelled[i] })
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

// A missing pod is created whatever else is broken, under any hold. Only what is to come again keeps its place, and what is to be
// adopted, and a pod that terminates if its end is awaited. No pod is created before orphans have been looked for, or while some still
// belong to something else.
func TestHolesAreFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		s.Object.Ordered, s.Object.ScaleMaxUnavailable, s.Object.Keep, s.Object.Replicas = false, pool.Share{}, pool.KeepPolicy{}, 4
		s.Hold.Intents = nil
		for i := range s.Claims {
			s.Claims[i].Retain, s.Claims[i].From = false, ""
		}
		steps := pool.Plan(s)
		if plan.Has[pool.LookForOrphans](steps) || awaitsAnOwner(&s) {
			return
		}
		places := len(plan.Only[pool.AdoptPod](steps)) + len(awaitedOrphans(&s, steps))
		for _, p := range s.Pods {
			isNew := p.Gated || len(p.Mounts) == 0 && s.Now.Sub(p.Created.Time()) < 320*time.Second
			ends := p.Phase == plan.Terminating && (p.Finished || !s.Object.AwaitEnds)
			if p.Owner == s.Object.UID && (!p.Unmatched || isNew) && !ends {
				places++
			}
		}
		for _, birth := range plan.Only[pool.CreatePods](steps) {
			places += len(birth.IDs)
		}
		if places < s.Object.Replicas {
			t.Fatalf("%d of %d places are filled after\n%s", places, s.Object.Replicas, plan.Notation(steps))
		}
	})
}

// No pod is created beyond those that are asked for and the surge. If ends are awaited, terminating pods count as well.
func TestBirthsStayWithinTheSurge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		steps, born, exist := pool.Plan(s), 0, 0
		for _, birth := range plan.Only[pool.CreatePods](steps) {
			born += len(birth.IDs)
		}
		for _, p := range s.Pods {
			counts := p.Phase != plan.Terminating || s.Object.AwaitEnds
			if p.Owner == s.Object.UID && !p.Unmatched && !p.Finished && counts {
				exist++
			}
		}
		if limit := s.Object.ScaleMaxUnavailable.Pods; limit > 0 && born > limit {
			t.Fatalf("%d pods are created, and at most %d may be unavailable after\n%s", born, limit, plan.Notation(steps))
		}
		most := s.Object.Replicas
		if s.Object.Strategy.Policy == pool.Recreate && !s.Object.Strategy.OnDelete && !s.Object.PausedAt(s.Now) {
			most += s.Object.Strategy.MaxSurge.Of(s.Object.Replicas)
		}
		if born > 0 && exist+born > most {
			t.Fatalf("%d pods exist, %d are created, at most %d may exist after\n%s", exist, born, most, plan.Notation(steps))
		}
	})
}

// awaitsAnOwner reports whether a look has shown a pod that is to be adopted and still belongs to something else.
func awaitsAnOwner(s *pool.Snapshot) bool {
	return s.Object.Adopt && slices.ContainsFunc(s.Orphans.Pods, func(o pool.Orphan) bool {
		return o.Controller != "" && strings.HasPrefix(o.Name, "web-")
	})
}

// awaitedOrphans returns the pods that are not of the object, and for whose adoption a plan waits.
func awaitedOrphans(s *pool.Snapshot, steps []plan.Action) map[string]bool {
	awaited := map[string]bool{}
	for _, w := range plan.Only[plan.Wait](steps) {
		if w.Because.Code == reason.AdoptionWaits {
			awaited[w.Because.Pod] = true
		}
	}
	for _, p := range s.Pods {
		if p.Owner == s.Object.UID {
			delete(awaited, p.Name)
		}
	}
	return awaited
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

// anySnapshot draws a StatefulCluster of the revisions 1 and 2 with pods, claims, nodes, orphans and a record in any state.
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
		s.Claims = append(s.Claims, anyClaims(t, &s, id, cmp.Or(p.From, p.UID))...)
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
	if rapid.IntRange(0, 5).Draw(t, "a pod with the label of another identity") == 0 {
		id := pool.ID(rapid.SampledFrom([]string{"0", "a", "x"}).Draw(t, "that identity"))
		s.Pods = append(s.Pods, pool.Pod{ID: id, Scheduled: true, Pod: plan.Pod{Name: "copy", UID: "copy", Version: 10, Phase: plan.Ready}})
	}
	s.Orphans, s.Unlabelled = anyOrphans(t, &s), anyUnlabelled(t, &s)
	anyRecord(t, &s)
	return s
}

// anyRecord draws what the Lease says beside the intents that are drawn already. One that cannot be read has none, and says perhaps
// how many pods were asked for.
func anyRecord(t *rapid.T, s *pool.Snapshot) {
	s.Hold.Exists, s.Hold.UID, s.Hold.Own = true, "lease", rapid.Bool().Draw(t, "own")
	switch {
	case rapid.IntRange(0, 7).Draw(t, "unreadable") == 0:
		s.Hold.Unreadable, s.Hold.Intents = "damaged", nil
	case rapid.IntRange(0, 7).Draw(t, "another holder") == 0:
		s.Hold.Holder = "manual/me"
	case len(s.Hold.Intents) > 0:
		s.Hold.Holder = plan.StatefulClusterOperation.For("web")
	}
	if rapid.IntRange(0, 2).Draw(t, "recorded replicas") > 0 {
		s.Part = pool.Part{Replicas: rapid.IntRange(0, 6).Draw(t, "how many replicas are recorded"), Recorded: true}
	}
}

func anyObject(t *rapid.T) pool.Object {
	o := pool.Object{
		UID: "u", Version: 9, Generation: 1, Hash: "2", Replicas: rapid.IntRange(0, 5).Draw(t, "replicas"), RevisionHistory: 10,
		Paused: rapid.IntRange(0, 4).Draw(t, "paused") == 0, Ordered: rapid.IntRange(0, 4).Draw(t, "ordered") == 0,
		Keep:            pool.KeepPolicy{OnDelete: rapid.IntRange(0, 3).Draw(t, "keep deleted") == 0, OnEviction: rapid.IntRange(0, 3).Draw(t, "keep evicted") == 0},
		HandoverTimeout: 10 * time.Minute, Deadline: 10 * time.Minute,
		Liveness:  pool.Liveness{NodeLost: 5 * time.Minute, Startup: 10 * time.Minute, CrashLoop: time.Hour, NotReady: time.Hour, MaxUnhealthy: pool.Share{Percent: 40}},
		AwaitEnds: rapid.IntRange(0, 3).Draw(t, "await ends") == 0, Adopt: rapid.IntRange(0, 3).Draw(t, "adopt") == 0,
		Claim: anyClaimPolicy(t), Strategy: anyStrategy(t),
	}
	if o.Paused {
		in := rapid.SampledFrom([]time.Duration{0, time.Hour, -time.Second}).Draw(t, "paused for")
		o.PausedUntil = map[bool]plan.Moment{false: {Time: start.Add(in)}, true: {}}[in == 0]
	}
	if rapid.IntRange(0, 5).Draw(t, "births are limited") == 0 {
		o.ScaleMaxUnavailable = pool.Share{Pods: rapid.IntRange(1, 2).Draw(t, "pods that may be unavailable")}
	}
	for _, name := range []string{"data", "logs"}[:rapid.IntRange(0, 2).Draw(t, "claim templates")] {
		o.Claims = append(o.Claims, pool.ClaimTemplate{Name: name})
	}
	return o
}

func anyClaimPolicy(t *rapid.T) pool.ClaimPolicy {
	policy := pool.ClaimPolicy{DeleteWhenScaled: rapid.Bool().Draw(t, "delete when scaled"), DeleteWhenReplaced: rapid.Bool().Draw(t, "delete when replaced")}
	policy.DeleteAfter = rapid.SampledFrom([]time.Duration{0, 0, 30 * time.Second, time.Hour}).Draw(t, "delete after")
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		policy.Limit = new(rapid.IntRange(0, 2).Draw(t, "limit"))
	}
	return policy
}

// anyStrategy draws how pods are updated. With a surge, which only Recreate has, no pod need be unavailable.
func anyStrategy(t *rapid.T) pool.Strategy {
	s := pool.Strategy{
		Policy:    rapid.SampledFrom([]pool.PodUpdatePolicy{pool.InPlaceIfPossible, pool.InPlaceOnly, pool.RecreateKeepIdentity, pool.Recreate, pool.Recreate}).Draw(t, "policy"),
		Partition: pool.Share{Pods: rapid.IntRange(0, 2).Draw(t, "partition")}, OnDelete: rapid.IntRange(0, 5).Draw(t, "on delete") == 0,
	}
	least := 1
	if s.Policy == pool.Recreate && rapid.Bool().Draw(t, "surges") {
		s.MaxSurge, least = rapid.SampledFrom([]pool.Share{{Pods: 1}, {Pods: 2}, {Percent: 50}}).Draw(t, "max surge"), 0
	}
	s.MaxUnavailable = pool.Share{Pods: rapid.IntRange(least, 2).Draw(t, "max unavailable")}
	return s
}

// anyOrphans draws what a look for orphans has shown: pods without the labels of the pool, also of an owner or of a name that keeps them
// from being adopted, and perhaps a pod that has got the labels since.
func anyOrphans(t *rapid.T, s *pool.Snapshot) pool.Orphans {
	ago := rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute}).Draw(t, "last look")
	if ago == 0 {
		return pool.Orphans{}
	}
	found := pool.Orphans{At: start.Add(-ago)}
	for _, name := range []string{"web-0", "web-1", "store-0"}[:rapid.IntRange(0, 3).Draw(t, "orphans")] {
		o := pool.Orphan{Name: name, UID: "uid of " + name, Version: 9, Labelled: rapid.IntRange(0, 3).Draw(t, "labels of "+name) == 0}
		if rapid.IntRange(0, 2).Draw(t, "controller of "+name) == 0 {
			o.Controller = "StatefulSet/web"
		}
		found.Pods = append(found.Pods, o)
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; rapid.IntRange(0, 7).Draw(t, "look at "+p.Name) == 0 {
			found.Pods = append(found.Pods, pool.Orphan{Name: p.Name, UID: p.UID, Version: 9})
		}
	}
	return found
}

// anyUnlabelled draws the claims without labels that a live read finds because pods mount them: some of those that are missing otherwise.
func anyUnlabelled(t *rapid.T, s *pool.Snapshot) []pool.UnlabelledClaim {
	var found []pool.UnlabelledClaim
	for i := range s.Pods {
		for _, m := range s.Pods[i].Mounts {
			labelled := slices.ContainsFunc(s.Claims, func(c pool.Claim) bool { return c.Name == m.Claim })
			if !s.Live || labelled || s.Pods[i].Gated || rapid.Bool().Draw(t, "lack of "+m.Claim) {
				continue
			}
			c := pool.UnlabelledClaim{Name: m.Claim, Template: m.Template, UID: "claim", Version: 10}
			if rapid.IntRange(0, 3).Draw(t, "owner of "+m.Claim) == 0 {
				c.Owner = "StatefulSet/web"
			}
			found = append(found, c)
		}
	}
	return found
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
	case rarely("wait for a node"):
		p.Scheduled, p.Node = false, pool.Node{}
	case rarely("illness"):
		p.NotReady = ago("illness")
	case rarely("end of containers"):
		p.Finished, p.Disrupted, p.Ran = true, rarely("eviction"), rarely("run of containers")
		if rapid.Bool().Draw(t, name("time of that end")) {
			p.Ended = p.Created + plan.UnixTime(rapid.IntRange(0, int(plan.UnixTimeOf(start)-p.Created)).Draw(t, name("age at that end")))
		}
	}
	switch {
	case rarely("node gone"):
		p.Node.Gone = p.Scheduled
	case rarely("silence") && p.Scheduled:
		p.Node.Silent = ago("silence")
	}
	if rarely("pod before it") || !p.Gated && !p.Scheduled && rapid.Bool().Draw(t, name("hand-over to another node")) {
		p.From = "uid before " + p.UID
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
			c.Retired, c.Ended = true, start.Add(-rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 2 * time.Hour}).Draw(t, name("time of the end")))
			c.Because = rapid.SampledFrom([]reason.Code{reason.ScaledDown, reason.IdentityLost, reason.PodFinished, reason.CrashLooping}).Draw(t, name("reason"))
		case rarely("mark"):
			c.From, c.Retain = uid, rarely("retention")
		case rarely("other object"):
			c.Pool = "earlier"
		}
		c.Keep = rarely("wish to keep it")
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
