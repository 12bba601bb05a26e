package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// These are lockstep's labels and annotations of pods and claims of StatefulClusters.
const (
	instanceIDLabel         = "lockstep.dev/instance-id"
	retiredReasonAnnotation = "lockstep.dev/retired-reason"
)

// watchIdentities watches the objects of the StatefulCluster.
func watchIdentities(ctx context.Context, client kubernetes.Interface) (<-chan observation[memberChange], error) {
	core := client.CoreV1().RESTClient()
	return watchAll(ctx, memberChangeOf, map[string]*cache.ListWatch{
		"pods":   listWatch(core, "pods", identityNamespace),
		"claims": listWatch(core, "persistentvolumeclaims", identityNamespace),
		"leases": listWatch(client.CoordinationV1().RESTClient(), "leases", identityNamespace),
	})
}

// memberChangeOf converts an event that arrived at a time. The second result is false for objects without an identity.
func memberChangeOf(event watch.Event, at time.Time) (memberChange, bool) {
	c := memberChange{at: at, deleted: event.Type == watch.Deleted}
	switch o := event.Object.(type) {
	case *corev1.Pod:
		c.member = &member{
			id: o.Labels[instanceIDLabel], name: o.Name, uid: string(o.UID), node: o.Spec.NodeName,
			wanted: o.Spec.Containers[0].Image, ready: isReady(o), terminating: o.DeletionTimestamp != nil,
		}
		for _, s := range o.Status.ContainerStatuses {
			c.member.image = s.Image
		}
		return c, c.member.id != ""
	case *corev1.PersistentVolumeClaim:
		c.claim = &claim{id: o.Labels[instanceIDLabel], name: o.Name, spent: o.Annotations[retiredReasonAnnotation]}
		return c, c.claim.id != ""
	case *coordinationv1.Lease:
		holder := ""
		if o.Spec.HolderIdentity != nil && !c.deleted {
			holder = *o.Spec.HolderIdentity
		}
		c.holder = &holder
		return c, true
	}
	return c, false
}
