package main

import (
	"fmt"
	"io"
	"time"
)

// journal prints one line per change, for an output that is no terminal.
type journal struct {
	out  io.Writer
	told map[zoneKey]wait // last
}

func newJournal(out io.Writer) *journal { return &journal{out: out, told: map[zoneKey]wait{}} }

// print writes one line about a zone or pod of a namespace.
func (j *journal) print(at time.Time, namespace, about, what string) {
	fmt.Fprintf(j.out, "%s  %-*s  %-*s  %s\n", clock(at), longestNamespace, namespace, longestPod, about, what)
}

// change tells what happened. What follows from something told before is left out.
func (j *journal) change(w *world, c change) {
	switch c.deed {
	case taken:
		j.print(c.at, c.namespace, c.pod.name, "deleted")
	case becameReady:
		j.print(c.at, c.namespace, c.pod.name, "Ready"+ofRevision(w.zone(c.namespace, c.zone), c.pod))
	case becameUnready:
		j.print(c.at, c.namespace, c.pod.name, "not Ready any more")
	case held:
		j.print(c.at, c.namespace, "Lease", "held by "+orNobody(c.holder))
	case created, gone, adopted:
	}
}

func (j *journal) finished(at time.Time, key zoneKey, took time.Duration) {
	j.print(at, key.namespace, key.zone, "zone finished in "+seconds(took))
}

// waits tells what zones wait for because of other zones, when that changes.
func (j *journal) waits(at time.Time, w waits, zones []*zone) {
	for _, z := range zones {
		because, waiting := w.zones[z.name]
		key := zoneKey{w.namespace, z.name}
		if !waiting || !because.onOthers() || j.told[key] == because {
			continue
		}
		j.told[key] = because
		j.print(at, w.namespace, z.name, "waits: "+because.String())
	}
}

func ofRevision(z *zone, p pod) string {
	if z.isNew(p) {
		return ", new revision"
	}
	return ""
}

func orNobody(holder string) string {
	if holder == "" {
		return "nobody"
	}
	return holder
}
