package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// masking replaces names by hashes. What it returns is made anew, from what is known
// to tell nothing: a field that is added to a snapshot is left out until somebody says
// here what of it may be told.
type masking struct {
	key   []byte
	zones map[string]string
}

// mask returns a snapshot that leads to the same plan and names nothing.
func mask(s plan.Snapshot) plan.Snapshot {
	m := masking{key: []byte(s.Hold.UID), zones: map[string]string{}}
	for i, z := range s.Zones {
		if i == 0 {
			m.key = []byte(z.UID)
		}
	}
	for i, z := range s.Zones { // the number keeps the order in which zones have their turn
		m.zones[z.Name] = fmt.Sprintf("zone-%d-%s", i+1, m.hash(z.Name))
	}
	masked := plan.Snapshot{
		Key: plan.Key{
			Namespace: "namespace-" + m.hash(s.Key.Namespace), Name: "group-" + m.hash(s.Key.Name),
			Kind: s.Key.Kind,
		},
		Now: s.Now, Live: s.Live, Unread: s.Unread, ZonesAt: s.ZonesAt, PodsAt: s.PodsAt, Hold: m.hold(s.Hold),
	}
	for _, b := range s.Budgets {
		masked.Budgets = append(masked.Budgets, m.budget(b))
	}
	for _, z := range s.Zones {
		masked.Zones = append(masked.Zones, m.zoneOf(z, s.Budgets))
	}
	for _, z := range s.Left {
		masked.Left = append(masked.Left, plan.LeftZone{Zone: m.zoneOf(z.Zone, s.Budgets), Exists: z.Exists, Orphaned: z.Orphaned, Uncovered: z.Uncovered})
	}
	for _, p := range s.Strays {
		masked.Strays = append(masked.Strays, m.podOf(p, s.Budgets))
	}
	return masked
}

func (m masking) hash(text string) string {
	if text == "" {
		return "none"
	}
	sum := hmac.New(sha256.New, m.key)
	sum.Write([]byte(text))
	const letters = 8
	// A hash that begins with a letter is never taken for a number.
	return "h" + hex.EncodeToString(sum.Sum(nil))[:letters]
}

// some returns the hash of a text, "" for none.
func (m masking) some(text string) string {
	if text == "" {
		return ""
	}
	return m.hash(text)
}

func (m masking) zone(name string) string {
	if masked, known := m.zones[name]; known {
		return masked
	}
	return m.some(name)
}

// pod masks the name of a pod and keeps its ordinal.
func (m masking) pod(name string) string {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return m.some(name)
	}
	if _, err := strconv.ParseUint(name[cut+1:], 10, 31); err != nil {
		return m.some(name)
	}
	return m.zone(name[:cut]) + name[cut:]
}

func (m masking) holder(h plan.Holder) plan.Holder {
	switch {
	case h.Free():
		return ""
	case h.Newer():
		return h.Operation().For(m.hash(h.Zone()))
	case h.Foreign():
		return plan.Operation("manual").For(m.hash(string(h)))
	case h.Zone() == plan.Partitions:
		return h
	}
	return h.Operation().For(m.zone(h.Zone()))
}

func (m masking) hold(h plan.Hold) plan.Hold {
	masked := plan.Hold{
		Exists: h.Exists, UID: m.some(h.UID), Version: h.Version, Own: h.Own, Holder: m.holder(h.Holder), Since: h.Since,
		Renewed: h.Renewed, Duration: h.Duration, Transitions: h.Transitions, Decrease: m.decrease(h.Decrease),
		Downscaled: m.times(h.Downscaled), GivenUp: m.times(h.GivenUp), Unrenewed: h.Unrenewed, Unreadable: wrong(h.Unreadable),
		Unlabelled: h.Unlabelled,
	}
	for _, i := range h.Intents {
		masked.Intents = append(masked.Intents, plan.Intent{
			Zone: m.zone(i.Zone), Pod: m.pod(i.Pod), UID: m.some(i.UID), Version: i.Version, Cause: i.Cause, Since: i.Since,
			Unbound: i.Unbound, Partition: m.partition(i.Partition), Known: i.Known, Overtook: i.Overtook,
		})
	}
	for _, member := range h.Members {
		masked.Members = append(masked.Members, plan.Member{Zone: m.zone(member.Zone), UID: m.some(member.UID)})
	}
	for _, w := range h.Waiting {
		place := plan.Waiting{Operation: w.Operation, Zone: w.Zone, Since: w.Since, LastSeen: w.LastSeen}
		if w.Zone != plan.Partitions {
			place.Zone = m.zone(w.Zone)
		}
		masked.Waiting = append(masked.Waiting, place)
	}
	for zone, a := range h.Agreed {
		if masked.Agreed == nil {
			masked.Agreed = map[string]plan.Agreement{}
		}
		masked.Agreed[m.zone(zone)] = m.agreement(a)
	}
	return masked
}

func (m masking) agreement(a plan.Agreement) plan.Agreement {
	masked := plan.Agreement{Call: m.call(a.Call), Over: a.Over}
	for _, s := range a.Stretches {
		masked.Stretches = append(masked.Stretches, plan.Stretch{From: s.From, To: s.To, Since: s.Since})
	}
	return masked
}

func (m masking) decrease(d plan.Decrease) plan.Decrease {
	if d.None() {
		return plan.Decrease{}
	}
	return plan.Decrease{
		Zone: m.zone(d.Zone), UID: m.some(d.UID), Version: d.Version, Generation: d.Generation, From: d.From, To: d.To,
		Call: m.call(d.Call), Stage: d.Stage, Ours: d.Ours, Since: d.Since,
	}
}

func (m masking) times(times map[string]time.Time) map[string]time.Time {
	var masked map[string]time.Time
	for zone, at := range times {
		if masked == nil {
			masked = map[string]time.Time{}
		}
		masked[m.zone(zone)] = at
	}
	return masked
}

func (m masking) zoneOf(z plan.Zone, budgets []plan.DisruptionBudget) plan.Zone {
	masked := plan.Zone{
		Name: m.zone(z.Name), UID: m.some(z.UID), Version: z.Version, Generation: z.Generation, Replicas: z.Replicas, Start: z.Start,
		UpdateRevision: m.some(z.UpdateRevision), CurrentRevision: m.some(z.CurrentRevision),
		Observed: z.Observed, Counting: z.Counting, Deleting: z.Deleting, OnDelete: z.OnDelete,
		Paused: z.Paused, PausedUntil: plan.Moment{Time: z.PausedUntil.Time, Invalid: wrong(z.PausedUntil.Invalid)},
		MaxUnavailable: plan.Budget{Pods: z.MaxUnavailable.Pods, Percent: z.MaxUnavailable.Percent, Invalid: wrong(z.MaxUnavailable.Invalid)},
		MinReady:       z.MinReady, MinBetween: plan.Span{Duration: z.MinBetween.Duration, Invalid: wrong(z.MinBetween.Invalid)},
		Downscaled: plan.Moment{Time: z.Downscaled.Time, Invalid: wrong(z.Downscaled.Invalid)},
		Prepares:   z.Prepares, Call: m.call(z.Call), Leader: m.zone(z.Leader), AfterLeader: z.AfterLeader,
		Forced: plan.Force{Given: z.Forced.Given, Replicas: z.Forced.Replicas, Invalid: wrong(z.Forced.Invalid)},
		Barred: z.Barred, Mirror: m.mirror(z.Mirror),
		Delay:     plan.Delay{For: z.Delay.For, Call: m.call(z.Delay.Call), Invalid: wrong(z.Delay.Invalid)},
		Elsewhere: z.Elsewhere, PodsAt: z.PodsAt, WithoutEffect: wrong(z.WithoutEffect),
		Ignored: z.Ignored, InvalidGroup: wrong(z.InvalidGroup), Contest: z.Contest,
	}
	masked.Contest.Writer = m.some(z.Contest.Writer)
	for _, p := range z.Orphans {
		masked.Orphans = append(masked.Orphans, m.podOf(p, budgets))
	}
	for _, p := range z.Pods {
		masked.Pods = append(masked.Pods, m.podOf(p, budgets))
	}
	return masked
}

func (m masking) podOf(p plan.Pod, budgets []plan.DisruptionBudget) plan.Pod {
	masked := plan.Pod{
		Name: m.pod(p.Name), Ordinal: p.Ordinal, UID: m.some(p.UID), Version: p.Version, Revision: m.some(p.Revision),
		Phase: p.Phase, ReadySince: p.ReadySince, Seen: p.Seen, OnHost: p.OnHost, Labels: m.labels(p.Labels, budgets),
	}
	if p.Phase == plan.Failing {
		masked.Why = "Failing"
	}
	if p.IP != "" {
		masked.IP = "10.0.0.1"
	}
	return masked
}

// labels keeps those that a budget asks about, hashed.
func (m masking) labels(l plan.Labels, budgets []plan.DisruptionBudget) plan.Labels {
	had, kept := l.Map(), map[string]string{}
	for _, b := range budgets {
		for _, r := range b.Selector {
			if value, has := had[r.Key]; has {
				kept[m.hash(r.Key)] = m.hash(value)
			}
		}
	}
	return plan.LabelsOf(kept)
}

func (m masking) mirror(r plan.Mirror) plan.Mirror {
	masked := plan.Mirror{WriteBack: r.WriteBack, Invalid: wrong(r.Invalid)}
	if r.Reference.None() {
		return masked
	}
	masked.Reference = plan.Reference{APIGroup: m.some(r.Reference.APIGroup), Kind: m.hash(r.Reference.Kind), Name: m.hash(r.Reference.Name)}
	masked.Scale = plan.Scale{
		Trouble: plan.Refusal{Code: r.Scale.Trouble.Code}, UID: m.some(r.Scale.UID), Replicas: r.Scale.Replicas, Reported: r.Scale.Reported,
		Least: r.Scale.Least, Written: r.Scale.Written,
	}
	return masked
}

func (m masking) call(c plan.Call) plan.Call {
	if c == (plan.Call{}) {
		return c
	}
	masked := plan.Call{TLS: c.TLS, Port: c.Port, Service: m.some(c.Service), Invalid: wrong(c.Invalid)}
	if c.Path != "" {
		masked.Path = "/" + m.hash(c.Path)
	}
	return masked
}

func (m masking) budget(b plan.DisruptionBudget) plan.DisruptionBudget {
	masked := plan.DisruptionBudget{
		Name: m.hash(b.Name), Invalid: wrong(b.Invalid), Limit: b.Limit, Percentage: b.Percentage, Delay: b.Delay, Unhealthy: b.Unhealthy,
	}
	for _, r := range b.Selector {
		asked := plan.Requirement{Key: m.hash(r.Key), Demand: r.Demand}
		for _, value := range r.Values {
			asked.Values = append(asked.Values, m.hash(value))
		}
		masked.Selector = append(masked.Selector, asked)
	}
	if b.Partition != nil { // what it finds in names cannot be found in hashes, but in ordinals
		masked.Partition, masked.Group = ordinals, 1
	}
	return masked
}

var ordinals = regexp.MustCompile(`-([0-9]+)$`)

// partition keeps a partition that is a number.
func (m masking) partition(name string) string {
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		return name
	}
	return m.some(name)
}

// wrong says that something cannot be read, and not what it is.
func wrong(text string) string {
	if text == "" {
		return ""
	}
	return "unreadable"
}
