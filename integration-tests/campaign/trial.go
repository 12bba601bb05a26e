package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// trial is a plan that is carried out.
type trial struct {
	ground    *ground
	plan      plan
	namespace string
	client    kubernetes.Interface
	service   *service
	replicas  []*replica
	witness   *judge.Witness
	present   *present
	began     time.Time
	working   sync.WaitGroup // operators

	trap trap

	mu       sync.Mutex
	faults   map[string]int
	remarks  []string
	failures []string       // of operators, which break the plan
	deaf     []judge.Window // in which operators could not know in time
}

const (
	// preparing is how long zones, operators and webhooks may take to be there.
	preparing = 3 * time.Minute
	// patience is how long after the last fault the goal may take.
	patience = 4 * time.Minute
)

// carryOut tries a plan and judges it. The error says that it could not.
func (g *ground) carryOut(ctx context.Context, p plan) (record, error) {
	t := &trial{
		ground: g, plan: p, namespace: fmt.Sprintf("plan-%d", p.seed), client: g.client,
		present: newPresent(), began: time.Now(), faults: map[string]int{},
		trap: trap{caught: make(chan stopped, 1)},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer t.leave(context.WithoutCancel(ctx))
	if err := t.watch(ctx); err != nil {
		return record{}, err
	}
	working, end := context.WithCancel(ctx)
	defer end()
	if err := t.prepare(ctx, working); err != nil {
		return record{}, fmt.Errorf("plan %d: %w", p.seed, err)
	}
	missed := t.play(ctx)
	if err := ctx.Err(); err != nil {
		return record{}, err
	}
	end()
	t.working.Wait()
	wait(ctx, settling)
	return t.judge(missed)
}

// settling is what watches may need to tell the last.
const settling = 500 * time.Millisecond

// prepare makes all that a trial begins with. Operators work until that context ends.
func (t *trial) prepare(ctx, working context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, preparing, fmt.Errorf("not there after %s", preparing))
	defer cancel()
	var err error
	if t.service, err = newService(); err != nil {
		return err
	}
	for _, make := range []func(context.Context) error{t.makeNamespace, t.makeZones, t.makeReplicas} {
		if err := make(ctx); err != nil {
			return err
		}
	}
	for _, r := range t.replicas {
		t.working.Go(func() { r.run(working) })
	}
	if err := insist(ctx, "wait for all zones", func(context.Context) error { return t.present.whole(t.plan, false) }); err != nil {
		return err
	}
	return t.guard(ctx)
}

// watch lets the judge's witness see everything from the beginning.
func (t *trial) watch(ctx context.Context) error {
	return insist(ctx, "watch namespace", func(context.Context) error {
		var err error
		t.witness, err = judge.Watch(ctx, t.ground.watcher, t.present.take, t.namespace)
		return err
	})
}

func (t *trial) makeNamespace(ctx context.Context) error {
	err := insist(ctx, "make namespace", func(ctx context.Context) error {
		_, err := t.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}, metav1.CreateOptions{})
		return unlessThere(err)
	})
	if err != nil {
		return err
	}
	return insist(ctx, "wait for the service account of pods", func(ctx context.Context) error {
		_, err := t.client.CoreV1().ServiceAccounts(t.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (t *trial) makeZones(ctx context.Context) error {
	for _, g := range t.plan.groups {
		budget, err := g.disruptionBudget()
		if err != nil {
			return err
		}
		if err := insist(ctx, "make disruption budget", func(ctx context.Context) error {
			_, err := t.ground.dynamic.Resource(budgets).Namespace(t.namespace).Create(ctx, budget, metav1.CreateOptions{})
			return unlessThere(err)
		}); err != nil {
			return err
		}
		for i := range g.replicas {
			if err := insist(ctx, "make zone", func(ctx context.Context) error {
				_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(ctx, g.statefulSet(i), metav1.CreateOptions{})
				return unlessThere(err)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeReplicas makes what operators need: the Role of single-namespace mode, a token,
// and proxies with the faults that operators begin with.
func (t *trial) makeReplicas(ctx context.Context) error {
	var token string
	err := insist(ctx, "give operators their rights", func(ctx context.Context) error {
		if err := t.ground.cluster.ApplyIn(ctx, t.namespace, manifests+"operator/serviceaccount.yaml",
			manifests+"rbac/namespaced/role.yaml", manifests+"rbac/home.yaml", manifests+"webhooks/certificate/role.yaml"); err != nil {
			return err
		}
		var err error
		token, err = t.ground.cluster.ServiceAccountKubeconfig(ctx, t.namespace, account)
		return err
	})
	if err != nil {
		return err
	}
	for number := range 2 {
		r, err := t.newReplica(number, token)
		if err != nil {
			return err
		}
		t.replicas = append(t.replicas, r)
		r.proxy.Play(t.scriptOf(r, true))
		for _, f := range t.plan.faults {
			if !f.befalls(number) {
				continue
			}
			for resource, d := range f.late {
				r.proxy.DelayWatches(resource, d)
			}
			if f.clocks != nil && t.ground.bent != "" {
				r.program = t.ground.bent
				t.count("wrong clocks")
			}
			if f.former {
				r.program = t.ground.former
			}
		}
	}
	return insist(ctx, "wait for the operators' rights", t.allowed)
}

// scriptOf joins the scripts of a replica's faults, all of them or the early ones.
func (t *trial) scriptOf(r *replica, early bool) faultproxy.Script {
	var scripts []faultproxy.Script
	for _, f := range t.plan.faults {
		if f.script != nil && f.befalls(r.number) && (f.early || !early) {
			scripts = append(scripts, f.script(r))
		}
	}
	return faultproxy.FirstOf(scripts...)
}

// play lets users ask and faults happen, and returns what of the goal was missed.
func (t *trial) play(ctx context.Context) error {
	for _, r := range t.replicas {
		r.proxy.Play(t.scriptOf(r, false))
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	answers := make(chan error, len(t.plan.lanes))
	for _, lane := range t.plan.lanes {
		go func() { answers <- t.ask(asking, lane) }()
	}
	t.disturb(ctx)
	for _, r := range t.replicas {
		if err := r.replaceFormer(ctx); err != nil {
			t.remark(ctx, "the %s operator is not replaced: %v", ordinals[r.number], err)
		}
		if err := r.calm(); err != nil {
			return err
		}
	}
	t.awaitHeld(ctx)
	deadline := time.AfterFunc(patience, func() { giveUp(fmt.Errorf("not reached %s after the last fault", patience)) })
	defer deadline.Stop()
	var missed []error
	for range t.plan.lanes {
		missed = append(missed, <-answers)
	}
	missed = append(missed, insist(asking, "wait for the goal", func(context.Context) error { return t.present.whole(t.plan, true) }))
	return errors.Join(missed...)
}

// awaitHeld waits until whatever is held back has arrived.
func (t *trial) awaitHeld(ctx context.Context) {
	held := func(r *replica) bool { return r.proxy.Holding() > 0 }
	for slices.ContainsFunc(t.replicas, held) && wait(ctx, tryAgain) {
		continue
	}
}

// ask goes through the steps of a lane.
func (t *trial) ask(ctx context.Context, lane []step) error {
	began := time.Now()
	for _, s := range lane {
		if wait(ctx, s.at-time.Since(began)) {
			if err := insist(ctx, s.what, s.until(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// disturb lets deeds be done, and returns when the time of faults is over.
func (t *trial) disturb(ctx context.Context) {
	var deeds sync.WaitGroup
	for _, f := range t.plan.faults {
		if f.deed == nil {
			continue
		}
		deeds.Go(func() {
			if !wait(ctx, f.at) {
				return
			}
			if err := f.deed(ctx, t, t.replicas[max(f.replica, 0)]); err != nil {
				t.remark(ctx, "%s: %v", f.words, err)
			}
		})
	}
	deeds.Go(func() { wait(ctx, busy) })
	deeds.Wait()
}

// count counts a fault that has happened.
func (t *trial) count(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

// remark keeps what is worth reading and decides nothing.
func (t *trial) remark(ctx context.Context, format string, args ...any) {
	if ctx.Err() != nil {
		return // it is the end that is complained of
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
}

// failed keeps how an operator failed, which breaks the plan unless the control plane
// was away at that time.
func (t *trial) failed(at time.Time, format string, args ...any) {
	for _, a := range t.ground.absencesSince(t.began) {
		if at.After(a.from) && at.Before(ended(a.to).Add(recovering)) {
			t.remark(context.Background(), format, args...)
			return
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// ended keeps how an operator ended that nobody had killed.
func (t *trial) ended(process *localcluster.Operator) {
	t.failed(time.Now(), "an operator ended by itself with code %d: %s", process.ExitCode(), child.LastLines(process.LogPath(), 2))
}

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

// leave gives back what the trial has used.
func (t *trial) leave(ctx context.Context) {
	t.working.Wait()
	ctx, cancel := context.WithTimeout(ctx, preparing)
	defer cancel()
	if t.service != nil {
		t.service.close()
	}
	for _, r := range t.replicas {
		r.proxy.Close()
	}
	hooks := t.client.AdmissionregistrationV1()
	for what, remove := range map[string]func(context.Context, string, metav1.DeleteOptions) error{
		"validating webhooks": hooks.ValidatingWebhookConfigurations().Delete,
		"mutating webhooks":   hooks.MutatingWebhookConfigurations().Delete,
		"namespace":           t.client.CoreV1().Namespaces().Delete,
	} {
		_ = insist(ctx, "remove "+what, func(ctx context.Context) error { // what stays goes with the cluster
			return unlessGone(remove(ctx, t.namespace, metav1.DeleteOptions{}))
		})
	}
}

// judge asks the judge, by watches and audit logs alone.
func (t *trial) judge(missed error) (record, error) {
	facts, err := t.witness.Facts()
	if err != nil {
		return record{}, fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	requests, err := t.ground.requests(t.namespace, t.user())
	if err != nil {
		return record{}, fmt.Errorf("plan %d: the judge cannot judge: %w", t.plan.seed, err)
	}
	rules := t.rules()
	verdict := judge.Try(facts, requests, rules)
	r := t.record(verdict, requests, missed)
	r.Grace = graceOf(rules.Deaf, t.began, time.Now())
	for _, d := range verdict.Takedowns {
		if d.WasUp && d.Excused {
			r.Grace.Excused++
		}
	}
	r.Violations = append(r.Violations, judge.Overstepped(t.whileServed(requests), func(user string) bool { return user == t.user() })...)
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
		Operators: []judge.Operator{{User: t.user(), Namespaces: []string{t.namespace}, Home: t.namespace}},
		Deaf:      t.windows(), Guarded: true, Evicting: true,
	}
	for _, g := range t.plan.groups {
		rules.Budgets = append(rules.Budgets, g.budget())
	}
	return rules
}

// happened counts all faults that met this trial, by kind.
func (t *trial) happened() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.replicas {
		counts := r.proxy.Counts()
		for name, n := range counts.Faults {
			if name != stoppedAt { // which counts if it lasts long enough
				t.faults[name] += n
			}
		}
		for _, f := range t.plan.faults {
			if !f.befalls(r.number) {
				continue
			}
			for resource, d := range f.late {
				if d > 0 && counts.Watches[resource] > 0 {
					t.faults[lateKind(resource)]++
				}
			}
		}
	}
	for _, a := range t.ground.absencesSince(t.began) {
		if a.by != t {
			t.faults[a.kind+" for another plan"]++
		}
	}
	return t.faults
}

// stoppedAt is how a proxy names that an operator was stopped at a write.
var stoppedAt = faultproxy.StoppedAt(nil).String()

// story tells everything that helps to understand what came of a plan.
func (t *trial) story(facts []judge.Fact, requests []judge.Request) string {
	var told []string
	told = append(told, t.plan.String())
	told = append(told, t.remarks...)
	told = append(told, t.failures...)
	for _, w := range t.windows() {
		told = append(told, fmt.Sprintf("deaf %s to %s %s late=%s live=%t", w.From.Format("05.000"), w.To.Format("05.000"), w.Agent, w.Late, w.Live))
	}
	slices.SortFunc(facts, func(a, b judge.Fact) int { return int(a.Version) - int(b.Version) })
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
