package e2e_test

import "testing"

// permissionsSuffice fails the test if a request was forbidden, despite the roles of the manifests.
func (w *world) permissionsSuffice(t *testing.T) { w.wantAllowed(t, 0) }

// wantAllowed fails the test if a request of the operator was forbidden, after the first ones of
// this number.
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
		t.Error("there were no requests of the operator")
	}
}

// requests returns the number of requests in the audit log.
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
