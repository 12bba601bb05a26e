package main

import "strings"

// testify judges what watches show of the pods that were taken down, where nobody but
// the operator takes any down: without an audit log it is not known who asked.
func (c *court) testify(w *world, changes []change) {
	for _, seen := range changes {
		if seen.deed == taken {
			c.testifyTo(w.namespace(seen.namespace), seen)
		}
	}
}

func (c *court) testifyTo(n *namespace, seen change) {
	if !n.optedIn {
		c.add(n.name, []string{seen.zone}, "%s was taken down in a namespace that did not opt in (guarantee 8)", seen.pod.name)
		return
	}
	for _, z := range n.zones {
		switch down := z.down(); {
		case z.name != seen.zone && len(down) > 0:
			c.add(n.name, []string{seen.zone}, "%s was taken down while %s of another zone was down (guarantee 1)", seen.pod.name, strings.Join(down, ", "))
		case z.name == seen.zone && len(down) > 1:
			c.add(n.name, []string{seen.zone}, "%s was taken down, so %d pods of its zone were down, 1 allowed (guarantee 4)", seen.pod.name, len(down))
		}
	}
}
