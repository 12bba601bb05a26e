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
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// anonymizer replaces names by hashes. It builds a new snapshot from fields that are known to
// contain no names: a field that is added to group.Snapshot is left out until this file handles
// it.
type anonymizer struct {
	key   []byte
	zones map[string]string
}

// anonymize returns a snapshot that gives the same plan and contains no names.
func anonymize(s group.Snapshot) group.Snapshot {
	m := anonymizer{key: []byte(s.Hold.UID), zones: map[string]string{}}
	for i, z := range s.Zones {
		if i == 0 {
			m.key = []byte(z.UID)
		}
	}
	for i, z := range s.Zones { // the number preserves the order of zones
		m.zones[z.Name] = fmt.Sprintf("zone-%d-%s", i+1, m.hash(z.Name))
	}
	anonymized := group.Snapshot{
		Key: plan.Key{
			Namespace: "namespace-" + m.hash(s.Key.Namespace), Name: "group-" + m.hash(s.Key.Name),
			Kind: s.Key.Kind,
		},
		Now: s.Now, Live: s.Live, Unread: s.Unread, ZonesAt: s.ZonesAt, PodsAt: s.PodsAt, Hold: m.hold(s.Hold),
	}
	for _, b := range s.Budgets {
		anonymized.Budgets = append(anonymized.Budgets, m.budget(b))
	}
	for _, z := range s.Zones {
		anonymized.Zones = append(anonymized.Zones, m.zoneOf(z, s.Budgets))
	}
	for _, z := range s.FormerZones {
		anonymized.FormerZones = append(anonymized.FormerZones, group.FormerZone{Zone: m.zoneOf(z.Zone, s.Budgets), Exists: z.Exists, Orphaned: z.Orphaned, Uncovered: z.Uncovered})
	}
	for _, p := range s.Strays {
		anonymized.Strays = append(anonymized.Strays, m.podOf(p, s.Budgets))
	}
	return anonymized
}

func (m anonymizer) hash(text string) string {
	if text == "" {
		return "none"
	}
	sum := hmac.New(sha256.New, m.key)
	sum.Write([]byte(text))
	const letters = 8
	// The letter prevents parsers from reading the hash as a number.
	return "h" + hex.EncodeToString(sum.Sum(nil))[:letters]
}

// some returns the hash of a text, or "" for an empty text.
func (m anonymizer) some(text string) string {
	if text == "" {
		return ""
	}
	return m.hash(text)
}

func (m anonymizer) zone(name string) string {
	if anonymized, known := m.zones[name]; known {
		return anonymized
	}
	return m.some(name)
}

// pod hashes the name of a pod and keeps its ordinal.
func (m anonymizer) pod(name string) string {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return m.some(name)
	}
	if _, err := strconv.ParseUint(name[cut+1:], 10, 31); err != nil {
		return m.some(name)
	}
	return m.zone(name[:cut]) + name[cut:]
}

func (m anonymizer) holder(h plan.Holder) plan.Holder {
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

func (m anonymizer) hold(h group.Hold) group.Hold {
	anonymized := group.Hold{
		Hold: plan.Hold{
			Exists:      h.Exists,
			UID:         m.some(h.UID),
			Version:     h.Version,
			Own:         h.Own,
			Holder:      m.holder(h.Holder),
			Since:       h.Since,
			Renewed:     h.Renewed,
			Duration:    h.Duration,
			Transitions: h.Transitions,
			Unrenewed:   h.Unrenewed,
			Unreadable:  wrong(h.Unreadable),
			Unlabelled:  h.Unlabelled,
		},
		Part: group.Part{
			Downscale:  m.downscale(h.Downscale),
			Downscaled: m.times(h.Downscaled),
			GivenUp:    m.times(h.GivenUp),
		},
	}
	for _, i := range h.Intents {
		anonymized.Intents = append(anonymized.Intents, plan.Intent{
			Zone: m.zone(i.Zone), Pod: m.pod(i.Pod), UID: m.some(i.UID), Version: i.Version, Cause: i.Cause, Since: i.Since,
			Unbound: i.Unbound, Partition: m.partition(i.Partition), Known: i.Known, Overtook: i.Overtook, From: m.some(i.From),
		})
	}
	for _, member := range h.Members {
		anonymized.Members = append(anonymized.Members, group.Member{Zone: m.zone(member.Zone), UID: m.some(member.UID)})
	}
	for _, w := range h.Waiting {
		place := plan.Waiting{Operation: w.Operation, Zone: w.Zone, Since: w.Since, LastSeen: w.LastSeen}
		if w.Zone != plan.Partitions {
			place.Zone = m.zone(w.Zone)
		}
		anonymized.Waiting = append(anonymized.Waiting, place)
	}
	for zone, a := range h.Acknowledged {
		if anonymized.Acknowledged == nil {
			anonymized.Acknowledged = map[string]group.DelayRecord{}
		}
		anonymized.Acknowledged[m.zone(zone)] = m.agreement(a)
	}
	return anonymized
}

func (m anonymizer) agreement(a group.DelayRecord) group.DelayRecord {
	anonymized := group.DelayRecord{Call: m.call(a.Call), Over: a.Over}
	for _, s := range a.OrdinalRanges {
		anonymized.OrdinalRanges = append(anonymized.OrdinalRanges, group.OrdinalRange{From: s.From, To: s.To, Since: s.Since})
	}
	return anonymized
}

func (m anonymizer) downscale(d group.Downscale) group.Downscale {
	if d.None() {
		return group.Downscale{}
	}
	return group.Downscale{
		Zone: m.zone(d.Zone), UID: m.some(d.UID), Version: d.Version, Generation: d.Generation, From: d.From, To: d.To,
		Call: m.call(d.Call), Stage: d.Stage, Ours: d.Ours, Since: d.Since,
	}
}

func (m anonymizer) times(times map[string]time.Time) map[string]time.Time {
	var anonymized map[string]time.Time
	for zone, at := range times {
		if anonymized == nil {
			anonymized = map[string]time.Time{}
		}
		anonymized[m.zone(zone)] = at
	}
	return anonymized
}

func (m anonymizer) zoneOf(z group.Zone, budgets []group.DisruptionBudget) group.Zone {
	anonymized := group.Zone{
		Name: m.zone(z.Name), UID: m.some(z.UID), Version: z.Version, Generation: z.Generation, Replicas: z.Replicas, Start: z.Start,
		UpdateRevision: m.some(z.UpdateRevision), CurrentRevision: m.some(z.CurrentRevision),
		Observed: z.Observed, Counting: z.Counting, Deleting: z.Deleting, OnDelete: z.OnDelete,
		Paused: z.Paused, PausedUntil: anonymousMoment(z.PausedUntil),
		MaxUnavailable: plan.Budget{Pods: z.MaxUnavailable.Pods, Percent: z.MaxUnavailable.Percent, Invalid: wrong(z.MaxUnavailable.Invalid)},
		MinReady:       z.MinReady, MinBetween: group.Span{Duration: z.MinBetween.Duration, Invalid: wrong(z.MinBetween.Invalid)},
		Downscaled: anonymousMoment(z.Downscaled),
		Prepares:   z.Prepares, Call: m.call(z.Call), Leader: m.zone(z.Leader), AfterLeader: z.AfterLeader,
		Forced: group.Force{Given: z.Forced.Given, Replicas: z.Forced.Replicas, Invalid: wrong(z.Forced.Invalid)},
		Barred: z.Barred, Mirror: m.mirror(z.Mirror),
		Delay:     group.Delay{For: z.Delay.For, Call: m.call(z.Delay.Call), Invalid: wrong(z.Delay.Invalid)},
		Elsewhere: z.Elsewhere, PodsAt: z.PodsAt, WithoutEffect: wrong(z.WithoutEffect),
		Ignored: z.Ignored, InvalidGroup: wrong(z.InvalidGroup), Contest: z.Contest,
	}
	anonymized.Contest.Writer = m.some(z.Contest.Writer)
	for _, p := range z.Orphans {
		anonymized.Orphans = append(anonymized.Orphans, m.podOf(p, budgets))
	}
	for _, p := range z.Pods {
		anonymized.Pods = append(anonymized.Pods, m.podOf(p, budgets))
	}
	return anonymized
}

func (m anonymizer) podOf(p plan.Pod, budgets []group.DisruptionBudget) plan.Pod {
	anonymized := plan.Pod{
		Name: m.pod(p.Name), Ordinal: p.Ordinal, UID: m.some(p.UID), Version: p.Version, Revision: m.some(p.Revision),
		Phase: p.Phase, ReadySince: p.ReadySince, Seen: p.Seen, OnHost: p.OnHost, Unadopted: p.Unadopted, Labels: m.labels(p.Labels, budgets),
	}
	if p.Phase == plan.Failing {
		anonymized.Why = "Failing"
	}
	if p.IP != "" {
		anonymized.IP = "10.0.0.1"
	}
	return anonymized
}

// labels returns the hashes of the labels that budgets select.
func (m anonymizer) labels(l plan.Labels, budgets []group.DisruptionBudget) plan.Labels {
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

func (m anonymizer) mirror(r group.Mirror) group.Mirror {
	anonymized := group.Mirror{WriteBack: r.WriteBack, Invalid: wrong(r.Invalid)}
	if r.Reference.None() {
		return anonymized
	}
	anonymized.Reference = group.Reference{APIGroup: m.some(r.Reference.APIGroup), Kind: m.hash(r.Reference.Kind), Name: m.hash(r.Reference.Name)}
	anonymized.Scale = group.Scale{
		Trouble: plan.Refusal{Code: r.Scale.Trouble.Code}, UID: m.some(r.Scale.UID), Replicas: r.Scale.Replicas, Reported: r.Scale.Reported,
		Least: r.Scale.Least, Written: r.Scale.Written,
	}
	return anonymized
}

func (m anonymizer) call(c group.Call) group.Call {
	if c == (group.Call{}) {
		return c
	}
	anonymized := group.Call{TLS: c.TLS, Port: c.Port, Service: m.some(c.Service), Invalid: wrong(c.Invalid)}
	if c.Path != "" {
		anonymized.Path = "/" + m.hash(c.Path)
	}
	return anonymized
}

func (m anonymizer) budget(b group.DisruptionBudget) group.DisruptionBudget {
	anonymized := group.DisruptionBudget{
		Name: m.hash(b.Name), Invalid: wrong(b.Invalid), Limit: b.Limit, Percentage: b.Percentage, Delay: b.Delay, Unhealthy: b.Unhealthy,
	}
	for _, r := range b.Selector {
		asked := group.Requirement{Key: m.hash(r.Key), Demand: r.Demand}
		for _, value := range r.Values {
			asked.Values = append(asked.Values, m.hash(value))
		}
		anonymized.Selector = append(anonymized.Selector, asked)
	}
	if b.Partition != nil { // the expression would not match hashes, but ordinals remain
		anonymized.Partition, anonymized.Group = ordinals, 1
	}
	return anonymized
}

var ordinals = regexp.MustCompile(`-([0-9]+)$`)

// partition keeps a partition that is a number, and hashes any other.
func (m anonymizer) partition(name string) string {
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		return name
	}
	return m.some(name)
}

func anonymousMoment(m plan.Moment) plan.Moment {
	return plan.Moment{Time: m.Time, Invalid: wrong(m.Invalid)}
}

// wrong replaces the text of an invalid value.
func wrong(text string) string {
	if text == "" {
		return ""
	}
	return "unreadable"
}
