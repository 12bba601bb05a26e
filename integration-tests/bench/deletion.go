package main

import (
	"fmt"
	"slices"
	"time"
)

// deletion is a pod that the measured contender deleted. Deletions by others, for instance by the
// simulated kubelet, are not included.
type deletion struct {
	disruption
	sent     time.Time // when the API server received the request
	conflict string    // a pod of another zone that was still down because of an earlier deletion
}

// deletions returns the deletions of a rollout in the order in which they were sent.
func (r *groupRollout) deletions(writes []request) []deletion {
	var all []deletion
	since, deletedByContender := map[string]time.Time{}, map[string]bool{}
	for _, d := range r.disruptions {
		i := slices.IndexFunc(writes, func(q request) bool {
			return q.deletesPod() && q.name == d.pod && q.at.After(since[d.pod]) && !q.at.After(d.at)
		})
		since[d.pod], deletedByContender[d.pod] = d.at, i >= 0
		if i >= 0 {
			all = append(all, deletion{d, writes[i].at, firstIn(d.otherZonesDown, deletedByContender)})
		}
	}
	slices.SortStableFunc(all, func(a, b deletion) int { return a.sent.Compare(b.sent) })
	return all
}

func firstIn(pods []string, in map[string]bool) string {
	for _, pod := range pods {
		if in[pod] {
			return pod
		}
	}
	return ""
}

// violation returns what a rollout must not do and did: delete an updated pod, or delete a ready pod
// while a pod of another zone is down.
func violation(deletions []deletion) string {
	for _, d := range deletions {
		switch {
		case d.stateBefore.updated:
			return "deleted " + d.pod + ", which was updated"
		case d.stateBefore.ready && d.conflict != "":
			return fmt.Sprintf("deleted %s while %s was down", d.pod, d.conflict)
		}
	}
	return ""
}

// step is the time between a ready replacement and the next delete of the group.
type step struct {
	seen       time.Duration // from the event of the replacement to the event of the delete
	sent       time.Duration // from the event of the replacement until the API server received the delete
	first      time.Duration // from the event of the replacement to the first write of the step, for instance an intent
	zoneChange bool          // the delete is in the next zone
}

// steps returns one step for each deletion whose previous replacement was ready before. If the
// replacement became ready later, the contender did not wait for it.
func (r *groupRollout) steps(deletions []deletion, writes []request) []step {
	var steps []step
	for i := 1; i < len(deletions); i++ {
		before, next := deletions[i-1], deletions[i]
		ready, found := lastBefore(r.readyAt[before.pod], next.at)
		if !found {
			continue
		}
		steps = append(steps, step{
			seen:       next.at.Sub(ready),
			sent:       next.sent.Sub(ready),
			first:      firstWrite(writes, before.sent, next.sent).Sub(ready),
			zoneChange: zoneOf(before.pod) != zoneOf(next.pod),
		})
	}
	return steps
}

func lastBefore(all []time.Time, latest time.Time) (last time.Time, found bool) {
	for _, t := range all {
		if !t.After(latest) {
			last, found = t, true
		}
	}
	return last, found
}

// firstWrite returns the time of the first request after one delete. This is the next delete at the
// latest.
func firstWrite(writes []request, after, latest time.Time) time.Time {
	first := latest
	for _, q := range writes {
		if q.at.After(after) && q.at.Before(first) {
			first = q.at
		}
	}
	return first
}
