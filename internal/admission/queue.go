package admission

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

const (
	// noteAgain is how often somebody who asks again is noted.
	noteAgain = 10 * time.Second
	// noteLimit bounds how long a refusal waits for the note of who was refused.
	noteLimit = time.Second
)

// queueing are the refusals after which the next turn is kept.
var queueing = map[reason.Code]bool{reason.GroupHeld: true, reason.OthersCameFirst: true}

// queue notes who waits for a group. That it fails is no harm: whoever waits asks
// again.
func queue(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key, asks plan.Waiting) {
	record := holds.Cached(key)
	if !record.Exists || record.Unreadable != "" {
		return
	}
	next, noted := enqueued(record.Waiting, asks)
	if !noted {
		return
	}
	record.Waiting, record.Own = next, false
	ctx, stop := context.WithTimeout(ctx, noteLimit)
	defer stop()
	if err := holds.Write(ctx, key, record); err != nil {
		log.WithContext(ctx).WithError(err).Debug("who waits is not noted")
	}
}

// enqueued returns the queue with somebody who asks now, and whether that is to
// be written.
func enqueued(queue []plan.Waiting, asks plan.Waiting) ([]plan.Waiting, bool) {
	next := make([]plan.Waiting, 0, len(queue)+1)
	for _, w := range queue {
		same := w.Operation == asks.Operation && w.Zone == asks.Zone
		switch {
		case same && asks.LastSeen.Before(w.LastSeen.Add(noteAgain)):
			return queue, false
		case same && asks.LastSeen.Before(w.Until()):
			asks.Since = w.Since
		case !same && asks.LastSeen.Before(w.Until()):
			next = append(next, w)
		}
	}
	return append(next, asks), true
}
