package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// fault is something that goes wrong in a plan.
type fault struct {
	words string // for people

	// late are resources of which a replica's watches tell late, alone if what others tell
	// has to be known at once.
	late  map[string]time.Duration
	alone bool
	// script meets requests of a replica. One that is early does so from the
	// operator's start, when its watches begin; others from the first step on.
	script func(*replica) faultproxy.Script
	early  bool
	// lists lets a replica's caches begin with what the API server's cache has.
	lists bool
	// former lets a replica begin as the operator of a former commit.
	former bool
	// elsewhere is the group of which a zone is in another one for a while.
	elsewhere string
	// clocks are those that the replicas live by; nil: true ones.
	clocks *[2]clocks
	// deed is done once, at a time after the first step began.
	deed func(context.Context, *trial, *replica) error
	at   time.Duration

	// replica is whom it befalls; -1: both.
	replica int
	// once: of the faults with the same word here a plan has one at most.
	once string
}

// befalls reports whether a fault is one of a replica's.
func (f fault) befalls(replica int) bool { return f.replica < 0 || f.replica == replica }

// sources are the kinds of faults, each with how often it is drawn.
var sources = []struct {
	share int
	draw  func(*rand.Rand) fault
}{
	{5, killedAtWrites},
	{3, seenLate},
	{2, statesMissed},
	{1, watchesSlow},
	{4, refused},
	{2, garbled},
	{3, goneBack},
	{2, paused},
	{2, lateWrites},
	{4, podLosesReady},
	{3, podDeleted},
	{2, leadershipDeleted},
	{2, leadershipTaken},
	{2, formerVersion},
	{2, clocksWrong},
	{1, webhooksCut},
	{1, apiserverRestarts},
	{1, etcdRestarts},
}

// mostFaults is how many a plan may have.
const mostFaults = 4

// newFaults draws one to four faults.
func newFaults(random *rand.Rand) []fault {
	shares := 0
	for _, s := range sources {
		shares += s.share
	}
	var faults []fault
	for wanted := 1 + random.IntN(mostFaults); len(faults) < wanted; {
		drawn := random.IntN(shares)
		for _, s := range sources {
			if drawn -= s.share; drawn < 0 {
				if f := s.draw(random); !f.isAgain(faults) {
					faults = append(faults, f)
				}
				break
			}
		}
	}
	return faults
}

// isAgain reports whether a fault was drawn that a plan has once at most.
func (f fault) isAgain(drawn []fault) bool {
	return f.once != "" && slices.ContainsFunc(drawn, func(other fault) bool { return other.once == f.once })
}

// anyReplica draws whom a fault befalls.
func anyReplica(random *rand.Rand) int { return random.IntN(3) - 1 }

func oneReplica(random *rand.Rand) int { return random.IntN(2) }

// killedAtWrites kills an operator at some of its writes, each counted from the last.
func killedAtWrites(random *rand.Rand) fault {
	var gaps []int
	var after []bool
	for range 1 + random.IntN(4) {
		gaps, after = append(gaps, 1+random.IntN(12)), append(after, random.IntN(2) == 0)
	}
	return fault{
		words:   fmt.Sprintf("operators are killed at these writes, each counted from the last: %v (after the answer: %v)", gaps, after),
		replica: -1,
		script: func(r *replica) faultproxy.Script {
			next, since := 0, 0
			return func(q faultproxy.Request) faultproxy.Fault {
				if q.Kind != faultproxy.Write || next == len(gaps) || !r.runs() {
					return faultproxy.Fault{}
				}
				if since++; since < gaps[next] {
					return faultproxy.Fault{}
				}
				next, since = next+1, 0
				if after[next-1] {
					return faultproxy.CrashAfter(r.crash(crashAfter))
				}
				return faultproxy.CrashBefore(r.crash(crashBefore))
			}
		},
	}
}

// How a proxy names what counts here at the kill: who is to be killed may be dead already.
var crashBefore, crashAfter = faultproxy.CrashBefore(nil).String(), faultproxy.CrashAfter(nil).String()

func seenLate(random *rand.Rand) fault {
	resources := []string{"pods", "statefulsets", "leases"}
	late := map[string]time.Duration{}
	for _, i := range random.Perm(len(resources))[:1+random.IntN(len(resources))] {
		late[resources[i]] = between(random, 200*time.Millisecond, 2500*time.Millisecond)
	}
	f := fault{late: late, replica: anyReplica(random), once: "late"}
	f.words = fmt.Sprintf("%s seen late: %v", whose(f.replica), late)
	return f
}

// seenAloneLate lets the watches of pods or of StatefulSets tell late by seconds, while all
// others tell at once.
func seenAloneLate(random *rand.Rand) fault {
	resource := []string{"pods", "statefulsets", "statefulsets"}[random.IntN(3)]
	d := between(random, 3*time.Second, 8*time.Second)
	f := fault{late: map[string]time.Duration{resource: d}, alone: true, replica: anyReplica(random), once: "late"}
	f.words = fmt.Sprintf("%s %s alone are seen late by %s", whose(f.replica), resource, d)
	return f
}

// statesMissed ends watches, and lets their continuation be refused: what was only so
// in between is never heard of.
func statesMissed(random *rand.Rand) fault {
	life := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true}
	dice := random.Uint64()
	f.words = fmt.Sprintf("%s watches end after %s, and half of those that go on are told that it is too late for that", whose(f.replica), life)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 1, faultproxy.Watch, 3, faultproxy.Answered(http.StatusGone)),
			sometimes(r, dice, 2, faultproxy.Watch, 2, faultproxy.Shortened(life)),
		)
	}
	return f
}

func watchesSlow(random *rand.Rand) fault {
	hold := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true}
	dice := random.Uint64()
	f.words = fmt.Sprintf("%s watches begin %s late and end early", whose(f.replica), hold)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 3, faultproxy.Watch, 2, faultproxy.Held(hold)),
			sometimes(r, dice, 4, faultproxy.Watch, 2, faultproxy.Shortened(2*time.Second)),
		)
	}
	return f
}

// refused lets any request be answered by an error, or not in time.
func refused(random *rand.Rand) fault {
	codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	var chosen []int
	var answers []faultproxy.Fault
	for _, i := range random.Perm(len(codes))[:1+random.IntN(3)] {
		chosen = append(chosen, codes[i])
		answers = append(answers, faultproxy.Answered(codes[i]))
	}
	oneOf := 2 + random.IntN(4)
	f, dice := fault{replica: anyReplica(random)}, random.Uint64()
	f.words = fmt.Sprintf("one in %d of %s requests is answered one of %v", oneOf, whose(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 5, faultproxy.Write, oneOf, answers...), sometimes(r, dice, 6, faultproxy.Event, oneOf, answers...),
			sometimes(r, dice, 7, faultproxy.Leader, 2*oneOf, answers...), sometimes(r, dice, 8, faultproxy.Read, oneOf, answers...),
			sometimes(r, dice, 9, faultproxy.Watch, oneOf, answers...),
		)
	}
	return f
}

// heldAtMost is longer than operators wait for an answer.
const heldAtMost = 15 * time.Second

// garbled lets requests go astray on their way.
func garbled(random *rand.Rand) fault {
	ways := []faultproxy.Fault{
		faultproxy.Lost(), faultproxy.Cut(), faultproxy.Repeated(), faultproxy.Held(between(random, 100*time.Millisecond, heldAtMost)),
	}
	var chosen []faultproxy.Fault
	for _, i := range random.Perm(len(ways))[:1+random.IntN(2)] {
		chosen = append(chosen, ways[i])
	}
	oneOf := 4 + random.IntN(6)
	f, dice := fault{replica: anyReplica(random)}, random.Uint64()
	f.words = fmt.Sprintf("one in %d of %s writes meets one of %v", oneOf, whose(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 10, faultproxy.Write, oneOf, chosen...), sometimes(r, dice, 11, faultproxy.Leader, 2*oneOf, chosen...),
		)
	}
	return f
}

// sometimes is faultproxy.Sometimes with a seed of the fault's, the replica's and its
// own.
func sometimes(r *replica, dice, own uint64, kind faultproxy.Kind, oneOf int, faults ...faultproxy.Fault) faultproxy.Script {
	return faultproxy.Sometimes(dice^(own<<1+uint64(r.number)), kind, oneOf, faults...)
}

// goneBack lets an operator's caches go on by an API server that lags, or begin anew by
// it: with a state older than the one that the process before knew. What it reads live
// and what it writes goes to the other API server.
func goneBack(random *rand.Rand) fault {
	anew := random.IntN(3) > 0
	f := fault{replica: oneReplica(random), lists: true, at: between(random, time.Second, 6*time.Second), once: "stale"}
	f.words = fmt.Sprintf("after %s the %s operator's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	if anew {
		f.words = fmt.Sprintf("after %s the %s operator is killed, and its next one's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	}
	f.deed = func(_ context.Context, t *trial, r *replica) error {
		if err := r.proxy.CacheAt(t.ground.stale.AdminConfig().Host); err != nil {
			return err
		}
		r.lags()
		if anew {
			r.crash("begun anew with an older state")()
			return nil
		}
		atWork := r.runs()
		r.proxy.Leave()
		err := r.proxy.Return()
		if err == nil && atWork {
			t.count("watches moved to an API server that lags")
		}
		return err
	}
	return f
}

// formerVersion lets one of the operators be an older one, which may be replaced.
func formerVersion(random *rand.Rand) fault {
	f := fault{replica: oneReplica(random), former: true, at: between(random, 2*time.Second, 8*time.Second), once: "former"}
	f.words = fmt.Sprintf("the %s operator is of a former version", ordinals[f.replica])
	if random.IntN(2) == 0 {
		f.words += fmt.Sprintf(" and replaced after %s", f.at)
		f.deed = func(ctx context.Context, t *trial, r *replica) error {
			upgraded, err := r.upgrade(ctx)
			if upgraded {
				t.count("upgraded")
			}
			return err
		}
	}
	return f
}

func webhooksCut(random *rand.Rand) fault {
	f := fault{replica: -1, at: between(random, 0, 2*time.Second)}
	f.words = fmt.Sprintf("from %s on, connections to webhooks are cut five times in five seconds", f.at)
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		for range 5 {
			if t.service.cut() {
				t.count("webhook connections cut")
			}
			if !wait(ctx, time.Second) {
				return context.Cause(ctx)
			}
		}
		return nil
	}
	return f
}

// restarted is the fault of the API server that all plans of a cluster share.
const restarted = "API server restarted"

func apiserverRestarts(random *rand.Rand) fault {
	return interrupted(random, restarted, localcluster.APIServer)
}

func etcdRestarts(random *rand.Rand) fault {
	return interrupted(random, "etcd restarted", localcluster.Etcd)
}

// interrupted ends a program of the control plane, for all plans that share it.
func interrupted(random *rand.Rand, kind, program string) fault {
	away := between(random, 0, 2*time.Second)
	f := fault{replica: -1, at: between(random, 2*time.Second, 8*time.Second)}
	f.words = fmt.Sprintf("after %s %s is killed and away for %s", f.at, program, away)
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		return t.countUnless(t.ground.interrupt(ctx, t, kind, program, away), kind)
	}
	return f
}

// whose names a replica for people.
func whose(replica int) string {
	if replica < 0 {
		return "both operators'"
	}
	return fmt.Sprintf("the %s operator's", ordinals[replica])
}

// ordinals name replicas.
var ordinals = [2]string{"first", "second"}

// wait waits; it returns false when ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
