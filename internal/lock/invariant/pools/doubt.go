package pools

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// inDoubt are the causes for which the identity of a pod is given up although the pod may come back.
var inDoubt = []reason.Code{reason.NodeLost, reason.CrashLooping, reason.NeverReady, reason.VolumeUnreachable}

func breaksDoubtKept(v *view, steps []plan.Action) string {
	ends := map[string]bool{}
	for _, d := range disruptions(steps) {
		ends[d.Pod] = true
	}
	for _, d := range disruptions(steps) {
		p, _ := v.podNamed(d.Pod)
		if d.Because == reason.VolumeUnreachable && (!v.Live || p.Scheduled || !v.Volumes[p.UID].Unreachable) {
			return fmt.Sprintf("%s is given up because of %s, and a live read does not show that", d.Pod, d.Because)
		}
		if !v.mayComeBack(d, &p) {
			continue
		}
		if why := v.doubtAbout(d.Pod, ends); why != "" {
			return fmt.Sprintf("%s is given up because of %s%s", d.Pod, d.Because, why)
		}
	}
	return ""
}

// mayComeBack reports whether a disruption gives up an identity whose pod, or whose next pod, may serve with its data.
func (v *view) mayComeBack(d plan.Disruption, p *pool.Pod) bool {
	switch {
	case d.Because == reason.ReplicasExceeded:
		return v.Object.Replicas > 0 && v.mayHaveData(p) && !p.Node.Gone && !p.Asked && !v.isAvailable(p)
	case d.Because == reason.UpdatedByNewIdentity:
		return v.mayHaveData(p) && !p.Asked && !v.isAvailable(p)
	case d.Because == reason.PodFinished:
		return v.Object.Replicas > 0 && v.endedWithData(p) && !d.AlreadyRecorded
	case d.Because == reason.HandoverFailed: // it finds no node, or its identity has lost a claim before it could be scheduled
		return !p.Gated || v.missingClaim(p.ID, p.From) == ""
	}
	return slices.Contains(inDoubt, d.Because)
}

// mayHaveData reports whether a pod has claims that it or an earlier pod of its identity may have used, and that are not given up already.
func (v *view) mayHaveData(p *pool.Pod) bool {
	claims := slices.DeleteFunc(slices.Clone(v.claimsOf(p.ID)), func(c pool.Claim) bool { return c.Retired })
	ran := !p.Gated || p.From != "" || slices.ContainsFunc(claims, func(c pool.Claim) bool { return c.From != "" && c.From != p.UID })
	return ran && (len(p.Mounts) > 0 || len(claims) > 0)
}

// doubtAbout says why the identity of a pod must not be given up if it may come back; empty: it may be. Pods that end as well, and those that an
// intent names, do not count.
func (v *view) doubtAbout(pod string, ends map[string]bool) string {
	limit := max(1, pods(v.Object.Liveness.MaxUnhealthy, v.Object.Replicas, false))
	another := slices.ContainsFunc(v.Pods, func(p pool.Pod) bool {
		recorded := slices.ContainsFunc(v.counting, func(i plan.Intent) bool { return i.Pod == p.Name })
		return v.owned(&p) && p.Name != pod && v.isAvailable(&p) && !recorded && !ends[p.Name]
	})
	switch down := v.unavailableWithout(pod); {
	case !another:
		return ", and no other pod is available"
	case down > limit:
		return fmt.Sprintf(" with %d unavailable of at most %d", down, limit)
	}
	return ""
}

// surelyYoung is the age up to which a pod that its node rejects has never run, in seconds.
const surelyYoung = 320

// endedWithData reports whether the containers of a pod have ended, all of its claims exist, and a pod of its identity may have run: this
// one has, the kubelet ended it, it follows another one, or it was old when it ended.
func (v *view) endedWithData(p *pool.Pod) bool {
	claims := v.claimsOf(p.ID)
	lacks := slices.ContainsFunc(p.Mounts, func(m pool.Mount) bool {
		return !slices.ContainsFunc(claims, func(c pool.Claim) bool { return c.Name == m.Claim && !c.Retired && !c.Deleting })
	})
	age := v.Now.Unix() - int64(p.Created)
	if p.Ended > 0 {
		age = int64(p.Ended - p.Created)
	}
	mayHaveRun := p.Ran || p.Disrupted || p.From != "" || age >= surelyYoung
	return p.Finished && !terminates(p) && mayHaveRun && !p.Node.Gone && len(p.Mounts) > 0 && !lacks
}
