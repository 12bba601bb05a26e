package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// fault is something that goes wrong in a plan.
type fault struct {
	words string // for people

	// late are resources of which a replica's watches tell late.
	late map[string]time.Duration
	// script meets requests of a replica. One that is early does so from the
	// operator's start, when its watches begin; others from the first step on.
	script func(*replica) faultproxy.Script
	early  bool
	// lists lets a replica's caches begin with what the API server's cache has.
	lists bool
	// former lets a replica begin as the operator of a former commit.
	former bool
	// clocks are those that the replicas live by; nil: true ones.
	clocks *[2]clocks
	// deed is done once, at a time after the first step began.
	deed func(context.Context, *trial, *replica) error
	at   time.Duration

	// replica is whom it befalls; -1: both.
	replica int
	// deaf is how much longer operators may not know of what others did.
	deaf time.Duration
}

// befalls tells whether a fault is one of a replica's.
func (f fault) befalls(replica int) bool { return f.replica < 0 || f.replica == replica }

// reconnect is how long an operator may hear nothing after its connection or a watch
// was cut: client-go waits longer each time before it goes on.
const reconnect = 30 * time.Second

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
	{2, leadershipDeleted},
	{2, leadershipTaken},
	{2, formerVersion},
	{2, clocksWrong},
	{1, webhooksCut},
	{1, apiserverRestarts},
	{1, etcdRestarts},
}

// newFaults draws one to four faults.
func newFaults(random *rand.Rand) []fault {
	shares := 0
	for _, s := range sources {
		shares += s.share
	}
	var faults []fault
	for range 1 + random.IntN(4) {
		drawn := random.IntN(shares)
		for _, s := range sources {
			if drawn -= s.share; drawn < 0 {
				faults = append(faults, s.draw(random))
				break
			}
		}
	}
	return faults
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
					return faultproxy.CrashAfter(r.kill)
				}
				return faultproxy.CrashBefore(r.kill)
			}
		},
	}
}

func seenLate(random *rand.Rand) fault {
	resources := []string{"pods", "statefulsets", "leases"}
	late, longest := map[string]time.Duration{}, time.Duration(0)
	for _, i := range random.Perm(len(resources))[:1+random.IntN(len(resources))] {
		d := between(random, 200*time.Millisecond, 2500*time.Millisecond)
		late[resources[i]], longest = d, max(longest, d)
	}
	f := fault{late: late, replica: anyReplica(random), deaf: longest}
	f.words = fmt.Sprintf("%s seen late: %v", whose(f.replica), late)
	return f
}

// statesMissed ends watches, and lets their continuation be refused: what was only so
// in between is never heard of.
func statesMissed(random *rand.Rand) fault {
	life := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true, deaf: reconnect}
	f.words = fmt.Sprintf("%s watches end after %s, and half of those that go on are told that it is too late for that", whose(f.replica), life)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, 1, faultproxy.Watch, 3, faultproxy.Answered(http.StatusGone)),
			sometimes(r, 2, faultproxy.Watch, 2, faultproxy.Shortened(life)),
		)
	}
	return f
}

func watchesSlow(random *rand.Rand) fault {
	hold := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true, deaf: reconnect + hold}
	f.words = fmt.Sprintf("%s watches begin %s late and end early", whose(f.replica), hold)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, 3, faultproxy.Watch, 2, faultproxy.Held(hold)),
			sometimes(r, 4, faultproxy.Watch, 2, faultproxy.Shortened(2*time.Second)),
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
	f := fault{replica: anyReplica(random), deaf: reconnect}
	f.words = fmt.Sprintf("one in %d of %s requests is answered one of %v", oneOf, whose(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, 5, faultproxy.Write, oneOf, answers...), sometimes(r, 6, faultproxy.Event, oneOf, answers...),
			sometimes(r, 7, faultproxy.Leader, 2*oneOf, answers...), sometimes(r, 8, faultproxy.Read, oneOf, answers...),
			sometimes(r, 9, faultproxy.Watch, oneOf, answers...),
		)
	}
	return f
}

// garbled lets requests go astray on their way.
func garbled(random *rand.Rand) fault {
	ways := []faultproxy.Fault{
		faultproxy.Lost(), faultproxy.Cut(), faultproxy.Repeated(), faultproxy.Held(between(random, 100*time.Millisecond, 3*time.Second)),
	}
	var chosen []faultproxy.Fault
	for _, i := range random.Perm(len(ways))[:1+random.IntN(2)] {
		chosen = append(chosen, ways[i])
	}
	oneOf := 4 + random.IntN(6)
	f := fault{replica: anyReplica(random), deaf: reconnect}
	f.words = fmt.Sprintf("one in %d of %s writes meets one of %v", oneOf, whose(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, 10, faultproxy.Write, oneOf, chosen...), sometimes(r, 11, faultproxy.Leader, 2*oneOf, chosen...),
		)
	}
	return f
}

// sometimes is faultproxy.Sometimes with a seed of the plan's, the replica's and the
// fault's own.
func sometimes(r *replica, own uint64, kind faultproxy.Kind, oneOf int, faults ...faultproxy.Fault) faultproxy.Script {
	return faultproxy.Sometimes(r.trial.plan.seed<<8+uint64(r.number)<<7+own, kind, oneOf, faults...)
}

// goneBack lets an operator's caches go on by an API server that lags, or begin anew by
// it: with a state older than the one that the process before knew. What it reads live
// and what it writes goes to the other API server.
func goneBack(random *rand.Rand) fault {
	anew := random.IntN(3) > 0
	f := fault{replica: oneReplica(random), lists: true, at: between(random, time.Second, 6*time.Second), deaf: lag + reconnect}
	f.words = fmt.Sprintf("after %s the %s operator's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	if anew {
		f.words = fmt.Sprintf("after %s the %s operator is killed, and its next one's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	}
	f.deed = func(_ context.Context, t *trial, r *replica) error {
		if err := r.proxy.CacheAt(t.ground.stale.AdminConfig().Host); err != nil {
			return err
		}
		if anew {
			t.count("begun anew with an older state")
			r.kill()
			return nil
		}
		t.count("watches moved to an API server that lags")
		r.proxy.Leave()
		return r.proxy.Return()
	}
	return f
}

// paused stops an operator past its leadership, or past the Lease of a group, and
// lets it go on.
func paused(random *rand.Rand) fault {
	long := between(random, 5*time.Second, 8*time.Second)
	if random.IntN(5) == 0 {
		long = pastHold
	}
	f := fault{replica: oneReplica(random), at: between(random, time.Second, 6*time.Second), deaf: long + reconnect}
	f.words = fmt.Sprintf("after %s the %s operator is stopped for %s", f.at, ordinals[f.replica], long)
	f.deed = func(ctx context.Context, t *trial, r *replica) error {
		stopped, err := r.pause(ctx, long)
		if stopped {
			t.count("paused past its Lease")
		}
		return err
	}
	return f
}

// formerVersion lets one of the operators be an older one, which may be replaced.
func formerVersion(random *rand.Rand) fault {
	f := fault{replica: oneReplica(random), former: true, at: between(random, 2*time.Second, 8*time.Second)}
	f.words = fmt.Sprintf("the %s operator is of a former version", ordinals[f.replica])
	if random.IntN(2) == 0 {
		f.words += fmt.Sprintf(" and replaced after %s", f.at)
		f.deed = func(ctx context.Context, t *trial, r *replica) error {
			t.count("upgraded")
			return r.upgrade(ctx, t.ground.program)
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

func apiserverRestarts(random *rand.Rand) fault {
	return interrupted(random, "API server restarted", localcluster.APIServer)
}

func etcdRestarts(random *rand.Rand) fault {
	return interrupted(random, "etcd restarted", localcluster.Etcd)
}

// interrupted ends a program of the control plane, for all plans that share it.
func interrupted(random *rand.Rand, kind, program string) fault {
	away := between(random, 0, 2*time.Second)
	f := fault{replica: -1, at: between(random, 2*time.Second, 8*time.Second), deaf: away + reconnect}
	f.words = fmt.Sprintf("after %s %s is killed and away for %s", f.at, program, away)
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		t.count(kind)
		return t.ground.interrupt(ctx, t, kind, program, away)
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
