package main

import "strings"

// verifyChanges verifies deleted pods from watches, if the operator is the only client that deletes
// pods. It is used without an audit log, which would name the clients.
func (v *verifier) verifyChanges(w *clusterState, changes []change) {
	for _, change := range changes {
		if change.kind == podTerminating {
			v.verifyDeletion(w.namespace(change.namespace), change)
		}
	}
}

func (v *verifier) verifyDeletion(n *namespace, deleted change) {
	if !n.optedIn {
		v.report(n.name, []string{deleted.zone}, "%s was deleted in a namespace that did not opt in (guarantee 8)", deleted.pod.name)
		return
	}
	for _, z := range n.zones {
		switch down := z.unavailable(); {
		case z.name != deleted.zone && len(down) > 0:
			v.report(n.name, []string{deleted.zone}, "%s was deleted while %s of another zone was down (guarantee 1)", deleted.pod.name, strings.Join(down, ", "))
		case z.name == deleted.zone && len(down) > 1:
			v.report(n.name, []string{deleted.zone}, "%s was deleted, so %d pods of its zone were down, 1 allowed (guarantee 4)", deleted.pod.name, len(down))
		}
	}
}
