package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags. Sizes have two defaults: one for a run of a few minutes, and one for -long.
type settings struct {
	only      string
	long      bool
	etcdSyncs bool
	logs      string
	operator  string
	others    namedCommands

	rollout  rolloutSizes
	idle     idleSizes
	many     manySizes
	memory   memorySizes
	fairness fairnessSizes
	failover failoverSizes
	webhooks webhookSizes
	evict    evictionSizes
	scale    scaleSizes
	status   statusSizes
	noisy    noisySizes
	large    largeSizes
	standIn  standInSizes
	pool     poolSizes
	soak     soakSizes
}

type rolloutSizes struct{ runs, pods int }

type idleSizes struct {
	groups numbers
	window time.Duration
}

type manySizes struct {
	runs, groups, namespaces, pods int
	start                          time.Duration
}

type memorySizes struct {
	pods   numbers
	others int
	settle time.Duration
	scrape time.Duration
}

type fairnessSizes struct{ runs, groups, rate int }

type failoverSizes struct{ kills, stops int }

// pace is the rate of reviews: constant for a window, several times.
type pace struct {
	runs, rate int
	window     time.Duration
}

type webhookSizes struct {
	pace
	patches int
}

type evictionSizes struct {
	pace
	pods, joins, takes int
}

type scaleSizes struct {
	changes, idle, delayed int
	delay                  time.Duration
}

type statusSizes struct{ runs, groups, namespaces, pods int }

type noisySizes struct{ runs, groups, rate int }

type largeSizes struct {
	groups, namespaces, rolling, runs, starts int
	settle                                    time.Duration
}

func (s largeSizes) pods() int { return s.groups * largeZones * largePods }

type standInSizes struct {
	pods    numbers
	changes int
	settle  time.Duration
}

type poolSizes struct {
	runs, pods, left, holes, updates, updated, resting int
	memoryPools, memoryPods, memoryNodes               int
	large, largeRuns                                   int
	many, fairRuns                                     int
}

type soakSizes struct {
	minutes, warmUp, groups, pods int
	every                         time.Duration
}

// flags declares every flag with its short default, and returns the defaults of -long.
func (s *settings) flags(set *flag.FlagSet) map[string]string {
	long := map[string]string{}
	count := func(p *int, name string, short, longer int, help string) {
		set.IntVar(p, name, short, help)
		long[name] = strconv.Itoa(longer)
	}
	duration := func(p *time.Duration, name string, short, longer time.Duration, help string) {
		set.DurationVar(p, name, short, help)
		long[name] = longer.String()
	}
	list := func(p *numbers, name string, short numbers, longer, help string) {
		*p = short
		set.Var(p, name, help)
		long[name] = longer
	}
	set.StringVar(&s.only, "only", "", "measure only these, comma-separated: "+strings.Join(scenarioNames(), ", "))
	set.BoolVar(&s.long, "long", false, "use the sizes of the goals; takes hours")
	set.BoolVar(&s.etcdSyncs, "etcd.syncs", false, "make etcd sync every write to the disk")
	set.StringVar(&s.logs, "logs", "", "folder for the logs of operators and API server, with a subfolder for each scenario")
	set.StringVar(&s.operator, "operator", "", "command line to measure instead of lockstep of this source tree")
	set.Var(&s.others, "contender", "command line of another operator to measure in the same run, as NAME=COMMAND; can be repeated")

	count(&s.rollout.runs, "rollout.runs", 11, 21, "counted rollouts of each contender, after one that is not counted")
	count(&s.rollout.pods, "rollout.pods", 10, 10, "pods in each of three zones")
	list(&s.idle.groups, "idle.groups", numbers{200}, "200,1000", "idle groups of six pods in addition to the group that rolls")
	duration(&s.idle.window, "idle.window", 30*time.Second, 2*time.Minute, "how long idle operators are measured; a hold is renewed every 20s")
	count(&s.many.groups, "many.groups", 100, 1000, "groups that roll at once; the goal applies to 1000")
	count(&s.many.namespaces, "many.namespaces", 50, 200, "namespaces of these groups")
	count(&s.many.pods, "many.pods", 1, 1, "pods in each of three zones")
	count(&s.many.runs, "many.runs", 1, 3, "counted rollouts of all groups, after one that is not counted; with -many.start, all are counted")
	duration(&s.many.start, "many.start", 0, 0, "minimum time until their pods are Ready; the maximum is three times as long")
	list(&s.memory.pods, "memory.pods", numbers{1000}, "1000,5000", "managed pods")
	count(&s.memory.others, "memory.others", 2000, 20000, "additional pods that no operator manages")
	duration(&s.memory.settle, "memory.settle", 10*time.Second, 150*time.Second, "maximum time until memory is stable")
	duration(&s.memory.scrape, "memory.scrape", 15*time.Second, 15*time.Second, "scrape interval when memory is measured in typical use: whole seconds")
	count(&s.fairness.runs, "fairness.runs", 2, 11, "counted rollouts of the quiet group in each state")
	count(&s.fairness.groups, "fairness.groups", 200, 1000, "groups in the busy namespace")
	count(&s.fairness.rate, "fairness.rate", 30, 30, "changes of these groups per second")
	count(&s.failover.kills, "failover.kills", 1, 5, "leaders killed")
	count(&s.failover.stops, "failover.hand-overs", 2, 5, "leaders stopped gracefully")
	count(&s.webhooks.runs, "webhooks.runs", 3, 5, "runs of each kind of review for each webhook")
	count(&s.webhooks.rate, "webhooks.rate", 500, 500, "reviews per second")
	duration(&s.webhooks.window, "webhooks.window", 5*time.Second, 20*time.Second, "duration of a run")
	count(&s.webhooks.patches, "webhooks.patches", 200, 1000, "refused downscales through the API server")
	count(&s.evict.pods, "evictions.pods", 1000, 5000, "pods of the large group whose evictions are refused")
	count(&s.evict.runs, "evictions.runs", 3, 5, "runs of each kind of refusal")
	count(&s.evict.rate, "evictions.rate", 1000, 1000, "reviews of evictions per second")
	duration(&s.evict.window, "evictions.window", 5*time.Second, 20*time.Second, "duration of a run")
	count(&s.evict.joins, "evictions.joins", 100, 300, "pods that are evicted while their zone has the hold")
	count(&s.evict.takes, "evictions.takes", 30, 100, "pods whose eviction takes the hold of their group")
	count(&s.scale.changes, "scaling.changes", 30, 100, "changes up, and as many down, for each way to follow a source")
	count(&s.scale.idle, "scaling.idle", 200, 1000, "idle groups of three pods in addition to the group that follows")
	count(&s.scale.delayed, "scaling.delayed", 300, 1000, "pods of the zone with a delayed downscale, which removes two thirds")
	duration(&s.scale.delay, "scaling.delay", 10*time.Second, 30*time.Second, "delay of the downscale: whole seconds, longer than the calls to the pods take, less than 2m")
	count(&s.status.groups, "status.groups", 100, 500, "groups that roll at once with RolloutGroups, and as many without")
	count(&s.status.namespaces, "status.namespaces", 50, 50, "namespaces of these groups")
	count(&s.status.pods, "status.pods", 1, 1, "pods in each of three zones")
	count(&s.status.runs, "status.runs", 2, 5, "counted rollouts of both operators, after one that is not counted")
	count(&s.noisy.runs, "noisy.runs", 4, 11, "counted rollouts of the quiet group in each state")
	count(&s.noisy.groups, "noisy.groups", 50, 100, "groups of three pods in the noisy namespace")
	count(&s.noisy.rate, "noisy.rate", 200, 300, "changes per second in the noisy namespace")
	count(&s.large.groups, "large.groups", 100, 1000, "groups of 20 pods in 4 zones")
	count(&s.large.namespaces, "large.namespaces", 20, 200, "namespaces of these groups")
	count(&s.large.rolling, "large.rolling", 10, 10, "groups that roll at once")
	count(&s.large.runs, "large.runs", 2, 5, "counted rollouts of the groups that roll, after one that is not counted")
	count(&s.large.starts, "large.starts", 3, 5, "starts of the operator")
	duration(&s.large.settle, "large.settle", 10*time.Second, 150*time.Second, "maximum time until memory is stable")
	list(&s.standIn.pods, "stand-in.pods", numbers{1000, 10000}, "1000,100000", "managed pods of the stand-in, in groups of 20")
	count(&s.standIn.changes, "stand-in.changes", 50, 200, "groups that are changed one after the other")
	duration(&s.standIn.settle, "stand-in.settle", 10*time.Second, 150*time.Second, "maximum time until memory is stable")
	count(&s.pool.runs, "pool.runs", 3, 11, "counted births and downscales of each pool, after one that is not counted")
	count(&s.pool.pods, "pool.pods", 200, 200, "pods of a pool")
	count(&s.pool.left, "pool.left", 20, 20, "pods of a pool after a downscale, and of one whose pods are lost")
	count(&s.pool.holes, "pool.holes", 100, 300, "pods of each pool that are lost, alone and beside pools at rest")
	count(&s.pool.updates, "pool.updates", 3, 11, "counted updates of each pool, after one that is not counted")
	count(&s.pool.updated, "pool.updated", 30, 30, "pods that are updated one at a time")
	count(&s.pool.resting, "pool.resting", 100, 1000, "pools of three pods at rest; the goals apply to 1000")
	count(&s.pool.memoryPools, "pool.memory-pools", 500, 2000, "pools without pods whose memory is measured")
	count(&s.pool.memoryPods, "pool.memory-pods", 500, 2000, "identities whose memory is measured")
	count(&s.pool.memoryNodes, "pool.memory-nodes", 500, 2000, "nodes whose memory is measured")
	count(&s.pool.large, "pool.large", 1000, 2000, "pods of a large pool; the goals apply to 2000")
	count(&s.pool.largeRuns, "pool.large-runs", 1, 3, "births of a large pool, in turn with one of -pool.pods")
	count(&s.pool.many, "pool.many", 10000, 10000, "pods for which another pool asks while a small one is measured")
	count(&s.pool.fairRuns, "pool.fair-runs", 5, 11, "births of a small pool in each state, after one that is not counted")
	count(&s.soak.minutes, "soak.minutes", 60, 60, "minutes of repeated rollouts; only with -only soak")
	count(&s.soak.warmUp, "soak.warm-up", 10, 10, "minutes that are not compared with the goals")
	count(&s.soak.groups, "soak.groups", 4, 4, "groups that roll at once, each in a namespace of its own")
	count(&s.soak.pods, "soak.pods", 2, 2, "pods in each of three zones")
	duration(&s.soak.every, "soak.every", 15*time.Second, 15*time.Second, "interval of rollouts: whole seconds, longer than a rollout takes")
	return long
}

// parse parses a command line. It returns all errors about values at once.
func parse(arguments []string, out io.Writer) (settings, error) {
	var s settings
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(out)
	long := s.flags(set)
	if err := set.Parse(arguments); err != nil {
		return s, err
	}
	if set.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if s.long {
		set.Visit(func(f *flag.Flag) { delete(long, f.Name) })
		for name, value := range long {
			if err := set.Set(name, value); err != nil {
				return s, fmt.Errorf("set -%s: %w", name, err)
			}
		}
	}
	return s, s.check()
}

func (s *settings) check() error {
	var errs []error
	for _, name := range s.chosen() {
		if !slices.Contains(scenarioNames(), name) {
			errs = append(errs, fmt.Errorf("-only: unknown scenario %q: must be one of %s", name, strings.Join(scenarioNames(), ", ")))
		}
	}
	for name, n := range map[string]int{
		"rollout.runs": s.rollout.runs, "rollout.pods": s.rollout.pods,
		"many.runs": s.many.runs, "many.groups": s.many.groups, "many.namespaces": s.many.namespaces, "many.pods": s.many.pods,
		"memory.scrape": int(s.memory.scrape.Seconds()),
		"fairness.runs": s.fairness.runs, "fairness.groups": s.fairness.groups, "fairness.rate": s.fairness.rate,
		"webhooks.runs": s.webhooks.runs, "webhooks.rate": s.webhooks.rate, "webhooks.patches": s.webhooks.patches,
		"evictions.pods": s.evict.pods, "evictions.runs": s.evict.runs, "evictions.rate": s.evict.rate, "evictions.joins": s.evict.joins, "evictions.takes": s.evict.takes,
		"scaling.changes": s.scale.changes, "scaling.idle": s.scale.idle, "scaling.delayed": s.scale.delayed, "scaling.delay": int(s.scale.delay.Seconds()),
		"status.runs": s.status.runs, "status.groups": s.status.groups, "status.namespaces": s.status.namespaces, "status.pods": s.status.pods,
		"noisy.runs": s.noisy.runs, "noisy.groups": s.noisy.groups, "noisy.rate": s.noisy.rate,
		"large.groups": s.large.groups, "large.namespaces": s.large.namespaces, "large.rolling": s.large.rolling, "large.runs": s.large.runs, "large.starts": s.large.starts,
		"stand-in.changes": s.standIn.changes,
		"pool.runs":        s.pool.runs, "pool.pods": s.pool.pods, "pool.left": s.pool.left,
		"pool.holes": s.pool.holes, "pool.updates": s.pool.updates, "pool.updated": s.pool.updated, "pool.resting": s.pool.resting,
		"pool.memory-pools": s.pool.memoryPools, "pool.memory-pods": s.pool.memoryPods, "pool.memory-nodes": s.pool.memoryNodes,
		"pool.large": s.pool.large, "pool.large-runs": s.pool.largeRuns,
		"pool.many": s.pool.many, "pool.fair-runs": s.pool.fairRuns,
		"soak.minutes": s.soak.minutes, "soak.warm-up": s.soak.warmUp, "soak.groups": s.soak.groups, "soak.pods": s.soak.pods, "soak.every": int(s.soak.every.Seconds()),
	} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("-%s is %d: must be a number above 0", name, n))
		}
	}
	if s.many.start > stallTimeout/3 {
		errs = append(errs, fmt.Errorf("-many.start is %s: must be at most a third of %s, after which a run without progress ends", s.many.start, stallTimeout))
	}
	if s.large.rolling > s.large.groups {
		errs = append(errs, fmt.Errorf("-large.rolling is %d: must be at most the %d groups", s.large.rolling, s.large.groups))
	}
	if s.pool.left >= s.pool.pods {
		errs = append(errs, fmt.Errorf("-pool.left is %d: must be less than the %d pods", s.pool.left, s.pool.pods))
	}
	if remaining := s.soak.minutes - s.soak.warmUp; remaining < minSamples {
		errs = append(errs, fmt.Errorf("-soak.minutes: %d remain after the warm-up: must be at least %d", remaining, minSamples))
	}
	return errors.Join(errs...)
}

func (s *settings) chosen() []string {
	if s.only == "" {
		return slices.DeleteFunc(scenarioNames(), func(name string) bool { return slices.Contains(optIn, name) })
	}
	return strings.Split(s.only, ",")
}

// numbers is a flag with a list of numbers above 0.
type numbers []int

// String implements flag.Value.
func (n *numbers) String() string {
	texts := make([]string, len(*n))
	for i, v := range *n {
		texts[i] = strconv.Itoa(v)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value.
func (n *numbers) Set(text string) error {
	*n = nil
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || v < 1 {
			return fmt.Errorf("%q is not a number above 0", part)
		}
		*n = append(*n, v)
	}
	return nil
}

// namedCommand is the name and the command line of another operator.
type namedCommand struct{ name, command string }

// namedCommands is a flag that can be repeated.
type namedCommands []namedCommand

// String implements flag.Value.
func (c *namedCommands) String() string { return "" }

var namedCommandPattern = regexp.MustCompile(`^([a-z][a-z0-9-]{0,30})=(.+)$`)

// Set implements flag.Value.
func (c *namedCommands) Set(text string) error {
	next := namedCommand{"contender", text}
	if len(*c) > 0 {
		next.name = fmt.Sprint("contender-", len(*c)+1)
	}
	if parts := namedCommandPattern.FindStringSubmatch(text); parts != nil {
		next = namedCommand{parts[1], parts[2]}
	}
	if next.command == "" {
		return errors.New("the command line is empty")
	}
	if next.name == floorName || next.name == lockstepName || next.name == statefulSetName {
		return fmt.Errorf("-contender: %s is already the name of a column", next.name)
	}
	for _, existing := range *c {
		if existing.name == next.name {
			return fmt.Errorf("-contender: duplicate name %s", next.name)
		}
	}
	*c = append(*c, next)
	return nil
}
