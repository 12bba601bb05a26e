package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// invariantViolations returns the operators that logged a violation of their own invariants.
func (t *trial) invariantViolations() []string {
	var found []string
	for _, r := range t.replicas {
		for line := range strings.Lines(r.log()) {
			if strings.Contains(line, "InvariantViolated") {
				found = append(found, fmt.Sprintf("the %s operator found a plan of its own wrong: %s", ordinals[r.number], strings.TrimSpace(line)))
				break
			}
		}
	}
	return found
}

// verify verifies the trial with watches, audit logs and the injected faults, which say what operators
// could not know.
func (t *trial) verify() (record, error) {
	events, err := t.observer.Events()
	if err != nil {
		return t.partialRecord(), fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	requests, err := t.env.requests(t.namespace, t.user())
	if err != nil {
		return t.partialRecord(), fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	rules := t.rules()
	verdict := judge.Verify(events, requests, rules)
	r := t.record(verdict, requests)
	strict := rules
	strict.StaleCaches, strict.Delays, strict.Strict = nil, nil, true
	r.Grace = graceOf(slices.Concat(verdict.Disruptions, verdict.PoolDisruptions), judge.Verify(events, requests, strict).Violations)
	r.Violations = append(r.Violations, judge.ForbiddenRequests(t.withoutStartupRefusals(requests), func(user string) bool { return user == t.user() })...)
	r.History = historyOf(verdict.Violations, events, requests)
	if r.broken() {
		r.log = t.eventLog(events, requests)
	}
	return r, nil
}

// user returns the user name of the plan's operators.
func (t *trial) user() string { return "system:serviceaccount:" + t.namespace + ":" + account }

// withoutStartupRefusals omits requests that an API server refused because it had not loaded the
// permissions after a restart.
func (t *trial) withoutStartupRefusals(requests []judge.Request) []judge.Request {
	absences := t.env.absencesSince(t.began)
	return slices.DeleteFunc(slices.Clone(requests), func(r judge.Request) bool {
		return r.Forbidden && slices.ContainsFunc(absences, func(a absence) bool {
			return r.At.After(a.from) && r.At.Before(endOrNow(a.to))
		})
	})
}

// granted counts the allowed evictions.
func granted(requests []judge.Request) int {
	n := 0
	for _, r := range requests {
		if r.Resource == "pods/eviction" && !r.DryRun && r.Code == http.StatusCreated {
			n++
		}
	}
	return n
}

// rules returns the rules of the plan, in which the injected faults excuse the operators.
func (t *trial) rules() judge.Rules {
	rules := judge.Rules{
		Operators:   []judge.Operator{{User: t.user(), Namespaces: []string{t.namespace}, LeadershipNamespace: t.namespace}},
		StaleCaches: t.staleWindows(), Delays: t.delays(), DownscaleWebhook: true, EvictionWebhook: true, PinnedEvictions: true,
	}
	rules.HoleLimit = holeLimit
	for _, g := range t.plan.groups {
		rules.Budgets = append(rules.Budgets, g.budget(), g.inOtherGroup().budget())
	}
	return rules
}

// holeLimit is how long a StatefulCluster may lack a pod. Operators that were killed, or that failed again and again, wait
// until they try again.
const holeLimit = 90 * time.Second

// ownFaults counts the faults of this trial by kind.
func (t *trial) ownFaults() map[string]int {
	jumped := 0
	for _, r := range t.replicas {
		if r.clockJumped() {
			jumped++
		}
	}
	t.mu.Lock()
	all := maps.Clone(t.faults)
	t.mu.Unlock()
	for _, r := range t.replicas {
		counts := r.proxy.Counts()
		for name, n := range counts.Faults {
			if !slices.Contains(countedByTrial, name) {
				all[name] += n
			}
		}
		for resource := range counts.Late {
			all[delayedWatchKind(resource, t.plan.hasSingleDelay(r.number))]++
		}
	}
	if jumped > 0 {
		all["clocks that jumped"] = jumped
	}
	return all
}

// countedByTrial are the faults whose effect a proxy does not know: whether a process was killed, or
// stopped for long enough.
var countedByTrial = []string{crashBefore, crashAfter, faultproxy.StoppedAt(nil).String()}

// foreignFaults counts the faults of other trials during the steps of this trial and the wait for its
// goal.
func (t *trial) foreignFaults() map[string]int {
	all := map[string]int{}
	for _, a := range slices.Concat(t.env.absencesSince(t.stepsBegan), t.env.pausesSince(t.stepsBegan)) {
		if a.by != t && !t.stepsBegan.IsZero() && a.from.Before(t.stepsEnded) {
			all[a.kind+" for another plan"]++
		}
	}
	return all
}

// eventLog returns everything that helps to understand the result of a plan.
func (t *trial) eventLog(events []judge.Event, requests []judge.Request) string {
	var lines []string
	lines = append(lines, t.plan.String())
	lines = append(lines, t.remarks...)
	lines = append(lines, t.failures...)
	for _, w := range t.staleWindows() {
		lines = append(lines, fmt.Sprintf("deaf %s to %s %s late=%s", w.From.Format("05.000"), w.To.Format("05.000"), w.Agent, w.Delay))
	}
	for _, d := range t.delays() {
		lines = append(lines, fmt.Sprintf("on its way %s to %s %s %s %s %s", d.From.Format("05.000"), d.To.Format("05.000"), d.Request.Agent, d.Request.Verb, d.Request.Resource, d.Request.Name))
	}
	slices.SortFunc(events, func(a, b judge.Event) int { return int(a.Version) - int(b.Version) })
	for _, f := range events {
		lines = append(lines, f.String())
	}
	slices.SortStableFunc(requests, func(a, b judge.Request) int { return a.At.Compare(b.At) })
	for _, r := range requests {
		if r.Writes() && r.Resource != "events" {
			lines = append(lines, r.At.Format("05.000")+" "+r.String())
		}
	}
	for _, r := range t.replicas {
		lines = append(lines, r.log())
	}
	return join(lines)
}

// maxHistory is the maximum number of lines of a record's history.
const maxHistory = 120

// historyOf returns what was seen of the pods that violations begin with, and of the holds of their groups: watch events
// and requests, in the order of their arrival. The output of a build machine has nothing else of a plan.
func historyOf(violations []judge.Violation, events []judge.Event, requests []judge.Request) []string {
	pods, groups := map[string]bool{}, map[string]bool{}
	for _, v := range violations {
		pod, _, _ := strings.Cut(v.Text, " ")
		pods[pod], groups[v.Group] = true, true
	}
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	for _, e := range events {
		if e.Pod != nil && pods[e.Pod.Name] || e.Hold != nil && groups[e.Hold.Group] {
			lines = append(lines, line{e.At, e.String()})
		}
	}
	for _, r := range requests {
		if pods[r.Name] && r.Writes() {
			lines = append(lines, line{r.At, fmt.Sprintf("%s to %s %s, UID %q at version %d", r.At.Format("05.000"), r.Ended.Format("05.000"), r, r.RequiredUID, r.RequiredVersion)})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	var history []string
	for _, l := range lines[max(0, len(lines)-maxHistory):] {
		history = append(history, l.text)
	}
	return history
}
