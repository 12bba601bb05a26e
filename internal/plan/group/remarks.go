package group

import (
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Remarks returns the problems that a person should correct although no zone waits for
// them.
func Remarks(s Snapshot) []plan.Wait {
	var remarks []plan.Wait
	if len(s.FormerZones) > 0 && len(s.Zones) > 0 {
		b := newGroupState(s)
		for _, left := range b.unsettled() {
			remarks = append(remarks, plan.Wait{Zone: s.Zones[0].Name, Because: b.leftGroup(left)})
		}
	}
	for _, z := range s.Zones {
		if s.Key.Name == "" && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.EmptyGroupName}})
		}
		if z.InvalidGroup != "" && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.InvalidGroup, Detail: z.InvalidGroup}})
		}
		if z.MaxUnavailable.Invalid != "" {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{
				Code: reason.InvalidMaxUnavailable, Detail: z.MaxUnavailable.Invalid,
			}})
		}
		if s.Unread && z.MaxUnavailable.Of(z.Replicas) > 1 && slices.ContainsFunc(z.Pods, z.Outdated) && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.BudgetsUnread}})
		}
		if z.Paused && z.PausedUntil.Invalid != "" && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{
				Code: reason.InvalidPausedUntil, Detail: z.PausedUntil.Invalid,
			}})
		}
		if z.Paused && !z.PausedAt(s.Now) && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.PauseExpired}})
		}
		if z.Forced.Given && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{
				Code: reason.ReplicasForced, Detail: strconv.Itoa(z.Forced.Replicas) + " replicas",
			}})
		}
		if z.Forced.Invalid != "" && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{
				Code: reason.InvalidForceReplicas, Detail: z.Forced.Invalid,
			}})
		}
		if z.Contest.Contested() && s.Key.Rolled() {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.ReplicasContested, Detail: z.Contest.by()}})
		}
		if z.WithoutEffect != "" {
			remarks = append(remarks, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.NoEffect, Detail: z.WithoutEffect}})
		}
	}
	return remarks
}
