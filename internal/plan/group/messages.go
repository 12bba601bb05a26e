package group

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Message is a notification to a pod of a zone with a delay.
type Message string

const (
	// Leave: the pod will leave when the delay is over.
	Leave Message = "leave"
	// Stay: the pod does not leave.
	Stay Message = "stay"
)

// Notification is the last message that this process sent to a pod, and its result.
type Notification struct {
	Message  Message
	Call     Call      // that sent it
	Underway bool      // the pod has not answered yet, or the message still waits to be sent
	Failed   bool      // the pod did not agree
	Why      string    // why the pod did not agree
	Ready    time.Time // since when the pod was Ready at the time of the call; zero: it was not Ready
	At       time.Time // when the message was handed over; once not Underway: when it was answered or failed
	Since    time.Time // of an answer to Leave: since when the pod is ready to leave, by its own clock
	Again    time.Time // once not Underway: when to send it again; zero: never
}

// agrees reports whether a pod acknowledged that it is ready to leave, and has not been
// restarted since.
func (t Notification) agrees(call Call, pod plan.Pod) bool {
	return t.has(Leave, call) && !t.Failed && !t.outlived(pod)
}

// has reports whether the message was the last one, by this call, and is no longer
// Underway.
func (t Notification) has(message Message, call Call) bool {
	return t.Message == message && t.Call == call && !t.Underway
}

// outlived reports whether a pod may have lost its preparation, because it became or
// stopped being Ready after it was notified to leave. Times are only compared for
// equality, so no clock matters.
func (t Notification) outlived(pod plan.Pod) bool {
	return t.Message == Leave && !t.Ready.Equal(pod.ReadySince)
}

// isDue reports whether a message must be sent to a pod, or sent again.
func (t Notification) isDue(message Message, call Call, pod plan.Pod, now time.Time) bool {
	over := !t.Again.IsZero() && !now.Before(t.Again)
	return t.Message != message || t.Call != call || (!t.Underway && (over || t.outlived(pod)))
}

// sendsMessages reports whether pods of the zone are notified: it is known which pods
// leave, and how to call them.
func (z *zoneState) sendsMessages() bool {
	return z.delays() && z.Delay.Invalid == "" && !z.wish.none()
}

// maySendMessages reports whether pods of the group are notified at all.
func (b *groupState) maySendMessages() bool { return b.Key.Rolled() && b.Hold.Unreadable == "" }

// notify returns the updates of acknowledgements in the hold, and then the notifications
// that are due. A pod is notified to stay only once the hold no longer records its
// acknowledgement. Otherwise its next delay would be too short.
func (b *groupState) notify() []plan.Action {
	if !b.maySendMessages() {
		return nil
	}
	var records, messages []plan.Action
	for _, z := range b.zoneStates {
		next := b.acknowledged(z)
		if !next.equal(b.Hold.Acknowledged[z.Name]) {
			records = append(records, RecordAcknowledged{Zone: z.Name, Acknowledged: next})
		}
		messages = append(messages, b.messages(z, next)...)
	}
	return append(append(records, b.vanished()...), messages...)
}

// vanished removes the acknowledgements of zones that are no longer in the group.
func (b *groupState) vanished() []plan.Action {
	if len(b.Hold.Acknowledged) == 0 || len(b.Zones) == 0 {
		return nil
	}
	var records []plan.Action
	for _, zone := range slices.SortedFunc(maps.Keys(b.Hold.Acknowledged), plan.CompareNatural) {
		if _, exists := b.Zone(zone); !exists {
			records = append(records, RecordAcknowledged{Zone: zone})
		}
	}
	return records
}

// messages returns the notifications that are due for pods of a zone. If an earlier call
// prepared pods, that call notifies them that they stay. If the hold has no room to record
// pods, they are notified to leave once other pods have left.
func (b *groupState) messages(z *zoneState, recorded DelayRecord) []plan.Action {
	parts := func(pod plan.Pod) bool {
		_, is := recorded.since(z.Zone, pod)
		return recorded.Over && is
	}
	steps := b.message(z, Stay, recorded.Call, parts)
	if !z.sendsMessages() {
		return steps
	}
	leaves := max(z.wish.immediate, z.Replicas-roomOf(len(b.zoneStates)).pods)
	steps = append(steps, b.message(z, Stay, z.Delay.Call, func(pod plan.Pod) bool {
		return pod.Ordinal-z.Start < z.wish.immediate && !parts(pod)
	})...)
	return append(steps, b.message(z, Leave, z.Delay.Call, func(pod plan.Pod) bool {
		return pod.Ordinal-z.Start >= leaves && !parts(pod)
	})...)
}

func (b *groupState) message(z *zoneState, message Message, call Call, wanted func(plan.Pod) bool) []plan.Action {
	var pods []plan.Pod
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) && pod.Callable() && wanted(pod) && z.Notifications[pod.UID].isDue(message, call, pod, b.Now) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return []plan.Action{NotifyPods{Zone: z.Name, Message: message, Call: call, Former: call != z.Delay.Call, Pods: pods}}
}

// NextMessage returns when the next message is sent again, or the zero time.
func NextMessage(s Snapshot) time.Time {
	var next time.Time
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if notified := z.Notifications[pod.UID]; !notified.Underway && notified.Again.After(s.Now) {
				next = earlier(next, notified.Again)
			}
		}
	}
	return next
}
