package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// clusterState is the last state of all objects in a namespace that the observer received.
type clusterState struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.StatefulSet
	deleted map[string]*appsv1.StatefulSet   // as they were when they were deleted
	leases  map[string]*coordinationv1.Lease // of groups
	holder  string                           // the holder of the leader Lease that was observed last

	claims     map[string]*corev1.PersistentVolumeClaim
	pool       *unstructured.Unstructured       // the StatefulCluster as it was when it was deleted; nil while it exists
	poolUID    string                           // of the last StatefulCluster
	poolLeases map[string]*coordinationv1.Lease // of StatefulClusters
}

func newClusterState() *clusterState {
	return &clusterState{
		pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{}, deleted: map[string]*appsv1.StatefulSet{}, leases: map[string]*coordinationv1.Lease{},
		claims: map[string]*corev1.PersistentVolumeClaim{}, poolLeases: map[string]*coordinationv1.Lease{},
	}
}

func (s *clusterState) observe(event watch.Event) {
	deleted := event.Type == watch.Deleted
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := event.Object.(type) {
	case *corev1.Pod:
		putOrDelete(s.pods, o.Name, o, deleted)
	case *appsv1.StatefulSet:
		putOrDelete(s.sets, o.Name, o, deleted)
		putOrDelete(s.deleted, o.Name, o, !deleted)
	case *unstructured.Unstructured:
		s.pool, s.poolUID = nil, string(o.GetUID())
		if deleted {
			s.pool = o
		}
	case *corev1.PersistentVolumeClaim:
		putOrDelete(s.claims, o.Name, o, deleted)
	case *coordinationv1.Lease:
		if judge.HoldOf(o) != nil {
			putOrDelete(s.leases, o.Name, o, deleted)
		}
		if judge.PoolHoldOf(o) != nil {
			putOrDelete(s.poolLeases, o.Name, o, deleted)
		}
		if o.Name == judge.LeaderLease && !deleted && o.Spec.HolderIdentity != nil {
			s.holder = *o.Spec.HolderIdentity
		}
	}
}

func putOrDelete[T any](all map[string]T, name string, object T, deleted bool) {
	if deleted {
		delete(all, name)
	} else {
		all[name] = object
	}
}

// checkZones returns an error until all zones have their initial state, or their final state with
// the newest template and without a holder.
func (s *clusterState) checkZones(plan plan, end bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range plan.groups {
		wanted := g.replicas
		if end {
			wanted = g.finalReplicas
		}
		for i, replicas := range wanted {
			if err := s.checkZone(g.zone(i), replicas, end); err != nil {
				return err
			}
		}
	}
	if !end {
		return nil
	}
	for name, l := range s.leases {
		if hold := judge.HoldOf(l); hold.Holder != "" || len(hold.Intents) > 0 || hold.Downscale.Zone != "" {
			return fmt.Errorf("the Lease %s is held by %q, with %d intents", name, hold.Holder, len(hold.Intents))
		}
	}
	return nil
}

// lease returns the Lease of a group or of a StatefulCluster, or nil if there is none.
func (s *clusterState) lease(name string) *coordinationv1.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.poolLeases[name]; l != nil {
		return l
	}
	return s.leases[name]
}

// leader returns the leader, or an empty string if there was none yet.
func (s *clusterState) leader() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder
}

// leaderChanged reports whether the leader changed to another operator.
func (s *clusterState) leaderChanged(then string) bool {
	now := s.leader()
	return then != "" && now != "" && now != then && now != otherHolder
}

func (s *clusterState) checkZone(zone string, replicas int32, newest bool) error {
	set := s.sets[zone]
	if set == nil {
		return fmt.Errorf("zone %s does not exist", zone)
	}
	status := set.Status
	switch {
	case *set.Spec.Replicas != replicas:
		return fmt.Errorf("zone %s has %d replicas, %d wanted", zone, *set.Spec.Replicas, replicas)
	case status.ObservedGeneration < set.Generation:
		return fmt.Errorf("zone %s: generation %d, observed %d", zone, set.Generation, status.ObservedGeneration)
	case status.Replicas != replicas || status.ReadyReplicas != replicas:
		return fmt.Errorf("zone %s: %d pods wanted, %d exist, %d are Ready", zone, replicas, status.Replicas, status.ReadyReplicas)
	case newest && status.CurrentRevision != status.UpdateRevision:
		return fmt.Errorf("zone %s: current revision %s, update revision %s", zone, status.CurrentRevision, status.UpdateRevision)
	}
	for _, name := range judge.ZoneOf(set).Pods() {
		pod := s.pods[name]
		switch {
		case pod == nil || !judge.PodOf(pod).Serving():
			return fmt.Errorf("pod %s is not up", name)
		case newest && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != status.UpdateRevision:
			return fmt.Errorf("pod %s has revision %s, %s wanted", name, pod.Labels[appsv1.ControllerRevisionHashLabelKey], status.UpdateRevision)
		}
	}
	return nil
}

// checkPermissions returns an error until the API servers that the operators use have observed their roles.
func (t *trial) checkPermissions(ctx context.Context) error {
	if slices.ContainsFunc(t.plan.faults, func(f fault) bool { return f.cachedLists }) {
		if err := t.checkPermissionsAt(ctx, t.env.laggingClient); err != nil {
			return err
		}
	}
	return t.checkPermissionsAt(ctx, t.client)
}

func (t *trial) checkPermissionsAt(ctx context.Context, client kubernetes.Interface) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: t.user(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: t.namespace, Verb: "update", Resource: "secrets", Name: certificate,
		},
	}}
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err == nil && !answer.Status.Allowed {
		err = errors.New("not yet allowed")
	}
	return err
}

// ignoreMissing ignores errors of a removal that succeeded in an earlier attempt.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// delayedWatchKind returns the name of delayed watches in the table.
func delayedWatchKind(resource string, alone bool) string {
	kind := strings.NewReplacer("statefulsets", "StatefulSets", "statefulclusters", "StatefulClusters", "persistentvolumeclaims", "claims", "controllerrevisions", "ControllerRevisions", "leases", "Leases").Replace(resource)
	if alone {
		return kind + " alone seen late by seconds"
	}
	return kind + " seen late"
}
