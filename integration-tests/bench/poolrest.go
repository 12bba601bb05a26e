package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restingPods is the number of pods of each pool at rest.
const restingPods = 3

// measureAtRest measures holes, then the operator with pools at rest, and holes beside these.
func (pb *poolBench) measureAtRest(ctx context.Context) ([]row, error) {
	var rows []row
	var alone map[string][]hole
	var err error
	if pb.measures("pool-hole") {
		if alone, err = pb.measureHoles(ctx, "pool hole"); err != nil {
			return nil, err
		}
		rows = holeRows(alone)
	}
	count := pb.settings.pool.resting
	if err := pb.addPoolsAtRest(ctx, count); err != nil {
		return rows, err
	}
	if pb.measures("pool-rest") {
		uses, err := pb.measureIdle(ctx, fmt.Sprint(count, " pools"))
		if err != nil {
			return rows, err
		}
		rows = append(rows, restRows(count, pb.idle.window, uses)...)
	}
	if pb.measures("pool-hole") {
		beside, err := pb.measureHoles(ctx, fmt.Sprintf("pool hole beside %d pools", count))
		if err != nil {
			return rows, err
		}
		rows = append(rows, holesBesideRow(count, alone, beside))
	}
	return rows, nil
}

// addPoolsAtRest creates more pools of lockstep, and returns when all their pods are ready.
func (pb *poolBench) addPoolsAtRest(ctx context.Context, count int) error {
	c := pb.contenders[1]
	clusters := clusterKeeper{pb.client}
	for i := range count {
		p := &pool{namespace: c.pool.namespace, name: fmt.Sprint("rest-", i), contender: c.name}
		if err := clusters.createWith(ctx, p, restingPods); err != nil {
			return err
		}
	}
	return pb.awaitReadyReplicas(ctx, c.pool.namespace, count*restingPods, c.pool.name)
}

// awaitReadyReplicas waits until the statuses of the StatefulClusters in a namespace have so many
// ready pods, one of them apart.
func (pb *poolBench) awaitReadyReplicas(ctx context.Context, namespace string, want int, except string) error {
	return pb.await(ctx, "Ready pods of StatefulClusters", want, func() (int, error) {
		list, err := pb.client.Resource(statefulClusters).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return 0, fmt.Errorf("list StatefulClusters: %w", err)
		}
		ready := 0
		for i := range list.Items {
			n, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "readyReplicas")
			if list.Items[i].GetName() != except {
				ready += int(n)
			}
		}
		return ready, nil
	})
}

func restRows(count int, window time.Duration, all map[string]idleUse) []row {
	rows := idleRows(count, window, all)
	rows[0].what = fmt.Sprintf("pool rest: writes a minute, %d pools of %d at rest for %.0f s, leader's Lease apart", count, restingPods, window.Seconds())
	rows[1].what = "pool rest: share of a core meanwhile"
	return rows
}
