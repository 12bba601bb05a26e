package group

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// DelayRecord records which pods of a zone acknowledged a delayed downscale. It is over
// once the zone has no delay any more or uses another call. Then the call that prepared
// the pods notifies them to stay, and each pod is dropped once it has answered. A record
// that is over never counts again.
type DelayRecord struct {
	OrdinalRanges []OrdinalRange // in ascending order of places
	Call          Call
	Over          bool
}

// None reports whether no pod is recorded.
func (a DelayRecord) None() bool { return len(a.OrdinalRanges) == 0 }

func (a DelayRecord) equal(other DelayRecord) bool {
	return a.Call == other.Call && a.Over == other.Over && slices.EqualFunc(a.OrdinalRanges, other.OrdinalRanges, OrdinalRange.equal)
}

// counts reports whether the record belongs to the present delay of the zone.
func (a DelayRecord) counts(z *Zone) bool { return !a.Over && z.delays() && a.Call == z.Delay.Call }

// ends reports whether the recorded pods are to stay.
func (a DelayRecord) ends(z *Zone) bool {
	readable := z.Delay.Invalid == ""
	return !a.None() && readable && !a.counts(z)
}

// agreement returns a DelayRecord of the ranges. It is the zero one if there are no
// ranges.
func agreement(call Call, ordinalRanges []OrdinalRange) DelayRecord {
	if len(ordinalRanges) == 0 {
		return DelayRecord{}
	}
	return DelayRecord{Call: call, OrdinalRanges: ordinalRanges}
}

// since returns since when a pod is recorded, and whether it is.
func (a DelayRecord) since(z *Zone, pod plan.Pod) (time.Time, bool) {
	place := pod.Ordinal - z.Start
	for _, ordinalRange := range a.OrdinalRanges {
		if ordinalRange.From <= place && place < ordinalRange.To {
			return ordinalRange.Since, ordinalRange.records(place, pod)
		}
	}
	return time.Time{}, false
}

// of returns the records of the wanted pods of a zone, between two places.
func (a DelayRecord) of(z *Zone, from, to int, wanted func(plan.Pod) bool) []OrdinalRange {
	pods := z.byPlace()
	var still []OrdinalRange
	for _, s := range within(a.OrdinalRanges, from, to) {
		still = append(still, s.where(func(place int) bool {
			pod, exists := pods[place]
			return exists && s.records(place, pod) && wanted(pod)
		})...)
	}
	return still
}

// OrdinalRange records that the pods of neighbouring places acknowledged a downscale;
// Since is the time of the last one. A place is an ordinal minus the zone's first
// ordinal, so From is the greatest spec.replicas that keeps none of these pods.
type OrdinalRange struct {
	From  int
	To    int    // the first place after the range
	Pods  string // the marks of its pods, concatenated
	Since time.Time
}

// Limits of the record of a zone, because annotations of an object have little room. In a
// group of more than fullyRecorded zones, each zone has a smaller share.
const (
	MaxOrdinalRanges = 100
	MaxAcknowledged  = 1000 // pods
	fullyRecorded    = 4
)

// MarkLength is the number of letters in a mark.
const MarkLength = 6

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// MarkOf returns the short hash by which a range recognizes a pod. The successor of the
// pod has another UID, and has acknowledged nothing.
func MarkOf(uid string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(uid))
	mark, rest := make([]byte, MarkLength), sum.Sum64()
	for i := range mark {
		mark[i], rest = letters[rest%uint64(len(letters))], rest/uint64(len(letters))
	}
	return string(mark)
}

// OrdinalRangeOf returns a range of one pod.
func OrdinalRangeOf(uid string, place int, since time.Time) OrdinalRange {
	return OrdinalRange{From: place, To: place + 1, Pods: MarkOf(uid), Since: since}
}

// FarAhead is how much a recorded time may be ahead of the clock. The clocks of healthy
// processes differ by less. A time that is further ahead is a mistake, and no pod waits
// for it.
const FarAhead = time.Hour

// AcknowledgedSince returns since when a pod of a zone is ready to leave, as the hold records
// it.
func (s *Snapshot) AcknowledgedSince(z *Zone, pod plan.Pod) (time.Time, bool) {
	recorded := s.Hold.Acknowledged[z.Name]
	if !recorded.counts(z) {
		return time.Time{}, false
	}
	since, known := recorded.since(z, pod)
	return since, known && !since.After(s.Now.Add(FarAhead))
}

func (s OrdinalRange) records(place int, pod plan.Pod) bool {
	return s.between(place, place+1).Pods == MarkOf(pod.UID)
}

func (s OrdinalRange) equal(other OrdinalRange) bool {
	return s.From == other.From && s.To == other.To && s.Pods == other.Pods && s.Since.Equal(other.Since)
}

// between returns the part of a range between two of its places.
func (s OrdinalRange) between(from, to int) OrdinalRange {
	first, end := (from-s.From)*MarkLength, (to-s.From)*MarkLength
	s.Pods = s.Pods[min(first, len(s.Pods)):min(end, len(s.Pods))]
	s.From, s.To = from, to
	return s
}

// with returns the range merged with the range that follows it. The merged range waits
// for the later of the two times.
func (s OrdinalRange) with(next OrdinalRange) OrdinalRange {
	s.To, s.Pods, s.Since = next.To, s.Pods+next.Pods, latest(s.Since, next.Since)
	return s
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// where returns the parts of a range whose places are wanted.
func (s OrdinalRange) where(wanted func(place int) bool) []OrdinalRange {
	var parts []OrdinalRange
	begin := s.From
	for place := s.From; place <= s.To; place++ {
		if place < s.To && wanted(place) {
			continue
		}
		if begin < place {
			parts = append(parts, s.between(begin, place))
		}
		begin = place + 1
	}
	return parts
}

// within returns the parts of ranges between two places.
func within(all []OrdinalRange, from, to int) []OrdinalRange {
	var left []OrdinalRange
	for _, s := range all {
		if first, end := max(s.From, from), min(s.To, to); first < end {
			left = append(left, s.between(first, end))
		}
	}
	return left
}

// room is how much a hold can record of a zone.
type room struct{ ordinalRanges, pods int }

// roomOf returns the share of each zone in a group of this many zones.
func roomOf(zones int) room {
	share := 1 + (zones-1)/fullyRecorded
	return room{max(1, MaxOrdinalRanges/share), max(1, MaxAcknowledged/share)}
}

// with returns a room that is large enough for the present record, even if zones joined
// the group since. So a pod that was notified to leave is not dropped.
func (r room) with(recorded []OrdinalRange) room {
	pods := 0
	for _, s := range recorded {
		pods += s.To - s.From
	}
	return room{min(MaxOrdinalRanges, max(r.ordinalRanges, len(recorded))), min(MaxAcknowledged, max(r.pods, pods))}
}

// fit reduces ranges to the room. It merges neighbours, those with the least time between
// them first. If no ranges are neighbours, or there are too many pods, it drops the
// lowest places, because they leave last.
func (r room) fit(all []OrdinalRange) []OrdinalRange {
	for len(all) > r.ordinalRanges {
		i := closest(all)
		if i < 0 {
			all = all[len(all)-r.ordinalRanges:]
			break
		}
		all[i] = all[i].with(all[i+1])
		all = slices.Delete(all, i+1, i+2)
	}
	left := r.pods
	for _, s := range slices.Backward(all) {
		if left -= s.To - s.From; left < 0 {
			return within(all, s.From-left, all[len(all)-1].To)
		}
	}
	return all
}

// closest returns the index of the range with the least time to a neighbour that follows
// it, or a negative number if there is none.
func closest(all []OrdinalRange) int {
	best, least := -1, time.Duration(0)
	for i := range len(all) - 1 {
		apart := all[i].Since.Sub(all[i+1].Since).Abs()
		if all[i].To == all[i+1].From && (best < 0 || apart < least) {
			best, least = i, apart
		}
	}
	return best
}

// Marked reports whether a text consists of this many marks.
func Marked(text string, pods int) bool {
	return len(text)%MarkLength == 0 && len(text)/MarkLength == pods && strings.Trim(text, letters) == ""
}

// String returns the range as 3 to 5 since 2026-01-05T12:00:00Z.
func (s OrdinalRange) String() string {
	return fmt.Sprintf("%d to %d since %s", s.From, s.To, s.Since.UTC().Format(time.RFC3339))
}
