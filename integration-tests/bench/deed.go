package main

import (
	"fmt"
	"slices"
	"time"
)

// deed is a pod that was taken down by a request of the one who is measured.
// What others take down, the simulated kubelet for instance, is no deed.
type deed struct {
	down
	sent     time.Time // when the API server received the delete
	conflict string    // a pod of another zone that was still down from an earlier deed
}

// deeds returns those of a rollout in the order in which they were sent.
func (h *history) deeds(writes []request) []deed {
	var all []deed
	since, taken := map[string]time.Time{}, map[string]bool{}
	for _, d := range h.downs {
		i := slices.IndexFunc(writes, func(q request) bool {
			return q.deletesPod() && q.name == d.pod && q.at.After(since[d.pod]) && !q.at.After(d.at)
		})
		since[d.pod], taken[d.pod] = d.at, i >= 0
		if i >= 0 {
			all = append(all, deed{d, writes[i].at, firstOf(d.beside, taken)})
		}
	}
	slices.SortStableFunc(all, func(a, b deed) int { return a.sent.Compare(b.sent) })
	return all
}

func firstOf(pods []string, in map[string]bool) string {
	for _, pod := range pods {
		if in[pod] {
			return pod
		}
	}
	return ""
}

// judge says what no rollout may do: take a pod down that is renewed, or one that
// is up beside a conflict.
func judge(deeds []deed) string {
	for _, d := range deeds {
		switch {
		case d.was.renewed:
			return "took " + d.pod + " down, which was renewed"
		case d.was.ready && d.conflict != "":
			return fmt.Sprintf("took %s down while %s was down", d.pod, d.conflict)
		}
	}
	return ""
}

// step is from a replacement's Ready to the next delete of the group.
type step struct {
	seen     time.Duration // from the watch's event to the watch's event of that delete
	sent     time.Duration // from the watch's event to when the API server received the delete
	first    time.Duration // the same to the first write of the step, a note for instance
	handOver bool          // the delete is of the next zone
}

// steps are from the Ready of each pod's replacement to the delete of the next
// pod. One that became Ready only after that made nobody wait.
func (h *history) steps(deeds []deed, writes []request) []step {
	var steps []step
	for i := 1; i < len(deeds); i++ {
		before, next := deeds[i-1], deeds[i]
		ready, found := lastBefore(h.readyAt[before.pod], next.at)
		if !found {
			continue
		}
		steps = append(steps, step{
			seen:     next.at.Sub(ready),
			sent:     next.sent.Sub(ready),
			first:    firstWrite(writes, before.sent, next.sent).Sub(ready),
			handOver: zoneOf(before.pod) != zoneOf(next.pod),
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

// firstWrite returns when the first request after one delete came, which is the
// next delete at the latest.
func firstWrite(writes []request, after, latest time.Time) time.Time {
	first := latest
	for _, q := range writes {
		if q.at.After(after) && q.at.Before(first) {
			first = q.at
		}
	}
	return first
}
