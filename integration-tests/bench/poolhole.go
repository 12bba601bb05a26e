package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// These are the goals for the replacement of a pod.
const (
	maxHoleMedian = 10 * time.Millisecond
	maxHoleP99    = 50 * time.Millisecond
)

// hole is a lost pod and its replacement.
type hole struct {
	sent  time.Duration // from the event that the pod terminates until the API server received the create of the next pod
	whole time.Duration // from the same event until all pods of the pool are ready
}

// measureHoles deletes pods of each pool, one after the other and in turns.
func (pb *poolBench) measureHoles(ctx context.Context, how string) (map[string][]hole, error) {
	sizes := pb.settings.pool
	if err := pb.scaleAll(ctx, sizes.left); err != nil {
		return nil, err
	}
	all := map[string][]hole{}
	for n := range sizes.holes + 1 {
		for i := range pb.contenders {
			c := pb.contenders[(n+i)%len(pb.contenders)]
			one, err := pb.measureHole(ctx, c, sizes.left)
			if err != nil {
				return nil, err
			}
			if n > 0 { // the first one is not counted
				all[c.name] = append(all[c.name], one)
			}
		}
		if n%50 == 0 {
			pb.report("%s, %d of %d", how, n, sizes.holes)
		}
	}
	return all, nil
}

// scaleAll sets the number of pods of each pool that has another one.
func (pb *poolBench) scaleAll(ctx context.Context, replicas int) error {
	for _, c := range pb.contenders {
		pods, err := pb.podsOf(ctx, c.pool)
		if err != nil {
			return err
		}
		if len(pods) == replicas {
			continue
		}
		if _, err := pb.scale(ctx, c, replicas); err != nil {
			return err
		}
		if err := pb.awaitNoWritesOf(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (pb *poolBench) podsOf(ctx context.Context, p *pool) ([]corev1.Pod, error) {
	list, err := pb.testbed.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: poolLabel + "=" + p.name})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", p.namespace, err)
	}
	return list.Items, nil
}

// measureHole deletes one pod.
func (pb *poolBench) measureHole(ctx context.Context, c *poolContender, replicas int) (hole, error) {
	pods, err := pb.podsOf(ctx, c.pool)
	if err != nil {
		return hole{}, err
	}
	if len(pods) == 0 {
		return hole{}, fmt.Errorf("%s has no pods", c.pool.namespace)
	}
	victim := pods[0]
	r, err := pb.runPool(ctx, c,
		func() error { return pb.deletePod(ctx, victim.Namespace, victim.Name) },
		func(v *poolView) bool { _, lost := v.ended[victim.UID]; return lost && v.ready(replicas) })
	if err != nil {
		return hole{}, err
	}
	return r.hole(victim.UID)
}

func (tb *testbed) deletePod(ctx context.Context, namespace, name string) error {
	if err := tb.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", namespace, name, err)
	}
	return nil
}

// hole returns the times of a run in which one pod was lost.
func (r poolRun) hole(lost types.UID) (hole, error) {
	i := slices.IndexFunc(r.writes, func(q request) bool { return is("create", "pods")(q) && q.code < 300 })
	if i < 0 {
		return hole{}, errors.New("the replacement of a pod is not in the audit log")
	}
	at := r.finished.ended[lost]
	return hole{sent: r.writes[i].at.Sub(at), whole: r.began.Add(r.total).Sub(at)}, nil
}

func holeRows(all map[string][]hole) []row {
	own := sentOf(all[lockstepName])
	return []row{
		holeRow("pool hole: pod terminates to create of its replacement, watch to audit log", all,
			fmt.Sprintf("≤ %d / %d ms", maxHoleMedian.Milliseconds(), maxHoleP99.Milliseconds()),
			verdictOfBoth(median(own) <= maxHoleMedian, quantile(own, 0.99) <= maxHoleP99)),
		rowOf("pool hole: pod terminates to all pods Ready, watch to watch", "", noGoal, all, func(_ string, holes []hole) string {
			took := durations(holes, func(h hole) time.Duration { return h.whole })
			return milliseconds(median(took), quantile(took, 0.99))
		}),
	}
}

// holesBesideRow compares holes beside pools at rest with holes without them.
func holesBesideRow(pools int, alone, beside map[string][]hole) row {
	own, without := sentOf(beside[lockstepName]), sentOf(alone[lockstepName])
	return holeRow(fmt.Sprintf("pool hole: the same beside %d pools at rest", pools), beside,
		fmt.Sprintf("≤ %.2f × alone / %d ms", maxUnchangedRatio, maxHoleP99.Milliseconds()),
		verdictOfBoth(median(own) <= mostUnchanged(median(without)), quantile(own, 0.99) <= maxHoleP99))
}

func holeRow(what string, all map[string][]hole, goal string, v verdict) row {
	return rowOf(fmt.Sprintf("%s, p50 / p99 of %d", what, len(all[lockstepName])), goal, v, all, func(_ string, holes []hole) string {
		took := sentOf(holes)
		return milliseconds(median(took), quantile(took, 0.99))
	})
}

func sentOf(holes []hole) []time.Duration {
	return durations(holes, func(h hole) time.Duration { return h.sent })
}
