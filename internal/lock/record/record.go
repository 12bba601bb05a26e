// Package record is the text of what a Lease records: annotations, with a version where an error could hide work in
// progress. What all kinds of workloads share is written and read once (intents.go, waiting.go, rollouts.go). The part
// of each kind has a codec of its own, which knows its annotations (group.go, pool.go). Annotations that no codec knows stay as
// they are. Annotations about work in progress (intents, zones, times of downscales) that are not understood make the
// hold unreadable: it is respected and not changed. The others (the queue, rollouts, acknowledged and failed
// downscales) only order and describe work. What is not understood there is dropped, so the next write loses it.
//
// Any client that may write Leases in a namespace can write any text there.
package record

import (
	"cmp"
	"encoding/json"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// codec is the text of the part of one kind.
type codec interface {
	// encode returns the annotations of a part, and what it has in the annotation of the intents. An empty annotation
	// is removed.
	encode(part plan.Part) (annotations map[string]string, inIntents json.RawMessage)
	// decode returns the part. After an error, the record must be respected and not be changed.
	decode(annotations map[string]string, inIntents json.RawMessage) (plan.Part, error)
}

// codecs are the codecs of the kinds that record something. A StatefulSet without a group and a budget record the same
// as a group.
var codecs = map[plan.Kind]codec{
	plan.KindGroup:       groups{},
	plan.KindStatefulSet: groups{},
	plan.KindBudget:      groups{},

	plan.KindStatefulCluster: pools{},
}

// Encode returns the annotations of the Lease of a workload for a record. An empty annotation is removed from the
// Lease.
func Encode(kind plan.Kind, r plan.Record) map[string]string {
	annotations, inIntents := map[string]string{}, json.RawMessage(nil)
	if c, exists := codecs[kind]; exists {
		annotations, inIntents = c.encode(r.Part)
	}
	annotations[contract.IntentsAnnotation] = FormatIntents(r.Intents, inIntents)
	annotations[contract.WaitingAnnotation] = FormatWaiting(r.Waiting)
	annotations[contract.TraceAnnotation] = r.Trace
	annotations[contract.RolloutsAnnotation] = FormatRollouts(r.Rollouts)
	return annotations
}

// Decode returns what the annotations of the Lease of a workload record, without the rollouts.
func Decode(kind plan.Kind, annotations map[string]string) plan.Record {
	var r plan.Record
	var inIntents json.RawMessage
	var wrongIntents, wrongPart error
	r.Intents, inIntents, wrongIntents = ParseIntents(annotations[contract.IntentsAnnotation])
	if c, exists := codecs[kind]; exists {
		r.Part, wrongPart = c.decode(annotations, inIntents)
	}
	if err := cmp.Or(wrongIntents, wrongPart); err != nil {
		r.Unreadable = err.Error()
	}
	r.Waiting = ParseWaiting(annotations[contract.WaitingAnnotation])
	r.Trace = annotations[contract.TraceAnnotation]
	return r
}
