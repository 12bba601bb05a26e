package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

func TestSeedDeterminesPlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		if one, again := newPlan(seed).String(), newPlan(seed).String(); one != again {
			t.Fatalf("seed %d gives\n%s\nand\n%s", seed, one, again)
		}
	}
	if newPlan(1).String() == strings.Replace(newPlan(2).String(), "plan 2", "plan 1", 1) {
		t.Error("two seeds give the same plan")
	}
}

func TestPlansCoverAllStepsAndFaults(t *testing.T) {
	t.Parallel()
	steps, met := map[string]int{}, map[string]int{}
	const plans = 1000
	for seed := range uint64(plans) {
		p := newPlan(seed)
		for _, s := range p.steps() {
			steps[s.kind]++
		}
		for _, f := range p.faults {
			met[kindOfWords(f.description)]++
		}
	}
	for _, kind := range []string{stepRollout, stepDownscale, stepUpscale, stepFollow, stepEviction, stepPause, stepStrategy, stepRaise, stepAdded, stepBeside,
		stepPoolImage, stepPoolCPU, stepPoolMode, stepPoolScale, stepPoolEviction, stepPoolClaimAdded, stepPoolClaimRemoved, stepPoolClaimsAndImage,
	} {
		if steps[kind] < plans/20 {
			t.Errorf("%d plans contain a %s %d times", plans, kind, steps[kind])
		}
	}
	all := slices.Concat(faultWords, poolFaultWords)
	for _, words := range all {
		if met[words] < plans/50 {
			t.Errorf("in %d plans it happens %d times that %q", plans, met[words], words)
		}
	}
	if len(met) != len(all) {
		t.Errorf("faults are described as %v", met)
	}
}

func TestPlansWithFormerVersionOmitNewFeatures(t *testing.T) {
	t.Parallel()
	drawn := 0
	for seed := range uint64(1000) {
		p := newPlan(seed)
		if !slices.ContainsFunc(p.faults, func(f fault) bool { return f.former }) {
			continue
		}
		drawn++
		if p.pool != nil {
			t.Fatalf("a StatefulCluster with a former version in\n%s", p)
		}
		for _, f := range p.faults {
			if f.singleDelay || strings.Contains(f.description, "leaves") || strings.Contains(f.description, "controllers of Kubernetes") {
				t.Fatalf("%s with a former version in\n%s", f.description, p)
			}
		}
		for _, s := range p.steps() {
			if s.kind == stepRaise {
				t.Fatalf("%s with a former version in\n%s", s.what, p)
			}
		}
	}
	if drawn == 0 {
		t.Error("no plan has a former version")
	}
}

func TestPlanHasNoDuplicateFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		seen := map[string]bool{}
		for _, f := range newPlan(seed).faults {
			if f.once != "" && seen[f.once] {
				t.Fatalf("%s twice in\n%s", f.once, newPlan(seed))
			}
			seen[f.once] = true
		}
	}
}

func TestFaultsOfOneKindAffectDifferentRequests(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	one, other := &replica{number: 0}, &replica{number: 1}
	met := func(script faultproxy.Script) (requests []int) {
		for n := range 300 {
			for _, kind := range []faultproxy.Kind{faultproxy.Write, faultproxy.Watch} {
				if script(faultproxy.Request{Kind: kind, Number: n}).String() != "" {
					requests = append(requests, n)
				}
			}
		}
		return requests
	}
	for name, draw := range map[string]func(*rand.Rand) fault{"refused": failedRequests, "garbled": lostWrites, "states missed": expiredWatches, "watches slow": slowWatches} {
		first, second := draw(random), draw(random)
		got := met(first.script(one))
		if !slices.Equal(got, met(first.script(one))) {
			t.Errorf("%s: the same fault meets other requests the second time", name)
		}
		if slices.Equal(got, met(second.script(one))) || slices.Equal(got, met(first.script(other))) {
			t.Errorf("%s: two faults, or two operators, share their dice", name)
		}
	}
}

// faultWords are fragments that identify the kinds of faults.
var faultWords = []string{
	"are killed at these writes", "alone are seen late", "it is orphaned", "it has no group", "it is in another group", "seen late", "told that it is too late", "begin", "requests is answered", "writes meets",
	"API server that lags", "is stopped for", "loses Ready", "another client deletes a pod", "operators are killed at their", "Lease of leadership is deleted", "stranger takes", "of a former version",
	"clocks are wrong", "connections to webhooks", "kube-apiserver is killed", "etcd is killed", "controllers of Kubernetes are paused",
}

// poolFaultWords are those of the faults of StatefulClusters.
var poolFaultWords = []string{
	"a pod of the StatefulCluster loses Ready", "deletes a pod of the StatefulCluster", "deletes a claim", "forbids further pods", "forbids further persistentvolumeclaims",
	"deletes the Lease of the StatefulCluster", "empties the status", "the operator that creates a pod is stopped", "for StatefulClusters",
	"a node with pods of the StatefulCluster", "the StatefulCluster is deleted without its pods", "write of persistentvolumeclaims", "write of pods/resize",
}

func kindOfWords(words string) string {
	for _, w := range append(poolFaultWords, "API server that lags") { // which contain those of other kinds, too
		if strings.Contains(words, w) {
			return w
		}
	}
	for _, w := range faultWords {
		if strings.Contains(words, w) {
			return w
		}
	}
	return words
}

func TestEveryZoneOfPlanKeepsPod(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		p := newPlan(seed)
		for _, g := range p.groups {
			for i := range g.finalReplicas {
				if g.replicas[i] < 1 || g.finalReplicas[i] < 1 {
					t.Fatalf("zone %s of\n%s", g.zone(i), p)
				}
			}
		}
	}
}
