package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

// updatesByStrategy changes the image under one strategy after the other. Under each of them that leaves members as they are,
// a member is deleted, and its successor shows which image new pods get.
func (w *world) updatesByStrategy(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-strategies", 2, slices.Repeat(w.nodes, 3)...)
	before := p.begins(3, strategy("rollingUpdate", map[string]any{"partition": int64(2)}))

	p.changesTemplate(image(images.NextMember))
	p.replacesOne(p.wantKeptAt(before, 1), images.Member, 1)
	before = p.settlesAt(1)
	p.changesFields(strategy("rollingUpdate", map[string]any{"partition": int64(0)}))
	before = p.wantKeptAt(before, 3)

	p.changesFields(map[string]any{"paused": true})
	p.changesTemplate(image(images.Member))
	p.waitsBecause("UpdatesPaused")
	p.replacesOne(before, images.NextMember, 3) // the image from which nothing has been updated
	before = p.settlesAt(3)
	p.changesFields(map[string]any{"paused": false})
	before = p.wantKeptAt(before, 0)

	p.changesFields(strategy("type", "OnDelete"))
	p.changesTemplate(image(images.NextMember))
	p.waitsBecause("UpdatesByDeletion")
	p.replacesOne(before, images.Member, 1)

	before, since := p.settlesAt(1), len(p.history())
	p.changesFields(strategy("rollingUpdate", oneMoreAtATime))
	p.wantReplaced(before, p.settlesAt(3), images.Member)
	p.wantOneMoreAtATime(3, since)
	p.wantIdentities(3 + 3 + 2)
}

// oneMoreAtATime creates a new identity before another one leaves.
var oneMoreAtATime = map[string]any{"podUpdatePolicy": "Recreate", "maxSurge": int64(1), "maxUnavailable": int64(0)}

// strategy is an update strategy with only this field.
func strategy(field string, value any) map[string]any {
	return map[string]any{"updateStrategy": map[string]any{field: value}}
}

// settlesAt waits until all members are available and no update is in progress, and so many run the next version. It returns
// the members.
func (p *pool) settlesAt(next int) (members []corev1.Pod) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("all members of %s serve, and %d of them run the next version", p.name, next), func() error {
		o, err := p.client.Get(p.t.Context(), group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		status, _, _ := unstructured.NestedMap(o.Object, "status")
		if status["observedGeneration"] != o.GetGeneration() || status["holder"] != nil || status["replicas"] != want || status["availableReplicas"] != want {
			return fmt.Errorf("%d wanted in generation %d, its status is %v", want, o.GetGeneration(), status)
		}
		if members, err = p.members(p.t.Context()); err != nil {
			return err
		}
		running := 0
		for i := range members {
			version, err := p.call(http.MethodGet, &members[i], "/version", "")
			if err != nil || !isReady(&members[i]) {
				return fmt.Errorf("%s does not serve: %w", members[i].Name, err)
			}
			if strings.TrimSpace(version) == images.NextVersion {
				running++
			}
		}
		if int64(len(members)) != want || running != next {
			return fmt.Errorf("of %d members, %d run the next version", len(members), running)
		}
		return nil
	})
	return members
}

// wantKeptAt is settlesAt, and fails the test unless the members are the same pods as before.
func (p *pool) wantKeptAt(before []corev1.Pod, next int) []corev1.Pod {
	p.t.Helper()
	after := p.settlesAt(next)
	p.wantKept(before, after, 0)
	return after
}

// waitsBecause waits until the status says for this generation why pods are not updated.
func (p *pool) waitsBecause(reason string) {
	p.t.Helper()
	eventually(p.t, "the status says "+reason, func() error {
		o, err := p.client.Get(p.t.Context(), group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		waits, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason")
		if generation != o.GetGeneration() || waits != reason {
			return fmt.Errorf("of generation %d it says of generation %d that it waits because of %q", o.GetGeneration(), generation, waits)
		}
		return nil
	})
}

// replacesOne deletes one of the members with an image, and waits until a new identity serves in its place. Then so many
// members run the next version, and all others are the same pods with the same containers as before.
func (p *pool) replacesOne(before []corev1.Pod, of string, next int) {
	p.t.Helper()
	deleted := slices.IndexFunc(before, func(pod corev1.Pod) bool { return imageOf(&pod) == of })
	if deleted < 0 {
		p.t.Fatalf("no member has the image %s", of)
	}
	p.deletes(&before[deleted])
	p.serves(len(before), before[deleted].Name)
	after := p.settlesAt(next)
	for i := range before {
		was := &before[i]
		same := func(is corev1.Pod) bool {
			return is.UID == was.UID && is.Status.ContainerStatuses[0].ContainerID == was.Status.ContainerStatuses[0].ContainerID
		}
		if stays := slices.ContainsFunc(after, same); stays != (i != deleted) {
			p.t.Errorf("is %s the same pod with the same container as before: %t", was.Name, stays)
		}
	}
}

func imageOf(pod *corev1.Pod) string { return pod.Spec.Containers[0].Image }

// wantReplaced fails the test unless exactly the members that had an image were replaced by new identities.
func (p *pool) wantReplaced(before, after []corev1.Pod, of string) {
	p.t.Helper()
	for i := range before {
		was := &before[i]
		same := func(is corev1.Pod) bool { return is.Name == was.Name || is.UID == was.UID }
		if stays := slices.ContainsFunc(after, same); stays != (imageOf(was) != of) {
			p.t.Errorf("%s had the image %s; is it still there: %t", was.Name, imageOf(was), stays)
		}
	}
}

// wantOneMoreAtATime fails the test unless all asked-for members served all the time since that many events, and one more, but
// never two more, existed.
func (p *pool) wantOneMoreAtATime(replicas, since int) {
	p.t.Helper()
	exist, serve, most := map[string]bool{}, map[string]bool{}, 0
	for n, e := range p.history() {
		pod := e.Pod
		if pod == nil {
			continue
		}
		delete(exist, pod.UID)
		delete(serve, pod.UID)
		if !pod.Terminating && !pod.Deleted {
			exist[pod.UID] = true
		}
		if pod.Serving() {
			serve[pod.UID] = true
		}
		if n < since {
			continue
		}
		most = max(most, len(exist))
		if len(serve) < replicas {
			p.t.Errorf("only %d members served: %s", len(serve), e)
		}
	}
	if most != replicas+1 {
		p.t.Errorf("there were up to %d members, %d wanted", most, replicas+1)
	}
}
