package plan

import (
	"maps"
	"slices"
	"time"
)

// Message is what a pod of a zone with a delay is told.
type Message string

const (
	// Leave: the pod will leave when the delay is over.
	Leave Message = "leave"
	// Stay: the pod does not leave.
	Stay Message = "stay"
)

// Told is the last message that this process sent to a pod, and what came of it.
type Told struct {
	Message  Message
	Call     Call      // by which it was sent
	Underway bool      // it has not answered yet, or it is not its turn yet
	Failed   bool      // it did not agree
	Why      string    // it did not
	Ready    time.Time // since when the pod was Ready as the message was handed over; zero: it was not
	At       time.Time // when the message was handed over or, once not Underway, when it was answered or failed
	Since    time.Time // of an answer to Leave: since when the pod is ready to leave, by its own clock
	Again    time.Time // once not Underway: when it is to be told again; zero: never
}

// agrees reports whether a pod said that it is ready to leave, and has not been
// restarted since.
func (t Told) agrees(call Call, pod Pod) bool {
	return t.has(Leave, call) && !t.Failed && !t.outlived(pod)
}

// has reports whether a message by a call was the last one, and has had its answer.
func (t Told) has(message Message, call Call) bool {
	return t.Message == message && t.Call == call && !t.Underway
}

// outlived reports whether a pod may have lost what it prepared: it has stopped being
// Ready, or become so, since it was told to leave. Times are compared for being the
// same, so no clock matters.
func (t Told) outlived(pod Pod) bool { return t.Message == Leave && !t.Ready.Equal(pod.ReadySince) }

// isDue reports whether a pod has to be told something, or to be told it again.
func (t Told) isDue(message Message, call Call, pod Pod, now time.Time) bool {
	over := !t.Again.IsZero() && !now.Before(t.Again)
	return t.Message != message || t.Call != call || (!t.Underway && (over || t.outlived(pod)))
}

// sendsMessages reports whether pods of the zone are told what will become of them: it is
// known who leaves, and how to tell them.
func (z *zoneState) sendsMessages() bool {
	return z.delays() && z.Delay.Invalid == "" && !z.wish.none()
}

// maySendMessages reports whether pods of the group are told anything.
func (b *groupState) maySendMessages() bool { return b.Key.Rolled() && b.Hold.Unreadable == "" }

// tell returns what pods are told now, after what the hold has to note about them. A pod
// is told to stay only once the hold no longer notes that it agreed, or its next delay
// would be too short.
func (b *groupState) tell() []Action {
	if !b.maySendMessages() {
		return nil
	}
	var notes, messages []Action
	for _, z := range b.zoneStates {
		next := b.acknowledged(z)
		if !next.equal(b.Hold.Acknowledged[z.Name]) {
			notes = append(notes, RecordAcknowledged{Zone: z.Name, Acknowledged: next})
		}
		messages = append(messages, b.messages(z, next)...)
	}
	return append(append(notes, b.vanished()...), messages...)
}

// vanished drops what is noted of zones that are none of the group any more.
func (b *groupState) vanished() []Action {
	if len(b.Hold.Acknowledged) == 0 || len(b.Zones) == 0 {
		return nil
	}
	var notes []Action
	for _, zone := range slices.SortedFunc(maps.Keys(b.Hold.Acknowledged), CompareNatural) {
		if _, exists := b.Zone(zone); !exists {
			notes = append(notes, RecordAcknowledged{Zone: zone})
		}
	}
	return notes
}

// messages returns what pods of a zone are told. Pods prepared by an earlier call are told
// by that call that they stay. Pods that the hold has no room to note are told to leave
// once others have left.
func (b *groupState) messages(z *zoneState, noted DelayRecord) []Action {
	parts := func(pod Pod) bool {
		_, is := noted.since(z.Zone, pod)
		return noted.Over && is
	}
	steps := b.message(z, Stay, noted.Call, parts)
	if !z.sendsMessages() {
		return steps
	}
	leaves := max(z.wish.asked, z.Replicas-roomOf(len(b.zoneStates)).pods)
	steps = append(steps, b.message(z, Stay, z.Delay.Call, func(pod Pod) bool {
		return pod.Ordinal-z.Start < z.wish.asked && !parts(pod)
	})...)
	return append(steps, b.message(z, Leave, z.Delay.Call, func(pod Pod) bool {
		return pod.Ordinal-z.Start >= leaves && !parts(pod)
	})...)
}

func (b *groupState) message(z *zoneState, message Message, call Call, wanted func(Pod) bool) []Action {
	var pods []Pod
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) && pod.Callable() && wanted(pod) && z.Told[pod.UID].isDue(message, call, pod, b.Now) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return []Action{NotifyPods{Zone: z.Name, Message: message, Call: call, Former: call != z.Delay.Call, Pods: pods}}
}

// NextMessage returns when the next pod is told again what it was told before, or
// the zero time.
func NextMessage(s Snapshot) time.Time {
	var next time.Time
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if told := z.Told[pod.UID]; !told.Underway && told.Again.After(s.Now) {
				next = earlier(next, told.Again)
			}
		}
	}
	return next
}
