package main

import (
	"fmt"
	"io"
	"time"
)

// changeLog prints one line for each change, if the output is not a terminal.
type changeLog struct {
	out     io.Writer
	widest  int                    // columns for the name of an object
	printed map[zoneKey]waitReason // the last printed reason
}

func newChangeLog(out io.Writer) *changeLog {
	return &changeLog{out: out, widest: longestPod, printed: map[zoneKey]waitReason{}}
}

// print prints one line about an object of a namespace.
func (l *changeLog) print(at time.Time, namespace, about, what string) {
	fmt.Fprintf(l.out, "%s  %-*s  %-*s  %s\n", clock(at), longestNamespace, namespace, l.widest, about, what)
}

// change prints a change. It omits changes that follow from earlier ones.
func (l *changeLog) change(w *clusterState, c change) {
	switch c.kind {
	case podTerminating:
		l.print(c.at, c.namespace, c.pod.name, "deleted")
	case podReady:
		l.print(c.at, c.namespace, c.pod.name, "Ready"+ofRevision(w.zone(c.namespace, c.zone), c.pod))
	case podUnready:
		l.print(c.at, c.namespace, c.pod.name, "not Ready any more")
	case holderChanged:
		l.print(c.at, c.namespace, "Lease", holdText(c.holder))
	case podCreated, podDeleted, revisionAdopted:
	}
}

func (l *changeLog) finished(at time.Time, key zoneKey, took time.Duration) {
	l.print(at, key.namespace, key.zone, "zone finished in "+seconds(took))
}

// waits prints why zones wait for other zones, when the reason changes.
func (l *changeLog) waits(at time.Time, w groupWaits, zones []*zone) {
	for _, z := range zones {
		reason, waiting := w.zones[z.name]
		key := zoneKey{w.namespace, z.name}
		if !waiting || !reason.isOtherZone() || l.printed[key] == reason {
			continue
		}
		l.printed[key] = reason
		l.print(at, w.namespace, z.name, "waits: "+reason.String())
	}
}

func ofRevision(z *zone, p pod) string {
	if z.isUpdated(p) {
		return ", new revision"
	}
	return ""
}

func holdText(holder string) string {
	if holder == "" {
		return "free"
	}
	return "held by " + holder
}
