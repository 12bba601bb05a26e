package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// withoutTemplates returns a snapshot without the content of templates, of which no rule depends and which may contain
// secrets.
func withoutTemplates(s pool.Snapshot) pool.Snapshot {
	s.Object.Templates = namesOfTemplates(s.Object.Templates, func(name string) string { return name })
	revisions := make([]pool.Revision, len(s.Revisions))
	for i, r := range s.Revisions {
		revisions[i] = r
		revisions[i].Templates = namesOfTemplates(r.Templates, func(name string) string { return name })
	}
	s.Revisions = revisions
	return s
}

// namesOfTemplates returns the claim templates with other names, and nothing of their content.
func namesOfTemplates(t pool.Templates, renamed func(string) string) pool.Templates {
	var names pool.Templates
	for _, c := range t.Claims {
		names.Claims = append(names.Claims, pool.ClaimTemplate{Name: renamed(c.Name), Storage: storageOf(c.Storage, renamed)})
	}
	return names
}

// poolAnonymizer replaces the names of a StatefulCluster by hashes. Like anonymizer, it builds a new snapshot from fields that
// are known to contain no names.
type poolAnonymizer struct {
	anonymizer
	pool string // the name of the StatefulCluster
}

// anonymizePool returns a snapshot that gives the same plan and contains no names.
func anonymizePool(s pool.Snapshot) pool.Snapshot {
	m := poolAnonymizer{anonymizer{key: []byte(s.Object.UID + s.Hold.UID), zones: map[string]string{}}, s.Key.Name}
	m.zones[m.pool] = "stc-" + m.hash(m.pool)
	for i := range s.Pods {
		m.zones[s.Pods[i].Name] = m.podName(s.Pods[i].Name) // a place in the queue may name a pod
	}
	anonymized := pool.Snapshot{
		Key: plan.Key{Namespace: "namespace-" + m.hash(s.Key.Namespace), Kind: s.Key.Kind, Name: m.zones[m.pool]},
		Now: s.Now, Live: s.Live, ObjectsAt: s.ObjectsAt, PodsAt: s.PodsAt, ClaimsAt: s.ClaimsAt, Draw: s.Draw,
		Object: m.object(&s.Object), Hold: m.poolHold(s.Hold), Part: s.Part, Lost: s.Lost, Refused: plan.Refusal{Code: s.Refused.Code, Until: s.Refused.Until},
		Orphans: m.orphans(s.Orphans), Changes: m.changes(s.Changes),
	}
	for i := range s.Revisions {
		anonymized.Revisions = append(anonymized.Revisions, m.revision(&s.Revisions[i]))
	}
	for i := range s.Pods {
		anonymized.Pods = append(anonymized.Pods, m.member(&s.Pods[i]))
	}
	for i := range s.Claims {
		anonymized.Claims = append(anonymized.Claims, m.claim(&s.Claims[i]))
	}
	for _, c := range s.Unlabelled {
		anonymized.Unlabelled = append(anonymized.Unlabelled, pool.UnlabelledClaim{Name: m.some(c.Name), Template: m.some(c.Template), UID: m.some(c.UID), Version: c.Version, Owner: m.some(c.Owner)})
	}
	for id := range s.Taken {
		if anonymized.Taken == nil {
			anonymized.Taken = map[pool.ID]bool{}
		}
		anonymized.Taken[m.id(id)] = true
	}
	for uid, look := range s.Volumes {
		if anonymized.Volumes == nil {
			anonymized.Volumes = map[string]pool.VolumeLook{}
		}
		look.Waits = wrong(look.Waits)
		anonymized.Volumes[m.some(uid)] = look
	}
	anonymized.Service = pool.ServiceLook{At: s.Service.At, Generation: s.Service.Generation, Missing: wrong(s.Service.Missing)}
	for _, r := range s.RefusedGrowths {
		r.Claim, r.To, r.Because = m.some(r.Claim), storageOf(r.To, m.some), plan.Refusal{Code: r.Because.Code, Detail: wrong(r.Because.Detail), Until: r.Because.Until}
		anonymized.RefusedGrowths = append(anonymized.RefusedGrowths, r)
	}
	return anonymized
}

// id returns an identity of the form that the former one has.
func (m poolAnonymizer) id(id pool.ID) pool.ID {
	if !id.Drawn() {
		return pool.ID(m.some(string(id)))
	}
	sum := hmac.New(sha256.New, m.key)
	sum.Write([]byte(id))
	return pool.ID(hex.EncodeToString(sum.Sum(nil))[:len(id)])
}

// podName hashes the name of a pod and keeps that it is the one of an identity.
func (m poolAnonymizer) podName(name string) string {
	if id, is := pool.IDOf(m.pool, name); is {
		return pool.PodName(m.zones[m.pool], m.id(id))
	}
	return m.some(name)
}

func (m poolAnonymizer) object(o *pool.Object) pool.Object {
	anonymized := pool.Object{
		UID: m.some(o.UID), Version: o.Version, Generation: o.Generation, Deleting: o.Deleting, Unreadable: wrong(o.Unreadable), InvalidTemplate: wrong(o.InvalidTemplate),
		Replicas: o.Replicas, MinReady: o.MinReady, Hash: m.some(o.Hash), RevisionHistory: o.RevisionHistory, Paused: o.Paused, PausedUntil: anonymousMoment(o.PausedUntil),
		ScaleMaxUnavailable: o.ScaleMaxUnavailable, Ordered: o.Ordered, AwaitEnds: o.AwaitEnds, WithoutEffect: wrong(o.WithoutEffect),
		Strategy: o.Strategy, Keep: o.Keep, HandoverTimeout: o.HandoverTimeout, Deadline: o.Deadline, Liveness: o.Liveness, Claim: o.Claim,
		Templates: namesOfTemplates(o.Templates, m.some), Service: m.some(o.Service), Adopt: o.Adopt, Current: m.some(o.Current),
	}
	for _, name := range o.PodsToDelete {
		anonymized.PodsToDelete = append(anonymized.PodsToDelete, m.podName(name))
	}
	return anonymized
}

// poolHold returns the hold as that of a group, which has the same fields.
func (m poolAnonymizer) poolHold(h plan.Hold) plan.Hold {
	anonymized := m.hold(group.Hold{Hold: h}).Hold
	for i, intent := range h.Intents {
		anonymized.Intents[i].Pod = m.podName(intent.Pod)
	}
	return anonymized
}

func (m poolAnonymizer) revision(r *pool.Revision) pool.Revision {
	return pool.Revision{Name: m.some(r.Name), UID: m.some(r.UID), Version: r.Version, Number: r.Number, Hash: m.some(r.Hash), Templates: namesOfTemplates(r.Templates, m.some)}
}

func (m poolAnonymizer) member(p *pool.Pod) pool.Pod {
	anonymized := pool.Pod{
		Pod: m.podOf(p.Pod, nil), ID: m.id(p.ID), Owner: m.some(p.Owner), Gated: p.Gated, Scheduled: p.Scheduled, Finished: p.Finished, Asked: p.Asked,
		Cost: p.Cost, Restarts: p.Restarts, EndsBy: p.EndsBy, From: m.some(p.From), Retain: p.Retain, Withdrawn: p.Withdrawn, Disrupted: p.Disrupted, Ran: p.Ran, Ended: p.Ended,
		Node:     pool.Node{Name: m.some(p.Node.Name), Gone: p.Node.Gone, Silent: p.Node.Silent},
		NotReady: p.NotReady, Generation: p.Generation, Observed: p.Observed,
		Update: pool.InPlaceUpdate{
			Revision: m.some(p.Update.Revision), At: p.Update.At, Since: p.Update.Since, Restarts: m.texts(p.Update.Restarts),
			Begun: p.Update.Begun, Before: m.resources(p.Update.Before),
		},
		Unmatched: p.Unmatched, Gate: p.Gate, GateSince: p.GateSince, Resize: p.Resize, ResizeSince: p.ResizeSince,
	}
	anonymized.Name, anonymized.Created = m.podName(p.Name), p.Created
	if p.Why == crashLoop {
		anonymized.Why = crashLoop // a rule depends on it
	}
	for _, mount := range p.Mounts {
		anonymized.Mounts = append(anonymized.Mounts, pool.Mount{Template: m.some(mount.Template), Claim: m.some(mount.Claim)})
	}
	for _, c := range p.Containers {
		anonymized.Containers = append(anonymized.Containers, pool.Container{Name: m.some(c.Name), Image: m.some(c.Image), ID: m.some(c.ID), Running: c.Running, Resources: m.resourcesOf(c.Resources)})
	}
	return anonymized
}

// crashLoop is the waiting reason of a container that has ended several times.
const crashLoop = "CrashLoopBackOff"

func (m poolAnonymizer) claim(c *pool.Claim) pool.Claim {
	anonymized := pool.Claim{
		Name: m.some(c.Name), UID: m.some(c.UID), Version: c.Version, ID: m.id(c.ID), Template: m.some(c.Template), Pool: m.some(c.Pool), From: m.some(c.From),
		Retain: c.Retain, Deleting: c.Deleting, Bound: c.Bound, Storage: storageOf(c.Storage, m.some), Retired: c.Retired, Owned: c.Owned, Keep: c.Keep, Ended: c.Ended, Because: c.Because,
	}
	for _, sibling := range c.Siblings {
		anonymized.Siblings = append(anonymized.Siblings, m.some(sibling))
	}
	return anonymized
}

func (m poolAnonymizer) orphans(o pool.Orphans) pool.Orphans {
	anonymized := pool.Orphans{At: o.At}
	for _, p := range o.Pods {
		anonymized.Pods = append(anonymized.Pods, pool.Orphan{Name: m.podName(p.Name), UID: m.some(p.UID), Version: p.Version, Controller: m.some(p.Controller), Labelled: p.Labelled})
	}
	return anonymized
}

func (m poolAnonymizer) changes(all map[string]pool.Change) map[string]pool.Change {
	var anonymized map[string]pool.Change
	for revision, c := range all {
		if anonymized == nil {
			anonymized = map[string]pool.Change{}
		}
		anonymized[m.some(revision)] = pool.Change{Equal: c.Equal, InPlace: c.InPlace, From: m.texts(c.From), Images: m.texts(c.Images), Resources: m.resources(c.Resources)}
	}
	return anonymized
}

// resources hashes the names of containers.
func (m poolAnonymizer) resources(all map[string]pool.Resources) map[string]pool.Resources {
	var anonymized map[string]pool.Resources
	for container, r := range all {
		if anonymized == nil {
			anonymized = map[string]pool.Resources{}
		}
		anonymized[m.some(container)] = m.resourcesOf(r)
	}
	return anonymized
}

func (m poolAnonymizer) resourcesOf(r pool.Resources) pool.Resources {
	return pool.Resources{CPURequest: m.some(r.CPURequest), MemoryRequest: m.some(r.MemoryRequest), CPULimit: m.some(r.CPULimit), MemoryLimit: m.some(r.MemoryLimit)}
}

// storageOf hashes the text of an amount. Its number stays, because rules compare it.
func storageOf(s pool.Storage, renamed func(string) string) pool.Storage {
	return pool.Storage{Text: renamed(s.Text), Bytes: s.Bytes}
}

// texts hashes the keys and values of a map.
func (m poolAnonymizer) texts(all map[string]string) map[string]string {
	var anonymized map[string]string
	for key, value := range all {
		if anonymized == nil {
			anonymized = map[string]string{}
		}
		anonymized[m.some(key)] = m.some(value)
	}
	return anonymized
}
