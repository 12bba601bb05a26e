package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Delay is how long a pod keeps running after it has acknowledged a downscale. The zero Delay
// is none.
type Delay struct {
	For     time.Duration
	Call    Call   // notifies pods that they will leave, or that they stay
	Invalid string // what is wrong with the annotations; then the zone is not scaled down
}

// Configured reports whether the annotations ask for a delay, valid or not.
func (d Delay) Configured() bool { return d.For > 0 || d.Invalid != "" }

// delays reports whether downscales of the zone are delayed.
func (z *Zone) delays() bool { return z.Mirror.Configured() && z.Delay.Configured() }

// delayed returns the part of a wish that is possible now. A zone with a delay scales down only
// as far as its last pods have been ready to leave for the delay, one after the other from the
// last pod down. It scales up at once.
func (b *groupState) delayed(z *Zone, w wish) wish {
	w.immediate = w.replicas
	switch {
	case w.none() || !z.delays():
		return w
	case z.Delay.Invalid != "":
		w.replicas = max(w.replicas, z.Replicas)
		w.objection = plan.Refusal{Code: reason.InvalidDelay, Detail: z.Delay.Invalid}
		return w
	case z.Barred: // so no pod is notified that it leaves
		w.immediate = max(w.replicas, z.Replicas)
		return w
	}
	if w.objection = b.parting(z); !w.objection.None() && w.replicas < z.Replicas {
		w.replicas = z.Replicas
		return w
	}
	w.objection = plan.Refusal{}
	pods := z.byPlace()
	for place := z.Replicas - 1; place >= w.immediate; place-- {
		if w.objection = b.mayLeave(z, pods, place); !w.objection.None() {
			w.replicas = place + 1
			return w
		}
	}
	return w
}

// parting objects while a pod that another call prepared has not answered yet that it stays.
func (b *groupState) parting(z *Zone) plan.Refusal {
	owed := b.owed(z)
	if owed.None() {
		return plan.Refusal{}
	}
	last := owed.OrdinalRanges[len(owed.OrdinalRanges)-1].To - 1
	pod := z.byPlace()[last]
	return plan.Refusal{
		Code: reason.PodNotAcknowledged, Pod: pod.Name, Detail: "has not answered yet that it stays",
		Until: b.ahead(z.Notifications[pod.UID].Again),
	}
}

func (z *Zone) byPlace() map[int]plan.Pod {
	pods := make(map[int]plan.Pod, len(z.Pods))
	for _, pod := range z.Pods {
		pods[pod.Ordinal-z.Start] = pod
	}
	return pods
}

// mayLeave returns why the pod at a place must not leave yet. The delay begins with the time
// that the pod answered or the time in the hold, whichever is later. Without a record in the
// hold, the delay does not end.
func (b *groupState) mayLeave(z *Zone, pods map[int]plan.Pod, place int) plan.Refusal {
	pod, exists := pods[place]
	notified := z.Notifications[pod.UID]
	silent := plan.Refusal{Code: reason.PodNotAcknowledged, Pod: plan.PodName(z.Name, z.Start+place)}
	switch {
	case !exists:
		silent.Detail = "does not exist"
	case pod.Phase == plan.Terminating:
		silent.Detail = "is terminating"
	case pod.IP == "":
		silent.Detail = "has no IP address"
	case pod.OnHost:
		return plan.Refusal{Code: reason.PodOnHostNetwork, Pod: pod.Name}
	case !notified.has(Leave, z.Delay.Call):
		silent.Detail = "has not answered yet"
	case notified.Failed:
		silent.Detail, silent.Until = notified.Why, b.ahead(notified.Again)
	case notified.outlived(pod) && pod.Phase != plan.Ready:
		silent.Detail = "is not Ready any more"
	case notified.outlived(pod):
		silent.Detail = "has not answered since it is Ready again"
	default:
		return b.waitsSince(z, pod, notified)
	}
	return silent
}

func (b *groupState) waitsSince(z *Zone, pod plan.Pod, notified Notification) plan.Refusal {
	since, recorded := b.AcknowledgedSince(z, pod)
	if !recorded {
		since = notified.At
	}
	if notified.Since.After(since) {
		since = notified.Since
	}
	due := since.Add(z.Delay.For)
	if recorded && !b.Now.Before(due) {
		return plan.Refusal{}
	}
	if due.Year() > 9999 {
		due = time.Time{} // RFC 3339 has no such year
	}
	return plan.Refusal{Code: reason.DownscaleDelayed, Pod: pod.Name, Until: b.ahead(due)}
}

// unreleased objects while a pod has not confirmed that it stays after another call prepared it
// to leave: it may serve less than it could. The zone may have no delay any more.
func (b *groupState) unreleased(z *Zone) plan.Refusal {
	if !b.maySendMessages() {
		return plan.Refusal{}
	}
	return b.parting(z)
}

// acknowledged returns what the hold should record of the pods that leave. It drops pods that
// stay or no longer exist, and adds pods that have acknowledged since.
func (b *groupState) acknowledged(z *zoneState) DelayRecord {
	recorded := b.Hold.Acknowledged[z.Name]
	if owed := b.owed(z.Zone); !owed.None() {
		return owed
	}
	switch {
	case !recorded.ends(z.Zone) && !z.sendsMessages():
		return recorded // it is unknown which pods leave
	case !z.sendsMessages():
		return DelayRecord{}
	}
	next := append(b.stillAgreed(z), b.freshlyAgreed(z)...)
	slices.SortFunc(next, func(a, b OrdinalRange) int { return cmp.Compare(a.From, b.From) })
	return agreement(z.Delay.Call, roomOf(len(b.zoneStates)).with(recorded.OrdinalRanges).fit(next))
}

// owed returns the pods that were prepared by a call that no longer counts, and that have not
// answered yet that they stay.
func (b *groupState) owed(z *Zone) DelayRecord {
	recorded := b.Hold.Acknowledged[z.Name]
	if !recorded.ends(z) {
		return DelayRecord{}
	}
	owed := agreement(recorded.Call, recorded.of(z, 0, z.Replicas, func(pod plan.Pod) bool {
		notified := z.Notifications[pod.UID]
		return pod.Callable() && (!notified.has(Stay, recorded.Call) || notified.Failed)
	}))
	owed.Over = !owed.None()
	return owed
}

// stillAgreed returns the records of pods that still leave and still have the recorded UID.
func (b *groupState) stillAgreed(z *zoneState) []OrdinalRange {
	return b.Hold.Acknowledged[z.Name].of(z.Zone, z.wish.immediate, z.Replicas, func(pod plan.Pod) bool {
		_, counts := b.AcknowledgedSince(z.Zone, pod)
		return counts
	})
}

// freshlyAgreed returns the pods that have acknowledged and are not recorded yet. Adjacent pods
// share an OrdinalRange.
func (b *groupState) freshlyAgreed(z *zoneState) []OrdinalRange {
	var fresh []OrdinalRange
	for _, pod := range z.Pods {
		place, notified := pod.Ordinal-z.Start, z.Notifications[pod.UID]
		_, recorded := b.AcknowledgedSince(z.Zone, pod)
		if recorded || place < z.wish.immediate || !z.Owns(pod.Ordinal) || !notified.agrees(z.Delay.Call, pod) {
			continue
		}
		last := len(fresh) - 1
		if last < 0 || fresh[last].To != place {
			fresh = append(fresh, OrdinalRangeOf(pod.UID, place, notified.At))
			continue
		}
		fresh[last] = fresh[last].with(OrdinalRangeOf(pod.UID, place, notified.At))
	}
	return fresh
}

// AsRecorded returns a snapshot as any process can know it: a pod has acknowledged if the hold
// records it. The process that wrote the record had the answer of the pod.
func (s Snapshot) AsRecorded() Snapshot {
	if len(s.Hold.Acknowledged) == 0 {
		return s // a pod that is not recorded does not leave, whatever it answered
	}
	s.Zones = slices.Clone(s.Zones)
	for i := range s.Zones {
		z := &s.Zones[i]
		z.Notifications = map[string]Notification{}
		for _, pod := range z.Pods {
			if since, recorded := s.AcknowledgedSince(z, pod); recorded {
				z.Notifications[pod.UID] = Notification{Message: Leave, Call: z.Delay.Call, Ready: pod.ReadySince, At: since, Since: since}
			}
		}
	}
	return s
}
