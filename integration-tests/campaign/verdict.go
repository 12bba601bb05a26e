package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// ownRules says which operators found that a plan of theirs broke a rule of theirs.
func (t *trial) ownRules() []string {
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

// judge asks the judge: by watches, audit logs, and what the plan itself did to whom, which
// says who could not know of what.
func (t *trial) judge() (record, error) {
	facts, err := t.witness.Events()
	if err != nil {
		return t.soFar(), fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	requests, err := t.ground.requests(t.namespace, t.user())
	if err != nil {
		return t.soFar(), fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	rules := t.rules()
	verdict := judge.Verify(facts, requests, rules)
	r := t.record(verdict, requests)
	strict := rules
	strict.StaleCaches, strict.Delays, strict.Strict = nil, nil, true
	r.Grace = graceOf(verdict.Disruptions, judge.Verify(facts, requests, strict).Violations)
	r.Violations = append(r.Violations, judge.ForbiddenRequests(t.whileServed(requests), func(user string) bool { return user == t.user() })...)
	if r.broken() {
		r.story = t.story(facts, requests)
	}
	return r, nil
}

// user is whom the API server takes the plan's operators for.
func (t *trial) user() string { return "system:serviceaccount:" + t.namespace + ":" + account }

// whileServed leaves out what an API server refused for lack of permission before it
// had read, after a restart, what is permitted.
func (t *trial) whileServed(requests []judge.Request) []judge.Request {
	absences := t.ground.absencesSince(t.began)
	return slices.DeleteFunc(slices.Clone(requests), func(r judge.Request) bool {
		return r.Forbidden && slices.ContainsFunc(absences, func(a absence) bool {
			return r.At.After(a.from) && r.At.Before(ended(a.to))
		})
	})
}

// granted counts the evictions that had a yes.
func granted(requests []judge.Request) int {
	n := 0
	for _, r := range requests {
		if r.Resource == "pods/eviction" && !r.DryRun && r.Code == http.StatusCreated {
			n++
		}
	}
	return n
}

// rules are those of the plan: what was injected may not be known to operators.
func (t *trial) rules() judge.Rules {
	rules := judge.Rules{
		Operators:   []judge.Operator{{User: t.user(), Namespaces: []string{t.namespace}, LeadershipNamespace: t.namespace}},
		StaleCaches: t.windows(), Delays: t.delays(), DownscaleWebhook: true, EvictionWebhook: true, PinnedEvictions: true,
	}
	for _, g := range t.plan.groups {
		rules.Budgets = append(rules.Budgets, g.budget(), g.elsewhere().budget())
	}
	return rules
}

// happened counts all faults of its own that met this trial, by kind.
func (t *trial) happened() map[string]int {
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
			if !slices.Contains(countedHere, name) {
				all[name] += n
			}
		}
		for resource := range counts.Late {
			all[lateKind(resource, t.plan.seesAloneLate(r.number))]++
		}
	}
	if jumped > 0 {
		all["clocks that jumped"] = jumped
	}
	return all
}

// countedHere are names of faults whose effect a proxy does not see: whether somebody was
// killed, or stopped for long enough.
var countedHere = []string{crashBefore, crashAfter, faultproxy.StoppedAt(nil).String()}

// felt counts what went wrong on behalf of other trials while users of this one asked, or
// the goal was waited for.
func (t *trial) felt() map[string]int {
	all := map[string]int{}
	for _, a := range t.ground.absencesSince(t.played) {
		if a.by != t && !t.played.IsZero() && a.from.Before(t.over) {
			all[a.kind+" for another plan"]++
		}
	}
	return all
}

// story tells everything that helps to understand what came of a plan.
func (t *trial) story(facts []judge.Event, requests []judge.Request) string {
	var told []string
	told = append(told, t.plan.String())
	told = append(told, t.remarks...)
	told = append(told, t.failures...)
	for _, w := range t.windows() {
		told = append(told, fmt.Sprintf("deaf %s to %s %s late=%s", w.From.Format("05.000"), w.To.Format("05.000"), w.Agent, w.Delay))
	}
	for _, d := range t.delays() {
		told = append(told, fmt.Sprintf("on its way %s to %s %s %s %s %s", d.From.Format("05.000"), d.To.Format("05.000"), d.Request.Agent, d.Request.Verb, d.Request.Resource, d.Request.Name))
	}
	slices.SortFunc(facts, func(a, b judge.Event) int { return int(a.Version) - int(b.Version) })
	for _, f := range facts {
		told = append(told, f.String())
	}
	slices.SortStableFunc(requests, func(a, b judge.Request) int { return a.At.Compare(b.At) })
	for _, r := range requests {
		if r.Writes() && r.Resource != "events" {
			told = append(told, r.At.Format("05.000")+" "+r.String())
		}
	}
	for _, r := range t.replicas {
		told = append(told, r.log())
	}
	return join(told)
}
