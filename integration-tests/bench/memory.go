package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// These are the goals for memory in KB: a base, and an amount for each pod.
const (
	maxBase       = 40 << 10
	maxPerManaged = 3.0
	maxPerOther   = 0.5
)

// maxPeak returns the goal for the largest memory in KB: 49 MB with 30 pods, and 8 MB more with 1200 more pods.
func maxPeak(managed int) int { return 49<<10 + (8<<10)*(managed-30)/1200 }

func maxMemory(managed, others int) int {
	return maxBase + int(maxPerManaged*float64(managed)+maxPerOther*float64(others))
}

// memoryGroupPods is the number of pods in each of three zones.
const memoryGroupPods = 10

// footprint is the memory of an operator as the cluster grows, in KB.
type footprint struct {
	base    point      // one group, after a rollout that allocated what every rollout needs
	managed []point    // in order of their number
	others  point      // in addition to the last managed one
	typical typicalUse // with all of these; only of lockstep
}

// point is a number of pods and the operator's memory, with its peak so far.
type point struct{ pods, kilobytes, peak int }

// memorySizes measures every operator on a cluster of its own, so that no operator watches the pods of
// another one.
func (b *bench) memorySizes(ctx context.Context) ([]row, error) {
	all := map[string]footprint{}
	for i, name := range b.names() {
		if name == floorName {
			continue
		}
		_, err := b.withTestbed(ctx, "memory-"+name, func(ctx context.Context, tb *testbed) ([]row, error) {
			f, err := tb.measureFootprint(ctx, tb.contenders[i])
			all[name] = f
			return nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return memoryRows(all), nil
}

func memoryRows(all map[string]footprint) []row {
	own := all[lockstepName]
	base := fmt.Sprintf("memory with %d managed pods, after a rollout", own.base.pods)
	rows := []row{memoryRow(base, own.base.kilobytes, maxMemory(own.base.pods, 0), all, func(f footprint) string { return megabytes(f.base.kilobytes) })}
	for i, p := range own.managed {
		what := fmt.Sprintf("memory with %d managed pods (each of those that came)", p.pods)
		rows = append(rows, memoryRow(what, p.kilobytes, maxMemory(p.pods, 0), all, func(f footprint) string {
			return fmt.Sprintf("%s (%.1f KB)", megabytes(f.managed[i].kilobytes), f.perManaged(i))
		}))
	}
	for i, p := range append([]point{own.base}, own.managed...) {
		what := fmt.Sprintf("largest memory with up to %d managed pods", p.pods)
		rows = append(rows, memoryRow(what, p.peak, maxPeak(p.pods), all, func(f footprint) string {
			return megabytes(append([]point{f.base}, f.managed...)[i].peak)
		}))
	}
	if own.others.pods > 0 {
		managed := own.managed[len(own.managed)-1].pods
		what := fmt.Sprintf("memory with %d other pods on top of %d (each of these)", own.others.pods, managed)
		rows = append(rows, memoryRow(what, own.others.kilobytes, maxMemory(managed, own.others.pods), all, func(f footprint) string {
			return fmt.Sprintf("%s (%.2f KB)", megabytes(f.others.kilobytes), f.perOther())
		}))
	}
	if len(own.typical.samples) > 0 {
		rows = append(rows, own.typical.row(own.managed[len(own.managed)-1].pods, own.others.pods))
	}
	return rows
}

func memoryRow[T any](what string, own, limit int, all map[string]T, cell func(T) string) row {
	return rowOf(what, "≤ "+megabytes(limit), verdictOf(own <= limit), all, func(_ string, of T) string { return cell(of) })
}

func (f footprint) perManaged(i int) float64 {
	return float64(f.managed[i].kilobytes-f.base.kilobytes) / float64(f.managed[i].pods-f.base.pods)
}

func (f footprint) perOther() float64 {
	return float64(f.others.kilobytes-f.managed[len(f.managed)-1].kilobytes) / float64(f.others.pods)
}

func megabytes(kilobytes int) string { return fmt.Sprintf("%.1f MB", float64(kilobytes)/1024) }

// measureFootprint adds pods to the cluster while one operator is running.
func (tb *testbed) measureFootprint(ctx context.Context, c *contender) (footprint, error) {
	var f footprint
	namespaces, err := tb.makeNamespaces(ctx, c, 1)
	if err != nil {
		return f, err
	}
	first := newGroups(namespaces, c.name, "store-", 1, memoryGroupPods)
	if err := tb.makeGroups(ctx, first); err != nil {
		return f, err
	}
	if err := tb.start(ctx, c, namespaces...); err != nil {
		return f, err
	}
	if _, err := tb.roll(ctx, c, first, nil); err != nil {
		return f, fmt.Errorf("roll with %s: %w", c.name, err)
	}
	f.base.pods = first[0].size()
	if f.base.kilobytes, err = tb.stableMemory(ctx, c, fmt.Sprint(f.base.pods, " managed pods"), tb.memory.settle); err != nil {
		return f, err
	}
	f.base.peak = c.peakMemory()
	existing := 1
	for _, pods := range tb.memory.pods {
		count := (pods + f.base.pods - 1) / f.base.pods
		groups := newGroups(namespaces, c.name, "store-", count, memoryGroupPods)
		if err := tb.makeGroups(ctx, groups[min(existing, count):]); err != nil {
			return f, err
		}
		existing = max(existing, count)
		now := point{pods: existing * f.base.pods}
		if now.kilobytes, err = tb.stableMemory(ctx, c, fmt.Sprint(now.pods, " managed pods"), tb.memory.settle); err != nil {
			return f, err
		}
		now.peak = c.peakMemory()
		f.managed = append(f.managed, now)
	}
	if f.others.pods = tb.memory.others; f.others.pods > 0 {
		if err := tb.makeUnmanagedPods(ctx, f.others.pods); err != nil {
			return f, err
		}
		if f.others.kilobytes, err = tb.stableMemory(ctx, c, fmt.Sprint(f.others.pods, " other pods on top"), tb.memory.settle); err != nil {
			return f, err
		}
	}
	if c.name == lockstepName {
		f.typical, err = tb.measureTypicalUse(ctx, c, first)
	}
	return f, err
}

const (
	sampleEvery  = 250 * time.Millisecond
	stableWithin = 0.02 // of its memory
	maxWindows   = 12
)

// stableMemory waits until a contender's memory is stable, and returns the lowest of many samples,
// because uncollected garbage adds to it. Go collects at least every two minutes and
// returns memory to the kernel afterwards, so only a longer settling time is reliable. The first third
// does not count, because a process may still be starting.
func (b *bench) stableMemory(ctx context.Context, c *contender, what string, within time.Duration) (int, error) {
	third := within / 3
	if err := pause(ctx, third); err != nil {
		return 0, err
	}
	var lows []int
	for {
		samples, err := sample(ctx, c, third)
		if err != nil {
			return 0, err
		}
		low := slices.Min(samples)
		lows = append(lows, low)
		stable := len(lows) > 1 && float64(lows[len(lows)-2]-low) <= stableWithin*float64(low)
		if stable || len(lows) >= maxWindows {
			b.report("%s with %s occupies %s", c.name, what, megabytes(slices.Min(lows)))
			return slices.Min(lows), nil
		}
	}
}

// sample returns samples of a contender's memory, at least one.
func sample(ctx context.Context, c *contender, during time.Duration) ([]int, error) {
	all := []int{c.memory()}
	for began := time.Now(); time.Since(began) < during; {
		if err := pause(ctx, sampleEvery); err != nil {
			return nil, err
		}
		all = append(all, c.memory())
	}
	return all, nil
}

// makeUnmanagedPods creates pods of ReplicaSets in a namespace that no operator manages.
func (tb *testbed) makeUnmanagedPods(ctx context.Context, count int) error {
	const namespace, each = namespacePrefix + "others", 2000
	if err := tb.makeNamespace(ctx, namespace, nil); err != nil {
		return err
	}
	for i := 0; i*each < count; i++ {
		name := fmt.Sprint("other-", i)
		labels := map[string]string{"name": name}
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: new(int32(min(each, count-i*each))),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       podSpec("image:0", localcluster.NodeName(i%nodes)),
				},
			},
		}
		if _, err := tb.client.AppsV1().ReplicaSets(namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make other pods: %w", err)
		}
	}
	return tb.await(ctx, "other pods", count, func() (int, error) {
		list, err := tb.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return 0, fmt.Errorf("list ReplicaSets: %w", err)
		}
		ready := 0
		for _, set := range list.Items {
			ready += int(set.Status.ReadyReplicas)
		}
		return ready, nil
	})
}
