package plan

import (
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// ZoneSurvey is what is shown of a zone in numbers: metrics, debug pages.
type ZoneSurvey struct {
	Name     string
	Replicas int // pods the spec asks for
	Ready    int // of those, serving
	Outdated int // of those that exist, on another revision
	Down     int // missing, not available or noted
	Noted    int // with an intent that still counts
	Budget   int
	Whole    bool
}

// Survey counts every zone with the same account that Group decides by.
func Survey(s Snapshot) []ZoneSurvey {
	b := newBoard(s)
	surveys := make([]ZoneSurvey, 0, len(b.standings))
	for _, z := range b.standings {
		n := ZoneSurvey{Name: z.Name, Replicas: z.Replicas, Down: z.down, Budget: z.budget, Whole: z.whole()}
		for _, pod := range z.Pods {
			if !z.Owns(pod.Ordinal) {
				continue
			}
			if pod.Up() {
				n.Ready++
			}
			if z.Outdated(pod) {
				n.Outdated++
			}
		}
		for _, intent := range s.Hold.Intents {
			if intent.Zone == z.Name && s.Fate(intent).Counts() {
				n.Noted++
			}
		}
		surveys = append(surveys, n)
	}
	return surveys
}

// Remarks returns what a person should correct although nothing waits for it.
func Remarks(s Snapshot) []Wait {
	var remarks []Wait
	for _, z := range s.Zones {
		if s.Key.Group == "" && s.Key.Rolled() {
			remarks = append(remarks, Wait{Zone: z.Name, Because: Refusal{Code: reason.EmptyGroupName}})
		}
		if z.MaxUnavailable.Invalid != "" {
			remarks = append(remarks, Wait{Zone: z.Name, Because: Refusal{
				Code: reason.InvalidMaxUnavailable, Detail: z.MaxUnavailable.Invalid,
			}})
		}
		if z.Forced.Given && s.Key.Rolled() {
			remarks = append(remarks, Wait{Zone: z.Name, Because: Refusal{
				Code: reason.ReplicasForced, Detail: strconv.Itoa(z.Forced.Replicas) + " replicas",
			}})
		}
		if z.Forced.Invalid != "" && s.Key.Rolled() {
			remarks = append(remarks, Wait{Zone: z.Name, Because: Refusal{
				Code: reason.InvalidForceReplicas, Detail: z.Forced.Invalid,
			}})
		}
	}
	return remarks
}
