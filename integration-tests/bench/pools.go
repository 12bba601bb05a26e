package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// statefulSetName is the column of Kubernetes' own StatefulSet controller.
const statefulSetName = "statefulset"

// auditPolicyOfPools also logs the pods that Kubernetes' own controllers create.
var auditPolicyOfPools = strings.Replace(auditPolicy, "verbs: [delete]", "verbs: [create, delete]", 1)

// poolBench is a testbed with a pool of each contender.
type poolBench struct {
	*testbed
	client     dynamic.Interface
	contenders []*poolContender
}

// withPools calls measure with an empty pool of each contender.
func (b *bench) withPools(ctx context.Context, name string, measure func(context.Context, *poolBench) ([]row, error)) ([]row, error) {
	return b.withAuditedTestbed(ctx, name, auditPolicyOfPools, func(ctx context.Context, tb *testbed) ([]row, error) {
		pb, err := tb.poolBench(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range pb.contenders {
			if err := pb.addPool(ctx, c); err != nil {
				return nil, err
			}
		}
		return measure(ctx, pb)
	})
}

// pools measures one pool of each contender, alone and beside pools at rest.
func (b *bench) pools(ctx context.Context) ([]row, error) {
	return b.withPools(ctx, "pools", func(ctx context.Context, pb *poolBench) ([]row, error) {
		var rows []row
		for _, part := range []struct {
			chosen  bool
			measure func(context.Context) ([]row, error)
		}{
			{pb.measures("pool-birth") || pb.measures("pool-shrink"), pb.measureSizes},
			{pb.measures("pool-handover") || pb.measures("pool-inplace"), pb.measureUpdates},
			{pb.measures("pool-hole") || pb.measures("pool-rest"), pb.measureAtRest},
		} {
			if !part.chosen {
				continue
			}
			more, err := part.measure(ctx)
			rows = append(rows, more...)
			if err != nil {
				return rows, err
			}
		}
		return rows, nil
	})
}

// poolBench returns the contenders for pools: a bare loop, lockstep, and Kubernetes' own StatefulSet
// controller.
func (tb *testbed) poolBench(ctx context.Context) (*poolBench, error) {
	client, err := dynamic.NewForConfig(tb.cluster.AdminConfig())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if err := tb.cluster.Apply(ctx, manifests+"/statefulcluster/role.yaml"); err != nil {
		return nil, err
	}
	if err := tb.startBinder(ctx); err != nil {
		return nil, err
	}
	floor, lockstep := tb.contenders[0], tb.contenders[1]
	if tb.operator == "" {
		lockstep.command += enablesPools
	}
	set := &contender{name: statefulSetName, user: "system:kube-controller-manager"}
	return &poolBench{testbed: tb, client: client, contenders: []*poolContender{
		{contender: floor, keeper: &poolLoops{tb: tb, loops: map[string]chan func(*poolLoop){}}},
		{contender: lockstep, keeper: clusterKeeper{client}},
		{contender: set, keeper: setKeeper{tb}},
	}}, nil
}

// addPool starts a contender, with a pool without pods.
func (pb *poolBench) addPool(ctx context.Context, c *poolContender) error {
	namespaces, err := pb.makeNamespaces(ctx, c.contender, 1)
	if err != nil {
		return err
	}
	c.pool = &pool{namespace: namespaces[0], name: "db", contender: c.name}
	if err := pb.start(ctx, c.contender, namespaces...); err != nil {
		return err
	}
	return c.keeper.create(ctx, c.pool)
}

// scale sets the number of pods, and waits until all are ready.
func (pb *poolBench) scale(ctx context.Context, c *poolContender, replicas int) (poolRun, error) {
	return pb.runPool(ctx, c,
		func() error { return c.keeper.scale(ctx, c.pool, replicas) },
		func(v *poolView) bool { return v.ready(replicas) })
}

// inTurns calls run for contenders one after the other, several times. It does not count the first
// round. Each round begins with the next contender.
func (pb *poolBench) inTurns(contenders []*poolContender, runs int, what string, run func(*poolContender) (poolRun, error)) (map[string]poolSeries, error) {
	all := map[string]poolSeries{}
	for n := range runs + 1 {
		for i := range contenders {
			c := contenders[(n+i)%len(contenders)]
			result, err := run(c)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				all[c.name] = append(all[c.name], result)
			}
			pb.report("%s, run %d of %d: %-11s %s", what, n, runs, c.name, seconds(result.total))
		}
	}
	return all, nil
}

// empty removes all pods of a pool and all claims of its namespace, and waits until the contender
// writes no more.
func (pb *poolBench) empty(ctx context.Context, c *poolContender) error {
	if _, err := pb.scale(ctx, c, 0); err != nil {
		return err
	}
	claims := pb.testbed.client.CoreV1().PersistentVolumeClaims(c.pool.namespace)
	if err := pb.awaitNoWritesOf(ctx, c); err != nil {
		return err
	}
	if err := claims.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete claims of %s: %w", c.name, err)
	}
	err := pb.await(ctx, "claims of "+c.name, 0, func() (int, error) {
		list, err := claims.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, fmt.Errorf("list claims: %w", err)
		}
		return len(list.Items), nil
	})
	if err != nil {
		return err
	}
	return pb.awaitNoWritesOf(ctx, c)
}

// awaitNoWritesOf waits until a contender writes no more. Of the floor and Kubernetes' controllers,
// only writes to pods are known.
func (pb *poolBench) awaitNoWritesOf(ctx context.Context, c *poolContender) error {
	for end := time.Now().Add(maxSettling); time.Now().Before(end); {
		if err := pause(ctx, quietAfterRun); err != nil {
			return err
		}
		requests, err := pb.audit.next()
		if err != nil {
			return err
		}
		writes := 0
		for _, q := range requests {
			if c.writes(q) {
				writes++
			}
		}
		if writes == 0 {
			return nil
		}
	}
	return nil
}

// quietAfterRun is longer than the pause between two writes of a status.
const quietAfterRun = 1500 * time.Millisecond
