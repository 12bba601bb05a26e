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

// fault is a failure that a plan injects.
type fault struct {
	description string // for people

	// watchDelays are the delays of a replica's watches by resource. If singleDelay is set, all other
	// resources must be known at once.
	watchDelays map[string]time.Duration
	singleDelay bool
	// script selects faults for the requests of a replica. If early is set, it applies from the start
	// of the operator, when its watches begin; otherwise from the first step.
	script func(*replica) faultproxy.Script
	early  bool
	// cachedLists makes a replica fill its caches from the API server's cache.
	cachedLists bool
	// former makes a replica start with the former version.
	former bool
	// movedGroup is the group of which a zone is in another group for a while.
	movedGroup string
	// clocks are the clocks of the replicas; nil: correct clocks.
	clocks *[2]clocks
	// run is called once, at a time after the first step began.
	run func(context.Context, *trial, *replica) error
	at  time.Duration

	// replica is the affected replica; -1: both.
	replica int
	// once excludes other faults with the same value from a plan.
	once string
}

// affects reports whether a fault affects a replica.
func (f fault) affects(replica int) bool { return f.replica < 0 || f.replica == replica }

// faultKinds are the kinds of faults and their relative frequency.
var faultKinds = []struct {
	share int
	draw  func(*rand.Rand) fault
}{
	{5, killedAtWrites},
	{3, delayedWatches},
	{2, expiredWatches},
	{1, slowWatches},
	{4, failedRequests},
	{2, lostWrites},
	{3, laggingCaches},
	{2, processPaused},
	{2, lateWrites},
	{4, podUnready},
	{3, podDeleted},
	{2, leadershipDeleted},
	{2, leadershipStolen},
	{2, formerVersion},
	{2, wrongClocks},
	{1, webhooksCut},
	{1, apiserverRestarts},
	{1, etcdRestarts},
}

// maxFaults is the maximum number of faults of a plan.
const maxFaults = 4

// newFaults draws one to four faults.
func newFaults(random *rand.Rand) []fault {
	shares := 0
	for _, s := range faultKinds {
		shares += s.share
	}
	var faults []fault
	for count := 1 + random.IntN(maxFaults); len(faults) < count; {
		drawn := random.IntN(shares)
		for _, s := range faultKinds {
			if drawn -= s.share; drawn < 0 {
				if f := s.draw(random); !f.isDuplicate(faults) {
					faults = append(faults, f)
				}
				break
			}
		}
	}
	return faults
}

// isDuplicate reports whether a fault with the same value of once was drawn.
func (f fault) isDuplicate(drawn []fault) bool {
	return f.once != "" && slices.ContainsFunc(drawn, func(other fault) bool { return other.once == f.once })
}

// anyReplica draws the affected replica, or both.
func anyReplica(random *rand.Rand) int { return random.IntN(3) - 1 }

func oneReplica(random *rand.Rand) int { return random.IntN(2) }

// killedAtWrites kills operators at some of their writes, each counted from the last kill.
func killedAtWrites(random *rand.Rand) fault {
	var gaps []int
	var after []bool
	for range 1 + random.IntN(4) {
		gaps, after = append(gaps, 1+random.IntN(12)), append(after, random.IntN(2) == 0)
	}
	return fault{
		description: fmt.Sprintf("operators are killed at these writes, each counted from the last: %v (after the answer: %v)", gaps, after),
		replica:     -1,
		script: func(r *replica) faultproxy.Script {
			next, since := 0, 0
			return func(q faultproxy.Request) faultproxy.Fault {
				if q.Kind != faultproxy.Write || next == len(gaps) || !r.isRunning() {
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

// crashBefore and crashAfter are the names of these faults in a proxy. The trial counts them when a
// process is killed, because the process may be dead already.
var crashBefore, crashAfter = faultproxy.CrashBefore(nil).String(), faultproxy.CrashAfter(nil).String()

func delayedWatches(random *rand.Rand) fault {
	resources := []string{"pods", "statefulsets", "leases"}
	late := map[string]time.Duration{}
	for _, i := range random.Perm(len(resources))[:1+random.IntN(len(resources))] {
		late[resources[i]] = between(random, 200*time.Millisecond, 2500*time.Millisecond)
	}
	f := fault{watchDelays: late, replica: anyReplica(random), once: "late"}
	f.description = fmt.Sprintf("%s seen late: %v", ownerOf(f.replica), late)
	return f
}

// singleDelayedWatch delays the watches of pods or StatefulSets by seconds, and no others.
func singleDelayedWatch(random *rand.Rand) fault {
	resource := []string{"pods", "statefulsets", "statefulsets"}[random.IntN(3)]
	d := between(random, 3*time.Second, 8*time.Second)
	f := fault{watchDelays: map[string]time.Duration{resource: d}, singleDelay: true, replica: anyReplica(random), once: "late"}
	f.description = fmt.Sprintf("%s %s alone are seen late by %s", ownerOf(f.replica), resource, d)
	return f
}

// expiredWatches ends watches and refuses to resume them, so that intermediate states are never
// received.
func expiredWatches(random *rand.Rand) fault {
	life := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true}
	dice := random.Uint64()
	f.description = fmt.Sprintf("%s watches end after %s, and half of those that go on are told that it is too late for that", ownerOf(f.replica), life)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 1, faultproxy.Watch, 3, faultproxy.Answered(http.StatusGone)),
			sometimes(r, dice, 2, faultproxy.Watch, 2, faultproxy.Shortened(life)),
		)
	}
	return f
}

func slowWatches(random *rand.Rand) fault {
	hold := between(random, 500*time.Millisecond, 4*time.Second)
	f := fault{replica: anyReplica(random), early: true}
	dice := random.Uint64()
	f.description = fmt.Sprintf("%s watches begin %s late and end early", ownerOf(f.replica), hold)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 3, faultproxy.Watch, 2, faultproxy.Held(hold)),
			sometimes(r, dice, 4, faultproxy.Watch, 2, faultproxy.Shortened(2*time.Second)),
		)
	}
	return f
}

// failedRequests answers requests with an error or a timeout.
func failedRequests(random *rand.Rand) fault {
	codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	var chosen []int
	var answers []faultproxy.Fault
	for _, i := range random.Perm(len(codes))[:1+random.IntN(3)] {
		chosen = append(chosen, codes[i])
		answers = append(answers, faultproxy.Answered(codes[i]))
	}
	oneOf := 2 + random.IntN(4)
	f, dice := fault{replica: anyReplica(random)}, random.Uint64()
	f.description = fmt.Sprintf("one in %d of %s requests is answered one of %v", oneOf, ownerOf(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 5, faultproxy.Write, oneOf, answers...), sometimes(r, dice, 6, faultproxy.Event, oneOf, answers...),
			sometimes(r, dice, 7, faultproxy.Leader, 2*oneOf, answers...), sometimes(r, dice, 8, faultproxy.Read, oneOf, answers...),
			sometimes(r, dice, 9, faultproxy.Watch, oneOf, answers...),
		)
	}
	return f
}

// maxHold is longer than operators wait for an answer.
const maxHold = 15 * time.Second

// lostWrites loses, cuts, repeats or delays requests.
func lostWrites(random *rand.Rand) fault {
	ways := []faultproxy.Fault{
		faultproxy.Lost(), faultproxy.Cut(), faultproxy.Repeated(), faultproxy.Held(between(random, 100*time.Millisecond, maxHold)),
	}
	var chosen []faultproxy.Fault
	for _, i := range random.Perm(len(ways))[:1+random.IntN(2)] {
		chosen = append(chosen, ways[i])
	}
	oneOf := 4 + random.IntN(6)
	f, dice := fault{replica: anyReplica(random)}, random.Uint64()
	f.description = fmt.Sprintf("one in %d of %s writes meets one of %v", oneOf, ownerOf(f.replica), chosen)
	f.script = func(r *replica) faultproxy.Script {
		return faultproxy.FirstOf(
			sometimes(r, dice, 10, faultproxy.Write, oneOf, chosen...), sometimes(r, dice, 11, faultproxy.Leader, 2*oneOf, chosen...),
		)
	}
	return f
}

// sometimes is faultproxy.Sometimes with a seed of the fault, the replica and the rule.
func sometimes(r *replica, dice, own uint64, kind faultproxy.Kind, oneOf int, faults ...faultproxy.Fault) faultproxy.Script {
	return faultproxy.Sometimes(dice^(own<<1+uint64(r.number)), kind, oneOf, faults...)
}

// laggingCaches fills an operator's caches from an API server that lags, either by moving its watches
// or after a restart. After a restart, the caches begin with an older state than the previous process
// knew. Live reads and writes use the other API server.
func laggingCaches(random *rand.Rand) fault {
	restarts := random.IntN(3) > 0
	f := fault{replica: oneReplica(random), cachedLists: true, at: between(random, time.Second, 6*time.Second), once: "stale"}
	f.description = fmt.Sprintf("after %s the %s operator's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	if restarts {
		f.description = fmt.Sprintf("after %s the %s operator is killed, and its next one's caches are filled by an API server that lags by %s", f.at, ordinals[f.replica], lag)
	}
	f.run = func(_ context.Context, t *trial, r *replica) error {
		if err := r.proxy.CacheAt(t.env.stale.AdminConfig().Host); err != nil {
			return err
		}
		r.setLagging()
		if restarts {
			r.crash("started again with an older state")()
			return nil
		}
		atWork := r.isRunning()
		r.proxy.Leave()
		err := r.proxy.Return()
		if err == nil && atWork {
			t.count("watches moved to an API server that lags")
		}
		return err
	}
	return f
}

// formerVersion starts one of the operators with an older version, which may be upgraded.
func formerVersion(random *rand.Rand) fault {
	f := fault{replica: oneReplica(random), former: true, at: between(random, 2*time.Second, 8*time.Second), once: "former"}
	f.description = fmt.Sprintf("the %s operator is of a former version", ordinals[f.replica])
	if random.IntN(2) == 0 {
		f.description += fmt.Sprintf(" and replaced after %s", f.at)
		f.run = func(ctx context.Context, t *trial, r *replica) error {
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
	f.description = fmt.Sprintf("from %s on, connections to webhooks are cut five times in five seconds", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
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

// apiServerRestarted is the fault that affects all plans of a cluster.
const apiServerRestarted = "API server restarted"

func apiserverRestarts(random *rand.Rand) fault {
	return controlPlaneRestart(random, apiServerRestarted, localcluster.APIServer)
}

func etcdRestarts(random *rand.Rand) fault {
	return controlPlaneRestart(random, "etcd restarted", localcluster.Etcd)
}

// controlPlaneRestart stops a program of the control plane, for all plans that share it.
func controlPlaneRestart(random *rand.Rand, kind, program string) fault {
	away := between(random, 0, 2*time.Second)
	f := fault{replica: -1, at: between(random, 2*time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s %s is killed and away for %s", f.at, program, away)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		return t.countUnless(t.env.interrupt(ctx, t, kind, program, away), kind)
	}
	return f
}

// controllersPaused stops the controller manager for a while, for all plans that share it. Meanwhile
// the status of StatefulSets is that of before, and pods are neither created nor adopted. Afterwards
// controllers work with caches that they fill one after the other.
func controllersPaused(random *rand.Rand) fault {
	long := between(random, time.Second, 6*time.Second)
	f := fault{replica: -1, at: between(random, 0, 8*time.Second)}
	f.description = fmt.Sprintf("after %s the controllers of Kubernetes are paused for %s", f.at, long)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		return t.countUnless(t.env.pauseControllers(ctx, t, long), controllersPausedKind)
	}
	return f
}

// controllersPausedKind is the kind of fault that affects all plans of a cluster and no cache of an operator.
const controllersPausedKind = "controllers paused"

// ownerOf names a replica in the possessive form.
func ownerOf(replica int) string {
	if replica < 0 {
		return "both operators'"
	}
	return fmt.Sprintf("the %s operator's", ordinals[replica])
}

// ordinals are the names of the replicas.
var ordinals = [2]string{"first", "second"}

// wait waits. It returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
