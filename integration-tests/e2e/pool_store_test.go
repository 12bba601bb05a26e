package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/realnode"
)

// keepsWrites loses three of six nodes one after the other, and a member by a downscale, while a client
// writes. Meanwhile the image is updated, and the leader is killed. Each write that was acknowledged
// is found at the end.
func (w *world) keepsWrites(t *testing.T) {
	t.Parallel()
	spare := w.spareNodes(t, 4, 5, 6)
	p := w.pool(t, "pool-stores", 4, w.nodes[0], w.nodes[1], spare[0].Name(), spare[1].Name(), spare[2].Name())
	p.begins(5, nil, toleratesSpare)
	stop := p.writes()

	p.changesTemplate(image(images.NextMember))
	eventually(t, "a member has been updated", func() error { return p.isUpdated(1) })
	p.losesMemberOn(spare[0], w.nodes[2], 5)
	p.recovers(5)

	p.addDisks(w.nodes[0])
	p.scales(6)
	p.recovers(6)

	p.losesMemberAndLeader(spare[1], w.nodes[1], 6)
	p.recovers(6)

	p.scales(5)
	p.recovers(5)
	p.losesMemberOn(spare[2], w.nodes[2], 5)
	p.recovers(5)
	if err := p.isUpdated(5); err != nil {
		t.Error(err)
	}
	p.wantAll(stop())
}

// losesMemberOn switches off a node with one member.
func (p *pool) losesMemberOn(node *realnode.Node, instead string, replicas int) {
	p.t.Helper()
	members, err := p.members(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	p.losesNode(node, instead, replicas, p.memberOn(members, node.Name()))
}

// losesMemberAndLeader switches off a node with one member, and kills the leader while the new member waits for a disk. The next
// leader does what is left.
func (p *pool) losesMemberAndLeader(node *realnode.Node, instead string, replicas int) {
	p.t.Helper()
	p.leading.Lock()
	defer p.leading.Unlock()
	p.works(p.t)
	members, err := p.members(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	lost := p.memberOn(members, node.Name())
	if err := p.switchesOff(p.t.Context(), node); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "a new member waits for a disk", func() error { return p.waitsForDisk(members) })
	former := p.killsTheLeader(p.t)
	eventually(p.t, "another process leads", func() error { return p.leadsNoMore(p.t.Context(), former) })
	if err := p.waitsForDisk(members); err != nil {
		p.t.Errorf("the replacement is complete, although there was no disk: %v", err)
	}
	p.addDisks(instead)
	p.serves(replicas, lost.Name)
	p.removesByForce(lost)
	p.wantEnded(lost, "NodeGone")
	p.works(p.t)
}

// waitsForDisk returns an error unless one member is new and has no node.
func (p *pool) waitsForDisk(before []corev1.Pod) error {
	now, err := p.members(p.t.Context())
	if err != nil {
		return err
	}
	former := func(pod corev1.Pod) bool {
		return slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.UID == pod.UID })
	}
	if now = slices.DeleteFunc(now, former); len(now) != 1 || now[0].Spec.NodeName != "" {
		return fmt.Errorf("%d members are new", len(now))
	}
	return nil
}

// isUpdated returns an error unless that many members run the new image.
func (p *pool) isUpdated(want int) error {
	members, err := p.members(p.t.Context())
	if err != nil {
		return err
	}
	updated := 0
	for i := range members {
		if version, err := p.call(http.MethodGet, &members[i], "/version", ""); err == nil && strings.TrimSpace(version) == images.NextVersion {
			updated++
		}
	}
	if updated < want {
		return fmt.Errorf("%d members have been updated, %d wanted", updated, want)
	}
	return nil
}

// recovers waits until that many members are available, and each of them knows all of them and has
// taken from them what it lacked. Then another disk may be lost.
func (p *pool) recovers(replicas int) []corev1.Pod {
	p.t.Helper()
	var members []corev1.Pod
	eventually(p.t, "all members have what they should have", func() (err error) {
		members = p.serves(replicas, "")
		var names []string
		for i := range members {
			names = append(names, members[i].Name)
		}
		for i := range members {
			known, err := p.call(http.MethodPost, &members[i], "/pull", "")
			if err != nil {
				return err
			}
			if found := strings.Fields(known); !slices.Equal(slices.Sorted(slices.Values(found)), names) {
				return fmt.Errorf("%s knows %q of %q", members[i].Name, found, names)
			}
		}
		return nil
	})
	return members
}

// pace is how often the client writes at most.
const pace = 10 * time.Millisecond

// writes writes numbers to members in turn, one after the other, until stop is called. That returns the
// numbers that were acknowledged. A number that was not is written again.
func (p *pool) writes() (stop func() (acknowledged []int)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	done := make(chan []int)
	go func() {
		var acknowledged []int
		var longest time.Duration
		last := time.Now()
		for number := 0; ctx.Err() == nil; {
			members, _ := p.members(ctx)
			members = slices.DeleteFunc(members, func(pod corev1.Pod) bool { return !isReady(&pod) })
			for i := 0; i < len(members) && ctx.Err() == nil; i++ {
				if _, err := p.call(http.MethodPut, &members[i], path(number), valueOf(number)); err != nil {
					continue // the members have changed
				}
				acknowledged = append(acknowledged, number)
				longest, last = max(longest, time.Since(last)), time.Now()
				number++
				time.Sleep(pace)
			}
			time.Sleep(pace)
		}
		p.t.Logf("%d writes were acknowledged; the longest time without one was %s", len(acknowledged), longest)
		done <- acknowledged
	}()
	p.t.Cleanup(cancel)
	return func() []int { cancel(); return <-done }
}

func path(number int) string    { return fmt.Sprintf("/values/%d", number) }
func valueOf(number int) string { return fmt.Sprintf("number %d", number) }

// fewestWrites is how many writes must be acknowledged. Fewer would prove little.
const fewestWrites = 100

// wantAll fails the test unless the store finds each number, and has three copies of it.
func (p *pool) wantAll(numbers []int) {
	p.t.Helper()
	if len(numbers) < fewestWrites {
		p.t.Errorf("%d writes were acknowledged, %d wanted", len(numbers), fewestWrites)
	}
	members := p.recovers(5)
	copies := map[string]int{}
	for i := range members {
		text, err := p.call(http.MethodGet, &members[i], "/copies", "")
		if err != nil {
			p.t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			copies[line]++
		}
	}
	missing := []error{}
	for _, number := range numbers {
		member := &members[number%len(members)]
		if got, err := p.call(http.MethodGet, member, path(number), ""); got != valueOf(number) {
			missing = append(missing, fmt.Errorf("%s returns %q for %d: %w", member.Name, got, number, err))
		}
		if n := copies[fmt.Sprintf("%d %q\n", number, valueOf(number))]; n < 3 {
			missing = append(missing, fmt.Errorf("there are %d copies of %d", n, number))
		}
	}
	if len(missing) > 0 {
		p.t.Errorf("of %d writes, some are lost or have too few copies, among them:\n%v", len(numbers), errors.Join(missing[:min(10, len(missing))]...))
	}
}
