package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// setUp creates everything that a trial begins with. Operators run until the second context ends.
func (t *trial) setUp(ctx, working context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setUpTimeout, fmt.Errorf("still missing after %s", setUpTimeout))
	defer cancel()
	var err error
	if t.service, err = newService(); err != nil {
		return err
	}
	for _, make := range []func(context.Context) error{t.makeNamespace, t.makeZones, t.preparePool, t.makeReplicas, t.makePool} {
		if err := make(ctx); err != nil {
			return err
		}
	}
	for _, r := range t.replicas {
		t.working.Go(func() { r.run(working) })
	}
	if t.plan.pool != nil {
		t.working.Go(func() { t.schedule(working) })
	}
	if err := retry(ctx, "wait for all zones", func(context.Context) error { return t.state.checkZones(t.plan, false) }); err != nil {
		return err
	}
	if err := retry(ctx, "wait for the StatefulCluster", func(ctx context.Context) error { return t.checkPool(ctx, false) }); err != nil {
		return err
	}
	return t.registerWebhooks(ctx)
}

// watch starts the judge's observer, which runs until the second context ends.
func (t *trial) watch(ctx, watching context.Context) error {
	err := retry(ctx, "watch namespace", func(context.Context) error {
		var err error
		t.observer, err = judge.Watch(watching, t.env.watcher, t.state.observe, t.namespace)
		return err
	})
	if err != nil || t.plan.pool == nil {
		return err
	}
	return retry(ctx, "watch StatefulClusters", func(context.Context) error {
		return t.observer.WatchStatefulClusters(watching, t.env.dynamicWatcher, t.namespace)
	})
}

func (t *trial) makeNamespace(ctx context.Context) error {
	err := retry(ctx, "make namespace", func(ctx context.Context) error {
		_, err := t.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}, metav1.CreateOptions{})
		return ignoreExisting(err)
	})
	if err != nil {
		return err
	}
	return retry(ctx, "wait for the service account of pods", func(ctx context.Context) error {
		_, err := t.client.CoreV1().ServiceAccounts(t.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (t *trial) makeZones(ctx context.Context) error {
	for _, g := range t.plan.groups {
		budget, err := g.disruptionBudget()
		if err != nil {
			return err
		}
		if err := retry(ctx, "make disruption budget", func(ctx context.Context) error {
			_, err := t.env.dynamic.Resource(budgets).Namespace(t.namespace).Create(ctx, budget, metav1.CreateOptions{})
			return ignoreExisting(err)
		}); err != nil {
			return err
		}
		for i := range g.replicas {
			if err := retry(ctx, "make zone", func(ctx context.Context) error {
				_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(ctx, g.statefulSet(i), metav1.CreateOptions{})
				return ignoreExisting(err)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeReplicas creates what operators need: the Role for a single namespace, a token, and proxies with
// the faults that apply from the start.
func (t *trial) makeReplicas(ctx context.Context) error {
	var token string
	err := retry(ctx, "give operators their rights", func(ctx context.Context) error {
		if err := t.env.cluster.ApplyIn(ctx, t.namespace, manifests+"operator/serviceaccount.yaml",
			manifests+"rbac/namespaced/role.yaml", manifests+"rbac/home.yaml", manifests+"webhooks/certificate/role.yaml"); err != nil {
			return err
		}
		var err error
		token, err = t.env.cluster.ServiceAccountKubeconfig(ctx, t.namespace, account)
		return err
	})
	if err != nil {
		return err
	}
	for number := range 2 {
		r, err := t.newReplica(number, token)
		if err != nil {
			return err
		}
		t.replicas = append(t.replicas, r)
		former := false
		r.proxy.Play(t.scriptOf(r, true))
		for _, f := range t.plan.faults {
			if !f.affects(number) {
				continue
			}
			for resource, d := range f.watchDelays {
				r.proxy.DelayWatches(resource, d)
			}
			former = former || f.former
		}
		r.program = r.newest()
		if former {
			r.program = t.env.former
		}
	}
	return retry(ctx, "wait for the operators' rights", t.checkPermissions)
}

// scriptOf joins the scripts of a replica's faults, all of them or the early ones.
func (t *trial) scriptOf(r *replica, early bool) faultproxy.Script {
	var scripts []faultproxy.Script
	for _, f := range t.plan.faults {
		if f.script != nil && f.affects(r.number) && (f.early || !early) {
			scripts = append(scripts, f.script(r))
		}
	}
	return faultproxy.FirstOf(scripts...)
}

// tearDown removes the resources of the trial.
func (t *trial) tearDown(ctx context.Context) {
	t.working.Wait()
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	if t.service != nil {
		t.service.close()
	}
	for _, r := range t.replicas {
		r.proxy.Close()
	}
	t.removeNodes(ctx)
	hooks := t.client.AdmissionregistrationV1()
	for what, remove := range map[string]func(context.Context, string, metav1.DeleteOptions) error{
		"validating webhooks": hooks.ValidatingWebhookConfigurations().Delete,
		"mutating webhooks":   hooks.MutatingWebhookConfigurations().Delete,
		"namespace":           t.client.CoreV1().Namespaces().Delete,
	} {
		_ = retry(ctx, "remove "+what, func(ctx context.Context) error { // the cluster is removed later with what remains
			return ignoreMissing(remove(ctx, t.namespace, metav1.DeleteOptions{}))
		})
	}
}
