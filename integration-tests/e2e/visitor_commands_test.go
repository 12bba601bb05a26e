package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// visitor is a user of the cluster with all permissions.
type visitor struct {
	*world
	kubeconfig string
	requested  *judge.AuditLog // has the visitor's requests, among others
}

const (
	visitorName = "visitor" // also the name of its namespace
	visitorUser = "system:serviceaccount:" + visitorName + ":" + visitorName
)

func (w *world) visitor(t *testing.T) *visitor {
	t.Helper()
	w.run(t, "create", "namespace", visitorName)
	w.run(t, "create", "serviceaccount", visitorName, "--namespace="+visitorName)
	w.run(t, "create", "clusterrolebinding", visitorName, "--clusterrole=cluster-admin", "--serviceaccount="+visitorName+":"+visitorName)
	kubeconfig, err := w.cluster.ServiceAccountKubeconfig(t.Context(), visitorName, visitorName)
	if err != nil {
		t.Fatal(err)
	}
	requested := judge.NewAuditLog(w.cluster.AuditLog(), func(user string) bool { return user == visitorUser })
	return &visitor{w, kubeconfig, requested}
}

// wrote returns all writes of the visitor so far.
func (v *visitor) wrote(t *testing.T) []judge.Request {
	t.Helper()
	requests, err := v.requested.Requests()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(requests, func(r judge.Request) bool { return r.User != visitorUser || !r.Writes() })
}

func (v *visitor) awaitsNamespace(ctx context.Context, name string) {
	for ctx.Err() == nil {
		if _, err := v.admin.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// look records a visit from outside, with the audit log.
type look struct {
	*visitor
	began      time.Time
	witness    *judge.Observer
	namespaces []string // before the visit
	wrote      int      // before the visit
}

func (v *visitor) beginsVisit(t *testing.T) *look {
	t.Helper()
	began := time.Now()
	witness, err := judge.Watch(t.Context(), v.admin, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &look{v, began, witness, v.names(t), len(v.wrote(t))}
}

// names returns the names of all namespaces.
func (v *visitor) names(t *testing.T) (names []string) {
	t.Helper()
	namespaces, err := v.admin.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range namespaces.Items {
		names = append(names, n.Name)
	}
	return names
}

func (l *look) wantNoRemains(t *testing.T) {
	t.Helper()
	l.wantNoTraces(t)
	if now := l.names(t); !slices.Equal(now, l.namespaces) {
		t.Errorf("the namespaces are %q, before %q", now, l.namespaces)
	}
}

// The namespaces that visitors may create.
func ofSuite(namespace string) bool { return strings.HasPrefix(namespace, namePrefix) }
func ofDemo(namespace string) bool {
	return slices.Contains([]string{"north", "south", "bystander"}, namespace)
}

// wantNothingElseTouched fails the test if the visitor wrote to objects outside its own namespaces
// that do not belong to lockstep.
func (l *look) wantNothingElseTouched(t *testing.T, theirs func(namespace string) bool) {
	t.Helper()
	wrote := l.visitor.wrote(t)[l.wrote:]
	if len(wrote) == 0 {
		t.Error("there was no write")
	}
	for _, r := range wrote {
		space := r.Namespace
		if r.Resource == "namespaces" {
			space = r.Name
		}
		if space == "" && named(r.Name) || space == home || theirs(space) {
			continue
		}
		t.Errorf("touched was %s", r)
	}
}

// judge judges the history of the visitor's namespaces until their deletion. lockstep must have
// made at least this number of disruptions.
func (l *look) judge(t *testing.T, theirs func(namespace string) bool, by guarding, disruptions int) {
	t.Helper()
	history, err := l.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	taken := l.takenAway(t)
	history = slices.DeleteFunc(history, func(f judge.Event) bool {
		end, known := taken[f.Namespace]
		return !theirs(f.Namespace) || known && f.At.After(end)
	})
	requests, err := l.audit.Requests()
	if err != nil {
		t.Fatal(err)
	}
	requests = slices.DeleteFunc(requests, func(r judge.Request) bool { return r.At.Before(l.began) }) // earlier tests had namespaces with these names
	for _, objection := range objections(history, requests, by, disruptions) {
		t.Error(objection)
	}
}

// takenAway returns when the visitor deleted namespaces. From then on, there is no delete request
// for each pod.
func (l *look) takenAway(t *testing.T) map[string]time.Time {
	t.Helper()
	ends := map[string]time.Time{}
	for _, r := range l.visitor.wrote(t)[l.wrote:] {
		if r.Verb == "delete" && r.Resource == "namespaces" {
			ends[r.Name] = r.At
		}
	}
	return ends
}
