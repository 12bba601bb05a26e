package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// These are the names and the size of the StatefulCluster, and the time until one of its pods is ready.
const (
	identityNamespace = "east"
	identityName      = "db"
	replicas          = 4
	identityBefore    = "db:1"
	identityAfter     = "db:2"
	identityReady     = "1200ms"

	longestClaim = len(identityName + "-data-0123456789abcdef")
)

var statefulClusters = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}

// createNodes creates a Node for each pod of the StatefulCluster and runs a scheduler for its namespace until the returned
// function is called.
func (e *environment) createNodes(ctx context.Context) (stop func(), err error) {
	nodes, err := e.local.AddNodes(ctx, replicas, nil)
	if err != nil {
		return nil, err
	}
	return localcluster.Schedule(ctx, e.client, identityNamespace, nodes...), nil
}

// createStatefulCluster creates the StatefulCluster, with one claim for each pod, in a namespace that opted in.
func (e *environment) createStatefulCluster(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: identityNamespace, Labels: map[string]string{makerLabel: makerDemo, optInLabel: "true"},
	}}
	if _, err := e.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	objects, err := e.statefulClusters()
	if err != nil {
		return err
	}
	if _, err := objects.Create(ctx, statefulCluster(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create StatefulCluster: %w", err)
	}
	return nil
}

// changeImage changes the image of the StatefulCluster.
func (e *environment) changeImage(ctx context.Context) error {
	objects, err := e.statefulClusters()
	if err != nil {
		return err
	}
	change := fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": %q}]`, identityAfter)
	if _, err := objects.Patch(ctx, identityName, types.JSONPatchType, change, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change the image of the StatefulCluster: %w", err)
	}
	return nil
}

// removePod removes the pod of a Node that does not exist any more from the API server, as the garbage collection of pods does
// after a minute.
func (e *environment) removePod(ctx context.Context, name string) error {
	force := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	if err := e.client.CoreV1().Pods(identityNamespace).Delete(ctx, name, force); err != nil {
		return fmt.Errorf("remove the pod of the deleted Node: %w", err)
	}
	return nil
}

func (e *environment) statefulClusters() (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(e.AdminConfig())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client.Resource(statefulClusters).Namespace(identityNamespace), nil
}

func statefulCluster() *unstructured.Unstructured {
	labels := map[string]any{"app": identityName}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": statefulClusters.GroupVersion().String(), "kind": "StatefulCluster",
		"metadata": map[string]any{"name": identityName},
		"spec": map[string]any{
			"replicas": int64(replicas), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels, "annotations": map[string]any{localcluster.ReadyAfter: identityReady}},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": identityName, "image": identityBefore, "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}},
				}}},
			},
			"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{
				"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
			}}},
		},
	}}
}
