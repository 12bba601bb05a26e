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

// The goals for memory, in KB: so much for each pod on top of the base.
const (
	mostBase       = 40 << 10
	mostPerManaged = 3.0
	mostPerOther   = 0.5
)

func mostMemory(managed, others int) int {
	return mostBase + int(mostPerManaged*float64(managed)+mostPerOther*float64(others))
}

// memoryGroupPods are in each of three zones.
const memoryGroupPods = 10

// footprint is what an operator occupies as the cluster grows, in KB.
type footprint struct {
	base    point   // one group, after a rollout: what is needed in any case is there
	managed []point // in order of their number
	others  point   // on top of the last one
	daily   daily   // with all of these; lockstep's alone
}

// point is a number of pods and what the operator occupies then.
type point struct{ pods, kilobytes int }

// memorySizes measures every operator on a cluster of its own, so that nobody's
// pods are the others'.
func (b *bench) memorySizes(ctx context.Context) ([]row, error) {
	all := map[string]footprint{}
	for i, name := range b.names() {
		if name == floorName {
			continue
		}
		_, err := b.inArena(ctx, "memory-"+name, func(ctx context.Context, a *arena) ([]row, error) {
			f, err := a.footprint(ctx, a.racers[i])
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
	rows := []row{memoryRow(base, own.base.kilobytes, mostMemory(own.base.pods, 0), all, func(f footprint) string { return megabytes(f.base.kilobytes) })}
	for i, p := range own.managed {
		what := fmt.Sprintf("memory with %d managed pods (each of those that came)", p.pods)
		rows = append(rows, memoryRow(what, p.kilobytes, mostMemory(p.pods, 0), all, func(f footprint) string {
			return fmt.Sprintf("%s (%.1f KB)", megabytes(f.managed[i].kilobytes), f.perManaged(i))
		}))
	}
	if own.others.pods > 0 {
		managed := own.managed[len(own.managed)-1].pods
		what := fmt.Sprintf("memory with %d other pods on top of %d (each of these)", own.others.pods, managed)
		rows = append(rows, memoryRow(what, own.others.kilobytes, mostMemory(managed, own.others.pods), all, func(f footprint) string {
			return fmt.Sprintf("%s (%.2f KB)", megabytes(f.others.kilobytes), f.perOther())
		}))
	}
	if len(own.daily.samples) > 0 {
		rows = append(rows, own.daily.row(own.managed[len(own.managed)-1].pods, own.others.pods))
	}
	return rows
}

func memoryRow[T any](what string, own, most int, all map[string]T, cell func(T) string) row {
	return rowOf(what, "≤ "+megabytes(most), verdictOf(own <= most), all, func(_ string, of T) string { return cell(of) })
}

func (f footprint) perManaged(i int) float64 {
	return float64(f.managed[i].kilobytes-f.base.kilobytes) / float64(f.managed[i].pods-f.base.pods)
}

func (f footprint) perOther() float64 {
	return float64(f.others.kilobytes-f.managed[len(f.managed)-1].kilobytes) / float64(f.others.pods)
}

func megabytes(kilobytes int) string { return fmt.Sprintf("%.1f MB", float64(kilobytes)/1024) }

// footprint lets the cluster grow under one running operator.
func (a *arena) footprint(ctx context.Context, r *racer) (footprint, error) {
	var f footprint
	namespaces, err := a.makeNamespaces(ctx, r, 1)
	if err != nil {
		return f, err
	}
	first := newGroups(namespaces, r.name, "store-", 1, memoryGroupPods)
	if err := a.makeGroups(ctx, first); err != nil {
		return f, err
	}
	if err := a.start(ctx, r, namespaces...); err != nil {
		return f, err
	}
	if _, err := a.roll(ctx, r, first, nil); err != nil {
		return f, fmt.Errorf("roll with %s: %w", r.name, err)
	}
	f.base.pods = first[0].size()
	if f.base.kilobytes, err = a.settled(ctx, r, fmt.Sprint(f.base.pods, " managed pods"), a.memory.settle); err != nil {
		return f, err
	}
	there := 1
	for _, pods := range a.memory.pods {
		count := (pods + f.base.pods - 1) / f.base.pods
		groups := newGroups(namespaces, r.name, "store-", count, memoryGroupPods)
		if err := a.makeGroups(ctx, groups[min(there, count):]); err != nil {
			return f, err
		}
		there = max(there, count)
		now := point{pods: there * f.base.pods}
		if now.kilobytes, err = a.settled(ctx, r, fmt.Sprint(now.pods, " managed pods"), a.memory.settle); err != nil {
			return f, err
		}
		f.managed = append(f.managed, now)
	}
	if f.others.pods = a.memory.others; f.others.pods > 0 {
		if err := a.makeOthers(ctx, f.others.pods); err != nil {
			return f, err
		}
		if f.others.kilobytes, err = a.settled(ctx, r, fmt.Sprint(f.others.pods, " other pods on top"), a.memory.settle); err != nil {
			return f, err
		}
	}
	if r.name == lockstepName {
		f.daily, err = a.dailyUse(ctx, r, first)
	}
	return f, err
}

const (
	sampleEvery = 250 * time.Millisecond
	levelWithin = 0.02 // of what it occupies
	mostParts   = 12
)

// settled waits until what a racer occupies stays level, and returns the lowest
// of many samples: garbage that waits for its collection comes on top of what is
// needed. Go collects at least every two minutes, and gives back to the kernel
// after that, so a settling time above that is the one to trust. The first third
// of it, in which a process may still start, does not count.
func (b *bench) settled(ctx context.Context, r *racer, what string, within time.Duration) (int, error) {
	third := within / 3
	if err := pause(ctx, third); err != nil {
		return 0, err
	}
	var lows []int
	for {
		samples, err := sample(ctx, r, third)
		if err != nil {
			return 0, err
		}
		low := slices.Min(samples)
		lows = append(lows, low)
		level := len(lows) > 1 && float64(lows[len(lows)-2]-low) <= levelWithin*float64(low)
		if level || len(lows) >= mostParts {
			b.say("%s with %s occupies %s", r.name, what, megabytes(slices.Min(lows)))
			return slices.Min(lows), nil
		}
	}
}

// sample returns what a racer occupies, again and again, at least once.
func sample(ctx context.Context, r *racer, during time.Duration) ([]int, error) {
	all := []int{r.memory()}
	for began := time.Now(); time.Since(began) < during; {
		if err := pause(ctx, sampleEvery); err != nil {
			return nil, err
		}
		all = append(all, r.memory())
	}
	return all, nil
}

// makeOthers makes pods of somebody else: of ReplicaSets, in a namespace that
// nobody manages.
func (a *arena) makeOthers(ctx context.Context, count int) error {
	const namespace, each = namespacePrefix + "others", 2000
	if err := a.makeNamespace(ctx, namespace, nil); err != nil {
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
		if _, err := a.client.AppsV1().ReplicaSets(namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make other pods: %w", err)
		}
	}
	return a.await(ctx, "other pods", count, func() (int, error) {
		list, err := a.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
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
