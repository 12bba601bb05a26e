package main

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// clusterKeeper keeps pools as StatefulClusters.
type clusterKeeper struct{ client dynamic.Interface }

// create implements keeper.
func (k clusterKeeper) create(ctx context.Context, p *pool) error { return k.createWith(ctx, p, 0) }

// createWith creates a pool with a number of pods.
func (k clusterKeeper) createWith(ctx context.Context, p *pool, replicas int) error {
	object, err := p.statefulCluster(replicas)
	if err != nil {
		return err
	}
	if _, err := k.client.Resource(statefulClusters).Namespace(p.namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create StatefulCluster %s/%s: %w", p.namespace, p.name, err)
	}
	return nil
}

// scale implements keeper.
func (k clusterKeeper) scale(ctx context.Context, p *pool, replicas int) error {
	return k.patch(ctx, p, replicasPatch(replicas))
}

// change implements keeper.
func (k clusterKeeper) change(ctx context.Context, p *pool) error {
	patch, err := templatePatch(p)
	if err != nil {
		return err
	}
	return k.patch(ctx, p, patch)
}

func (k clusterKeeper) patch(ctx context.Context, p *pool, patch []byte) error {
	_, err := k.client.Resource(statefulClusters).Namespace(p.namespace).Patch(ctx, p.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch StatefulCluster %s/%s: %w", p.namespace, p.name, err)
	}
	return nil
}

// setKeeper keeps pools as StatefulSets.
type setKeeper struct{ tb *testbed }

// create implements keeper.
func (k setKeeper) create(ctx context.Context, p *pool) error {
	if _, err := k.tb.client.AppsV1().StatefulSets(p.namespace).Create(ctx, p.statefulSet(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create StatefulSet %s/%s: %w", p.namespace, p.name, err)
	}
	return nil
}

// scale implements keeper.
func (k setKeeper) scale(ctx context.Context, p *pool, replicas int) error {
	return k.patch(ctx, p, replicasPatch(replicas))
}

// change implements keeper.
func (k setKeeper) change(ctx context.Context, p *pool) error {
	patch, err := templatePatch(p)
	if err != nil {
		return err
	}
	return k.patch(ctx, p, patch)
}

func (k setKeeper) patch(ctx context.Context, p *pool, patch []byte) error {
	if _, err := k.tb.client.AppsV1().StatefulSets(p.namespace).Patch(ctx, p.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch StatefulSet %s/%s: %w", p.namespace, p.name, err)
	}
	return nil
}

func replicasPatch(replicas int) []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
}

// templatePatch returns a merge patch with the whole template.
func templatePatch(p *pool) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": p.template()}})
	if err != nil {
		return nil, fmt.Errorf("make the template of %s: %w", p.name, err)
	}
	return patch, nil
}
