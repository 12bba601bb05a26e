package main

import "testing"

func TestWritesExcludesLeaderLease(t *testing.T) {
	c := &contender{user: "lockstep", home: "home"}
	leads := request{user: "lockstep", verb: "update", resource: "leases", namespace: "home", name: "lockstep-leader", code: 200}
	if c.writes(leads) {
		t.Error("the leader's Lease counts")
	}
	for sentence, change := range map[string]func(*request){
		"the hold of a group":                    func(q *request) { q.namespace, q.name = "store", "lockstep-group-store" },
		"another Lease at home":                  func(q *request) { q.name = "lockstep-group-store" },
		"a Lease of the leader's name elsewhere": func(q *request) { q.namespace = "store" },
		"a patch of it":                          func(q *request) { q.verb = "patch" },
		"an object of its name":                  func(q *request) { q.resource = "configmaps" },
	} {
		q := leads
		if change(&q); !c.writes(q) {
			t.Errorf("%s does not count", sentence)
		}
	}
	if trial := (request{user: "lockstep", verb: "create", resource: "pods", dryRun: true}); c.writes(trial) {
		t.Error("a dry run counts")
	}
	if leads.user, leads.resource = "admin", "pods"; c.writes(leads) {
		t.Error("writes of other clients count")
	}
}
