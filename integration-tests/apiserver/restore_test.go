package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// etcd and the API server are stopped, an older data folder is restored, and they start again. The
// operator runs meanwhile.
func TestARestoreOfEtcdIsNoticedReportedAndResolved(t *testing.T) {
	t.Parallel()
	c := newOwnCluster(t)
	const team = "team"
	c.apply(home, "operator/namespace.yaml", "operator/serviceaccount.yaml", "crds", "rbac/cluster.yaml", "rbac/home.yaml")
	c.namespace(team)
	c.group(team)
	op := c.launch(home)
	t.Cleanup(op.Kill)
	c.rollsOut(team, 2)
	backup, err := c.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for v := 3; v < 6; v++ {
		c.rollsOut(team, v)
	}
	c.writes(team, 500) // so that the cluster's resourceVersions do not soon reach their former values
	if err := c.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	const noticed = time.Minute
	within(t, noticed, "/ready shows it", func() error {
		if code, text := get(op.URL() + "/ready"); code != http.StatusInternalServerError || !strings.Contains(text, "history: etcd was restored from a backup") {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	within(t, patience, "a metric shows it", func() error {
		if _, text := get(op.URL() + "/metrics"); !strings.Contains(text, `lockstep_restores_seen_total{of="cluster"} 1`) {
			return errors.New("no metric does")
		}
		return nil
	})
	within(t, patience, "an Event contains it", func() error { return c.hasEvent(team, "ClusterRestored") })
	select {
	case <-op.Exited():
		if op.ExitCode() != 1 || !strings.Contains(op.Logs(), "etcd was restored from a backup") {
			t.Errorf("ended with %d:\n%s", op.ExitCode(), op.Logs())
		}
	case <-time.After(patience):
		t.Fatalf("does not end:\n%s", op.Logs())
	}
	c.operate(home) // like the kubelet, which restarts the operator
	c.rollsOut(team, 6)
}

// rollsOut changes the template of the only zone and waits until its pod is replaced.
func (c *ownCluster) rollsOut(namespace string, v int) {
	c.Helper()
	sets := c.admin.AppsV1().StatefulSets(namespace)
	err := retry.RetryOnConflict(oftenAndSoon, func() error {
		set, err := sets.Get(c.Context(), "zone-a", getOptions)
		if err != nil {
			return err
		}
		version(v)(set)
		_, err = sets.Update(c.Context(), set, updateOptions)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	within(c.T, patience, fmt.Sprintf("version %d is rolled", v), func() error {
		set, err := sets.Get(c.Context(), "zone-a", getOptions)
		if err != nil {
			return err
		}
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.CurrentRevision != s.UpdateRevision || s.ReadyReplicas != *set.Spec.Replicas {
			return fmt.Errorf("its status is %+v", s)
		}
		return nil
	})
}

// writes makes this number of writes.
func (c *ownCluster) writes(namespace string, times int) {
	c.Helper()
	for n := range times {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lost-%d", n)}}
		if _, err := c.admin.CoreV1().ConfigMaps(namespace).Create(c.Context(), object, createOptions); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *ownCluster) hasEvent(namespace, reason string) error {
	list, err := c.admin.EventsV1().Events(namespace).List(c.Context(), listOptions)
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Kind == "StatefulSet" {
			return nil
		}
	}
	return errors.New("no Event does")
}

// within waits until a check passes, and fails the test after limit.
func within(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("after %s it is not so that %s: %v", limit, what, err)
}

// A tool that backs up namespaces restores a Lease with the resourceVersions of another cluster.
func TestALeaseFromAnotherClusterHoldsNothingUp(t *testing.T) {
	for sentence, recorded := range map[string]string{
		"with a pod":       `{"version":1,"pods":[{"pod":"zone-a-0","zone":"zone-a","uid":"former","resourceVersion":"999999999","cause":"OutdatedRevision","since":"2026-01-05T12:00:00Z"}]}`,
		"with a downscale": `{"version":1,"decrease":{"zone":"zone-a","uid":"former","resourceVersion":"999999999","generation":2,"from":3,"to":2,"stage":"admitted","since":"2026-01-05T12:00:00Z"}}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.create(zone("zone-a", 2), zone("zone-b", 1))
			s.restoreLease(recorded)
			s.changeAll(version(2))
			s.awaitEvent("Warning", "HoldRestored", "zone-a")
			s.settled()
		})
	}
}

// restoreLease gives the Lease of the group the content of a Lease from another cluster.
func (s *scene) restoreLease(recorded string) {
	s.t.Helper()
	s.lease("lockstep-group-" + defaultGroup)
	s.editLease(func(l *coordinationv1.Lease) {
		l.Annotations[intentsAnnotation], l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = recorded, new("rollout/zone-a"), new(int32(60))
	})
}
