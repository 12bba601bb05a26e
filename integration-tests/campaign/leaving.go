package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// elsewhere is how the name of the group ends in which a zone of another one is for a while.
const elsewhere = "-elsewhere"

// zonesAnnotation is where the Lease of a group remembers its zones.
const zonesAnnotation = "lockstep.dev/zones"

// What counts the zones that left while a pod of them, or of another zone, was down.
const (
	leftDown   = "zones that left with a pod down"
	leftBeside = "zones that left beside a pod of another zone that was down"
)

// absent is a way in which a zone can leave its group while its pods live on.
type absent struct {
	kind  string // for the table
	words string
	leave func(ctx context.Context, t *trial, g group, zone string) error
	back  func(ctx context.Context, t *trial, g group, zone string) error
}

var (
	orphaned    = absent{"zone orphaned and applied anew", "is orphaned, and applied anew", orphans, applies}
	unlabelled  = absent{"zone without its label", "has no group", regroups(""), regroupsBack}
	inElsewhere = absent{"zone in another group", "is in another group", regroups(elsewhere), regroupsBack}
)

// departure is a zone that leaves its group for a while.
type departure struct {
	absent
	group group
	zone  string
	away  time.Duration
	once  int // what it lies in wait for
}

// What a departure lies in wait for: nothing, or that a pod is down, of its own zone or of
// another one.
const (
	atOnce = iota
	onceDown
	onceAnotherIsDown
)

// leaves lets a zone of a group leave for a while.
func leaves(random *rand.Rand, g group) fault {
	d := departure{
		absent: []absent{orphaned, orphaned, unlabelled, inElsewhere}[random.IntN(4)],
		group:  g, zone: g.zone(random.IntN(len(g.replicas))),
		away: between(random, 500*time.Millisecond, 8*time.Second), once: random.IntN(3),
	}
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 6*time.Second)}
	f.words = fmt.Sprintf("after %s zone %s leaves: it %s after %s", f.at, d.zone, d.words, d.away)
	f.words += [...]string{"", ", once a pod of it is down", ", once a pod of another zone is down"}[d.once]
	if d.kind == inElsewhere.kind {
		f.elsewhere = g.name
	}
	f.deed = func(ctx context.Context, t *trial, _ *replica) error { return d.happens(ctx, t) }
	return f
}

// happens lets the zone leave and come back.
func (d departure) happens(ctx context.Context, t *trial) error {
	if err := d.awaitMemory(ctx, t); err != nil {
		if ctx.Err() == nil {
			t.failed(time.Now(), "a zone is not remembered after %s: %v", patience, err)
		}
		return err
	}
	d.awaitOutage(ctx, t)
	down, beside := !t.present.serves(d.zone), d.anotherIsDown(t)
	if err := insist(ctx, "let a zone leave", func(ctx context.Context) error { return d.leave(ctx, t, d.group, d.zone) }); err != nil {
		return err
	}
	wait(ctx, d.away)
	if err := insist(ctx, "let a zone come back", func(ctx context.Context) error { return d.back(ctx, t, d.group, d.zone) }); err != nil {
		return err
	}
	t.count(d.kind)
	if down {
		t.count(leftDown)
	}
	if beside {
		t.count(leftBeside)
	}
	return nil
}

// awaitMemory waits until an operator has seen the zone: before that none can miss it.
func (d departure) awaitMemory(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return insist(ctx, "wait until the zone is remembered", func(context.Context) error { return t.present.remembered(d.group, d.zone) })
}

// lying is for how long a departure waits for a pod to be down: rollouts take one zone after
// the other.
const lying = 2 * busy

// awaitOutage waits for what the departure lies in wait for, but not for ever.
func (d departure) awaitOutage(ctx context.Context, t *trial) {
	waits := func() bool {
		switch d.once {
		case onceDown:
			return t.present.serves(d.zone)
		case onceAnotherIsDown:
			return !d.anotherIsDown(t)
		}
		return false
	}
	for until := time.Now().Add(lying); waits() && time.Now().Before(until) && wait(ctx, 10*time.Millisecond); {
		continue
	}
}

// anotherIsDown reports whether a pod of another zone is down.
func (d departure) anotherIsDown(t *trial) bool {
	for i := range d.group.replicas {
		if zone := d.group.zone(i); zone != d.zone && !t.present.serves(zone) {
			return true
		}
	}
	return false
}

// orphans deletes the StatefulSet of a zone without its pods.
func orphans(ctx context.Context, t *trial, _ group, zone string) error {
	err := t.client.AppsV1().StatefulSets(t.namespace).Delete(ctx, zone, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	return unlessGone(err)
}

// applies makes the StatefulSet of a zone as it was when it was gone.
func applies(ctx context.Context, t *trial, _ group, zone string) error {
	was := t.present.former(zone)
	if was == nil {
		return fmt.Errorf("StatefulSet %s is not gone yet", zone)
	}
	anew := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec,
	}
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(ctx, anew, metav1.CreateOptions{})
	return unlessThere(err)
}

// regroups gives a zone the label of another group, whose name ends differently, or none. A
// zone moves to another group only while no pod of it is about to leave.
func regroups(suffix string) func(context.Context, *trial, group, string) error {
	return func(ctx context.Context, t *trial, g group, zone string) error {
		if suffix == "" {
			return t.label(ctx, zone, "null")
		}
		if err := t.present.settledIn(g, zone); err != nil {
			return err
		}
		return t.label(ctx, zone, fmt.Sprintf("%q", g.name+suffix))
	}
}

func regroupsBack(ctx context.Context, t *trial, g group, zone string) error {
	if err := t.present.settledIn(g.elsewhere(), zone); err != nil {
		return err
	}
	return t.label(ctx, zone, fmt.Sprintf("%q", g.name))
}

// elsewhere is the group in which a zone of another one is for a while, with the same budget.
func (g group) elsewhere() group {
	g.name += elsewhere
	return g
}

// label sets the label of a zone's group to a value in JSON.
func (t *trial) label(ctx context.Context, zone, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, groupLabel, value)
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// remembered says whether the Lease of a group remembers the StatefulSet of a zone. Who has
// not seen a zone cannot miss it.
func (p *present) remembered(g group, zone string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	set, lease := p.sets[zone], p.leaseOf(g)
	if set == nil || lease == nil || !strings.Contains(lease.Annotations[zonesAnnotation], string(set.UID)) {
		return fmt.Errorf("group %s does not remember zone %s", g.name, zone)
	}
	return nil
}

// leaseOf is the Lease of a group; nil: there is none.
func (p *present) leaseOf(g group) *coordinationv1.Lease {
	for _, l := range p.leases {
		if judge.HoldOf(l).Group == g.name {
			return l
		}
	}
	return nil
}

// serves reports whether all pods of a zone are up.
func (p *present) serves(zone string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.sets[zone]
	if set == nil {
		return false
	}
	for _, name := range judge.ZoneOf(set).Pods() {
		if pod := p.pods[name]; pod == nil || !judge.PodOf(pod).Serving() {
			return false
		}
	}
	return true
}

// former is the StatefulSet of a zone as it was when it was deleted; nil: it was not, or
// there is another one.
func (p *present) former(zone string) *appsv1.StatefulSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets[zone] != nil {
		return nil
	}
	return p.deleted[zone]
}

// settledIn says whether the Lease of a group notes nothing of a zone that may still happen.
func (p *present) settledIn(g group, zone string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	lease := p.leaseOf(g)
	if lease == nil {
		return nil
	}
	hold := judge.HoldOf(lease)
	for _, note := range hold.Intents {
		pod := p.pods[note.Pod]
		if strings.HasPrefix(note.Pod, zone+"-") && pod != nil && string(pod.UID) == note.UID && pod.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s is about to leave", note.Pod)
		}
	}
	if hold.Downscale.Zone == zone {
		return errors.New("it is about to shrink")
	}
	return nil
}
