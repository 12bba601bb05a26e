package e2e_test

import "testing"

// permissionsSuffice wants the roles of the manifests to have been enough so far.
func (w *world) permissionsSuffice(t *testing.T) { w.wantAllowed(t, 0) }

// wantAllowed wants no request of the operator to have been forbidden, after so many.
func (w *world) wantAllowed(t *testing.T, after int) {
	t.Helper()
	if w.audit == nil {
		t.Log("NOT JUDGED: the audit log of this cluster is not known")
		return
	}
	requests, err := w.audit.Requests()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, r := range requests[after:] {
		if !byOperator(r.User) {
			continue
		}
		own++
		if r.Forbidden {
			t.Errorf("forbidden was %s", r)
		}
	}
	if own == 0 {
		t.Error("the operator asked for nothing")
	}
}

// requests counts those that the audit log has so far.
func (w *world) requests(t *testing.T) int {
	t.Helper()
	if w.audit == nil {
		return 0
	}
	requests, err := w.audit.Requests()
	if err != nil {
		t.Fatal(err)
	}
	return len(requests)
}
