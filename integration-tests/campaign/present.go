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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// present is everything in a namespace as the witness heard of it last.
type present struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.StatefulSet
	deleted map[string]*appsv1.StatefulSet   // as they were when they were gone
	leases  map[string]*coordinationv1.Lease // of groups
	leads   string                           // who leads, as far as anybody has said
}

func newPresent() *present {
	return &present{
		pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{}, deleted: map[string]*appsv1.StatefulSet{}, leases: map[string]*coordinationv1.Lease{},
	}
}

func (p *present) take(event watch.Event) {
	gone := event.Type == watch.Deleted
	p.mu.Lock()
	defer p.mu.Unlock()
	switch o := event.Object.(type) {
	case *corev1.Pod:
		keep(p.pods, o.Name, o, gone)
	case *appsv1.StatefulSet:
		keep(p.sets, o.Name, o, gone)
		keep(p.deleted, o.Name, o, !gone)
	case *coordinationv1.Lease:
		if judge.HoldOf(o) != nil {
			keep(p.leases, o.Name, o, gone)
		}
		if o.Name == judge.LeaderLease && !gone && o.Spec.HolderIdentity != nil {
			p.leads = *o.Spec.HolderIdentity
		}
	}
}

func keep[T any](all map[string]T, name string, object T, gone bool) {
	if gone {
		delete(all, name)
	} else {
		all[name] = object
	}
}

// whole says what is missing until all zones are as they begin, or as they should be
// at the end: then also on their newest template, with nothing held.
func (p *present) whole(plan plan, end bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range plan.groups {
		wanted := g.replicas
		if end {
			wanted = g.wanted
		}
		for i, replicas := range wanted {
			if err := p.finished(g.zone(i), replicas, end); err != nil {
				return err
			}
		}
	}
	if !end {
		return nil
	}
	for name, l := range p.leases {
		if hold := judge.HoldOf(l); hold.Holder != "" || len(hold.Intents) > 0 || hold.Downscale.Zone != "" {
			return fmt.Errorf("the Lease %s is held by %q, with %d notes", name, hold.Holder, len(hold.Intents))
		}
	}
	return nil
}

// lease is the Lease of a group; nil: there is none.
func (p *present) lease(name string) *coordinationv1.Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases[name]
}

// leader is who leads, and "" before anybody does.
func (p *present) leader() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads
}

// ledByAnother reports whether an operator leads now that did not lead then.
func (p *present) ledByAnother(then string) bool {
	now := p.leader()
	return then != "" && now != "" && now != then && now != stranger
}

func (p *present) finished(zone string, replicas int32, newest bool) error {
	set := p.sets[zone]
	if set == nil {
		return fmt.Errorf("zone %s does not exist", zone)
	}
	status := set.Status
	switch {
	case *set.Spec.Replicas != replicas:
		return fmt.Errorf("zone %s asks for %d pods, %d wanted", zone, *set.Spec.Replicas, replicas)
	case status.ObservedGeneration < set.Generation:
		return fmt.Errorf("zone %s: generation %d, observed %d", zone, set.Generation, status.ObservedGeneration)
	case status.Replicas != replicas || status.ReadyReplicas != replicas:
		return fmt.Errorf("zone %s: %d pods wanted, %d exist, %d are Ready", zone, replicas, status.Replicas, status.ReadyReplicas)
	case newest && status.CurrentRevision != status.UpdateRevision:
		return fmt.Errorf("zone %s: current revision %s, update revision %s", zone, status.CurrentRevision, status.UpdateRevision)
	}
	for _, name := range judge.ZoneOf(set).Pods() {
		pod := p.pods[name]
		switch {
		case pod == nil || !judge.PodOf(pod).Serving():
			return fmt.Errorf("pod %s is not up", name)
		case newest && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != status.UpdateRevision:
			return fmt.Errorf("pod %s has revision %s, %s wanted", name, pod.Labels[appsv1.ControllerRevisionHashLabelKey], status.UpdateRevision)
		}
	}
	return nil
}

// allowed reports whether the API servers that the operators will ask have heard of their
// roles.
func (t *trial) allowed(ctx context.Context) error {
	if slices.ContainsFunc(t.plan.faults, func(f fault) bool { return f.lists }) {
		if err := t.allowedBy(ctx, t.ground.lags); err != nil {
			return err
		}
	}
	return t.allowedBy(ctx, t.client)
}

func (t *trial) allowedBy(ctx context.Context, client kubernetes.Interface) error {
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

// unlessGone lets a removal that is tried again have worked before.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// lateKind names watches that tell late as the table does.
func lateKind(resource string, alone bool) string {
	kind := strings.NewReplacer("statefulsets", "StatefulSets", "leases", "Leases").Replace(resource)
	if alone {
		return kind + " alone seen late by seconds"
	}
	return kind + " seen late"
}
