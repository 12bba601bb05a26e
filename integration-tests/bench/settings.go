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

// settings are what a person can choose. Sizes have two defaults: one for a run
// of a few minutes, one for -long.
type settings struct {
	only       string
	long       bool
	etcdSyncs  bool
	logs       string
	operator   string
	contenders contenders

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

type failoverSizes struct{ kills, handOvers int }

// pace is how reviews are asked: for a while at a constant rate, several times.
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

type soakSizes struct {
	minutes, warmUp, groups, pods int
	every                         time.Duration
}

// flags declares every flag, with its short default, and returns the defaults
// of -long.
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
	set.BoolVar(&s.long, "long", false, "sizes of the goals; takes hours")
	set.BoolVar(&s.etcdSyncs, "etcd.syncs", false, "let etcd wait for the disk with every write; it never does otherwise")
	set.StringVar(&s.logs, "logs", "", "folder to keep what operators and API server log, one for each scenario in it")
	set.StringVar(&s.operator, "operator", "", "command line measured instead of lockstep of this source tree")
	set.Var(&s.contenders, "contender", "command line of another operator measured in the same run, as NAME=COMMAND; may be given again")

	count(&s.rollout.runs, "rollout.runs", 11, 21, "counted rollouts of each, after one that is not counted")
	count(&s.rollout.pods, "rollout.pods", 10, 10, "pods in each of three zones")
	list(&s.idle.groups, "idle.groups", numbers{200}, "200,1000", "idle groups of six pods beside the one that rolls")
	duration(&s.idle.window, "idle.window", 30*time.Second, 2*time.Minute, "for how long idleness is watched: a hold is renewed every 20s")
	count(&s.many.groups, "many.groups", 100, 1000, "groups that roll at once; the goal is about 1000")
	count(&s.many.namespaces, "many.namespaces", 50, 200, "namespaces they are spread over")
	count(&s.many.pods, "many.pods", 1, 1, "pods in each of three zones")
	count(&s.many.runs, "many.runs", 1, 3, "counted rollouts of all of them, after one that is not counted; there is none of pods that take their time")
	duration(&s.many.start, "many.start", 0, 0, "how long their pods take to be Ready: from this to three times as much; 0s: no time")
	list(&s.memory.pods, "memory.pods", numbers{1000}, "1000,5000", "managed pods")
	count(&s.memory.others, "memory.others", 2000, 20000, "other pods on top")
	duration(&s.memory.settle, "memory.settle", 10*time.Second, 150*time.Second, "how long memory may take to settle")
	duration(&s.memory.scrape, "memory.scrape", 15*time.Second, 15*time.Second, "how often metrics are scraped where memory is that of daily use: whole seconds")
	count(&s.fairness.runs, "fairness.runs", 2, 11, "counted rollouts of the quiet group in each state")
	count(&s.fairness.groups, "fairness.groups", 200, 1000, "groups of one namespace that change all the time")
	count(&s.fairness.rate, "fairness.rate", 30, 30, "changes a second of theirs")
	count(&s.failover.kills, "failover.kills", 1, 5, "leaders killed")
	count(&s.failover.handOvers, "failover.hand-overs", 2, 5, "leaders stopped gracefully")
	count(&s.webhooks.runs, "webhooks.runs", 3, 5, "times that each kind of review is asked of each")
	count(&s.webhooks.rate, "webhooks.rate", 500, 500, "reviews a second")
	duration(&s.webhooks.window, "webhooks.window", 5*time.Second, 20*time.Second, "for how long at a time")
	count(&s.webhooks.patches, "webhooks.patches", 200, 1000, "decreases through the API server that are refused")
	count(&s.evict.pods, "evictions.pods", 1000, 5000, "pods of the large group that refuses evictions")
	count(&s.evict.runs, "evictions.runs", 3, 5, "times that each kind of refusal is asked for")
	count(&s.evict.rate, "evictions.rate", 1000, 1000, "reviews of evictions a second")
	duration(&s.evict.window, "evictions.window", 5*time.Second, 20*time.Second, "for how long at a time")
	count(&s.evict.joins, "evictions.joins", 100, 300, "pods evicted under the hold that their zone has already")
	count(&s.evict.takes, "evictions.takes", 30, 100, "pods whose eviction takes the hold of their group")
	count(&s.scale.changes, "scaling.changes", 30, 100, "changes up and as many down that zones take over, of each way to do so")
	count(&s.scale.idle, "scaling.idle", 200, 1000, "idle groups of three pods beside the one that takes over")
	count(&s.scale.delayed, "scaling.delayed", 300, 1000, "pods of the zone with a delayed downscale; two thirds leave")
	duration(&s.scale.delay, "scaling.delay", 10*time.Second, 30*time.Second, "how long they wait: whole seconds, longer than it takes to call them, less than 2m")
	count(&s.status.groups, "status.groups", 100, 500, "groups that roll at once, shown in RolloutGroups, and as many that are not")
	count(&s.status.namespaces, "status.namespaces", 50, 50, "namespaces they are spread over")
	count(&s.status.pods, "status.pods", 1, 1, "pods in each of three zones")
	count(&s.status.runs, "status.runs", 2, 5, "counted rollouts of both, after one that is not counted")
	count(&s.noisy.runs, "noisy.runs", 4, 11, "counted rollouts of the quiet group in each state")
	count(&s.noisy.groups, "noisy.groups", 50, 100, "groups of three pods in the noisy namespace")
	count(&s.noisy.rate, "noisy.rate", 200, 300, "changes a second there")
	count(&s.large.groups, "large.groups", 100, 1000, "groups of 20 pods in 4 zones")
	count(&s.large.namespaces, "large.namespaces", 20, 200, "namespaces they are spread over")
	count(&s.large.rolling, "large.rolling", 10, 10, "of these, groups that roll at once")
	count(&s.large.runs, "large.runs", 2, 5, "counted rollouts of these, after one that is not counted")
	count(&s.large.starts, "large.starts", 3, 5, "times that the operator is started")
	duration(&s.large.settle, "large.settle", 10*time.Second, 150*time.Second, "how long memory may take to settle")
	list(&s.standIn.pods, "stand-in.pods", numbers{1000, 10000}, "1000,100000", "managed pods of an API server that is played, in groups of 20")
	count(&s.standIn.changes, "stand-in.changes", 50, 200, "groups that change, one after the other")
	duration(&s.standIn.settle, "stand-in.settle", 10*time.Second, 150*time.Second, "how long memory may take to settle")
	count(&s.soak.minutes, "soak.minutes", 60, 60, "how long groups are rolled again and again; only with -only soak")
	count(&s.soak.warmUp, "soak.warm-up", 10, 10, "minutes of these that are not judged")
	count(&s.soak.groups, "soak.groups", 4, 4, "groups that roll at once, each in a namespace of its own")
	count(&s.soak.pods, "soak.pods", 2, 2, "pods in each of three zones")
	duration(&s.soak.every, "soak.every", 15*time.Second, 15*time.Second, "how often they roll: whole seconds, more than a rollout takes")
	return long
}

// parse reads a command line. All that is wrong with values is told at once.
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
			errs = append(errs, fmt.Errorf("-only: there is no %q, only %s", name, strings.Join(scenarioNames(), ", ")))
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
		"soak.minutes":     s.soak.minutes, "soak.warm-up": s.soak.warmUp, "soak.groups": s.soak.groups, "soak.pods": s.soak.pods, "soak.every": int(s.soak.every.Seconds()),
	} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("-%s is %d, a number above 0 is needed", name, n))
		}
	}
	if s.many.start > patience/3 {
		errs = append(errs, fmt.Errorf("-many.start is %s, and pods may take three times as much, but a run ends where nothing happens for %s", s.many.start, patience))
	}
	if s.large.rolling > s.large.groups {
		errs = append(errs, fmt.Errorf("-large.rolling is %d, but there are only %d groups", s.large.rolling, s.large.groups))
	}
	if judged := s.soak.minutes - s.soak.warmUp; judged < leastJudged {
		errs = append(errs, fmt.Errorf("-soak.minutes: %d are left after the warm-up, at least %d are needed", judged, leastJudged))
	}
	return errors.Join(errs...)
}

func (s *settings) chosen() []string {
	if s.only == "" {
		return slices.DeleteFunc(scenarioNames(), func(name string) bool { return slices.Contains(onlyAlone, name) })
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

// contender is another operator, by its command line.
type contender struct{ name, command string }

// contenders is a flag that may be given again.
type contenders []contender

// String implements flag.Value.
func (c *contenders) String() string { return "" }

var namedCommand = regexp.MustCompile(`^([a-z][a-z0-9-]{0,30})=(.+)$`)

// Set implements flag.Value.
func (c *contenders) Set(text string) error {
	next := contender{"contender", text}
	if len(*c) > 0 {
		next.name = fmt.Sprint("contender-", len(*c)+1)
	}
	if parts := namedCommand.FindStringSubmatch(text); parts != nil {
		next = contender{parts[1], parts[2]}
	}
	if next.command == "" {
		return errors.New("the command line is empty")
	}
	if next.name == floorName || next.name == lockstepName {
		return fmt.Errorf("%s is the name of a column already", next.name)
	}
	for _, taken := range *c {
		if taken.name == next.name {
			return fmt.Errorf("there are two called %s", next.name)
		}
	}
	*c = append(*c, next)
	return nil
}
