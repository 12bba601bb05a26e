package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// A disabled kind causes no request. Its definition may be missing, be deleted with all of its objects, and be installed again,
// while an operator runs: Kubernetes deletes the pods whose object is gone, others take their places, and all claims stay.
func TestStatefulClusterDefinitionMayBeMissingAndComeBack(t *testing.T) {
	t.Parallel()
	c := newOwnCluster(t)
	const team = "team"
	c.apply(home, "operator/namespace.yaml", "operator/serviceaccount.yaml", "rbac/cluster.yaml", "rbac/home.yaml")
	disabled := c.operate(home, "-leader-election.enabled=false")
	c.namespace(team)
	p := ownPool{c, team}
	ready(t, disabled)
	c.hasNoRequestAbout(statefulClusters.Resource, "persistentvolumeclaims", "nodes", "controllerrevisions", "subjectaccessreviews")
	c.apply(home, "statefulcluster/role.yaml")
	enabled := c.operate(home, "-statefulcluster.enabled")
	ready(t, enabled)
	t.Cleanup(localcluster.Schedule(context.WithoutCancel(t.Context()), c.admin, team, localcluster.NodeName(0)))
	former, latter := map[string]bool{}, map[string]bool{}
	c.apply("", "crds")
	p.create(3)
	p.reaches(3, former)
	c.deletesCRD(statefulClusters.GroupResource())
	ready(t, enabled)
	c.apply("", "crds")
	p.create(3)
	within(t, patience, "three other pods serve", func() error {
		clear(latter)
		p.reaches(3, latter)
		for name := range latter {
			if former[name] {
				return fmt.Errorf("pod %s is still there", name)
			}
		}
		return nil
	})
	claims, err := c.admin.CoreV1().PersistentVolumeClaims(team).List(t.Context(), listOptions)
	if err != nil || len(claims.Items) != 6 {
		t.Errorf("there are %d claims, want those of both objects: %v", len(claims.Items), err)
	}
}

// hasNoRequestAbout fails the test if the audit log has a request of lockstep about one of these resources.
func (c *ownCluster) hasNoRequestAbout(resources ...string) {
	c.Helper()
	requests, err := judge.NewAuditLog(c.cluster.AuditLog(), func(name string) bool { return name == user(home) }).Requests()
	if err != nil || len(requests) == 0 {
		c.Fatalf("the audit log has %d requests: %v", len(requests), err)
	}
	for _, r := range requests {
		if resource, _, _ := strings.Cut(r.Resource, "/"); slices.Contains(resources, resource) {
			c.Errorf("with the kind disabled: %s", r)
		}
	}
}
