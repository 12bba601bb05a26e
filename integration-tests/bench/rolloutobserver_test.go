package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// newPodEvent parses "added ready g-zone-a-0@1": type, state, pod, revision.
func newPodEvent(t *testing.T, g *group, ms int, text string) podEvent {
	t.Helper()
	words := strings.Fields(text)
	name, revision, _ := strings.Cut(words[2], "@")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name, Labels: map[string]string{groupLabel: g.name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "image:" + revision}}},
	}
	kinds := map[string]watch.EventType{"added": watch.Added, "changed": watch.Modified, "deleted": watch.Deleted}
	switch words[1] {
	case "ready":
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	case "leaving":
		pod.DeletionTimestamp = &metav1.Time{Time: start}
	}
	return podEvent{kinds[words[0]], pod, start.Add(time.Duration(ms) * time.Millisecond)}
}

// replacementEvents are the events when a pod is disrupted and replaced with revision 1.
func replacementEvents(pod, from string) []string {
	return []string{
		"changed leaving " + pod + "@" + from, "deleted leaving " + pod + "@" + from,
		"added starting " + pod + "@1", "changed ready " + pod + "@1",
	}
}

// observeAll passes the events of a rollout to an observer, ten milliseconds apart.
func observeAll(t *testing.T, sequences ...[]string) (*rolloutObserver, *groupRollout) {
	t.Helper()
	g := &group{namespace: "n", name: "g", zones: 2, pods: 2, image: 1}
	w := newRolloutObserver([]*group{g})
	ms := 0
	for _, name := range g.podNames() {
		w.observe(newPodEvent(t, g, ms, "added ready "+name+"@0"))
	}
	for _, sequence := range sequences {
		for _, line := range sequence {
			ms += 10
			w.observe(newPodEvent(t, g, ms, line))
		}
	}
	return w, w.groups[g.key()]
}

func TestRolloutFinishesWhenAllPodsAreUpdatedAndReady(t *testing.T) {
	three := [][]string{replacementEvents("g-zone-a-0", "0"), replacementEvents("g-zone-a-1", "0"), replacementEvents("g-zone-b-0", "0")}
	if w, _ := observeAll(t, three...); w.unfinished != 1 {
		t.Errorf("finished with one pod to go")
	}
	w, h := observeAll(t, append(three, replacementEvents("g-zone-b-1", "0"))...)
	if w.unfinished != 0 || h.finished != start.Add(160*time.Millisecond) {
		t.Errorf("%d groups remain, finished %s", w.unfinished, h.finished)
	}
}

func TestStepsRunFromReadyToNextDelete(t *testing.T) {
	_, h := observeAll(t, replacementEvents("g-zone-a-0", "0"), replacementEvents("g-zone-a-1", "0"), replacementEvents("g-zone-b-0", "0"), replacementEvents("g-zone-b-1", "0"))
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	// The pods are ready at 40, 80 and 120; the intent follows 3 ms later, the delete 5 ms later.
	var requests []request
	for i, pod := range h.group.podNames() {
		requests = append(requests,
			request{at: at(40*i + 3), verb: "update", resource: "leases", code: 200},
			request{at: at(40*i + 5), verb: "delete", resource: "pods", name: pod, code: 200})
	}
	steps := h.steps(h.deletions(requests), requests)
	want := []step{
		{seen: 10, sent: 5, first: 3}, {seen: 10, sent: 5, first: 3, zoneChange: true}, {seen: 10, sent: 5, first: 3},
	}
	for i := range want {
		want[i].seen *= time.Millisecond
		want[i].sent *= time.Millisecond
		want[i].first *= time.Millisecond
	}
	if len(steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(steps), len(want))
	}
	for i := range want {
		if steps[i] != want[i] {
			t.Errorf("step %d is %+v, want %+v", i, steps[i], want[i])
		}
	}
}

func TestRetryProtocolErrorRetriesNoOtherError(t *testing.T) {
	full, wrong := errors.New("stream error: stream ID 1393; PROTOCOL_ERROR; received from peer"), errors.New("forbidden")
	for sentence, tc := range map[string]struct {
		answers   []error
		requested int
		want      error
	}{
		"there is room":      {[]error{nil}, 1, nil},
		"there is room soon": {[]error{full, full, nil}, 3, nil},
		"another cause":      {[]error{full, wrong, nil}, 2, wrong},
	} {
		t.Run(sentence, func(t *testing.T) {
			requested := 0
			_, err := retryProtocolError(t.Context(), func() (int, error) {
				requested++
				return 0, tc.answers[requested-1]
			})
			if !errors.Is(err, tc.want) || requested != tc.requested {
				t.Errorf("%d requests, got %v; want %d, %v", requested, err, tc.requested, tc.want)
			}
		})
	}
}

func TestRolloutViolations(t *testing.T) {
	for sentence, c := range map[string]struct {
		wrong     string
		sent      map[int]string // deletes of the measured contender, by millisecond
		sequences [][]string
	}{
		"a pod is replaced twice": {
			wrong:     "deleted g-zone-a-0, which was updated",
			sent:      map[int]string{5: "g-zone-a-0", 45: "g-zone-a-0"},
			sequences: [][]string{replacementEvents("g-zone-a-0", "0"), replacementEvents("g-zone-a-0", "1")},
		},
		"another client deletes the new pod": {
			sent:      map[int]string{5: "g-zone-a-0"},
			sequences: [][]string{replacementEvents("g-zone-a-0", "0"), replacementEvents("g-zone-a-0", "1")},
		},
		"pods of two zones are down": {
			wrong:     "deleted g-zone-b-1 while g-zone-a-0 was down",
			sent:      map[int]string{5: "g-zone-a-0", 15: "g-zone-b-1"},
			sequences: [][]string{{"changed leaving g-zone-a-0@0", "changed leaving g-zone-b-1@0"}},
		},
		"the pod of the other zone broke by itself": {
			sent:      map[int]string{15: "g-zone-b-1"},
			sequences: [][]string{{"changed starting g-zone-a-0@0", "changed leaving g-zone-b-1@0"}},
		},
		"the pod of the other zone broke again after its replacement": {
			sent:      map[int]string{5: "g-zone-a-0", 65: "g-zone-b-1"},
			sequences: [][]string{replacementEvents("g-zone-a-0", "0"), {"changed leaving g-zone-a-0@1"}, {"deleted leaving g-zone-a-0@1", "changed leaving g-zone-b-1@0"}},
		},
		"two pods of one zone are down": {
			sent:      map[int]string{5: "g-zone-a-0", 15: "g-zone-a-1"},
			sequences: [][]string{{"changed leaving g-zone-a-0@0", "changed leaving g-zone-a-1@0"}},
		},
		"a pod that is down is repaired": {
			sent:      map[int]string{5: "g-zone-a-0", 25: "g-zone-b-0"},
			sequences: [][]string{{"changed leaving g-zone-a-0@0", "changed starting g-zone-b-0@0", "changed leaving g-zone-b-0@0"}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, h := observeAll(t, c.sequences...)
			var writes []request
			for ms, pod := range c.sent {
				writes = append(writes, request{at: start.Add(time.Duration(ms) * time.Millisecond), verb: "delete", resource: "pods", name: pod, code: 200})
			}
			slices.SortFunc(writes, func(a, b request) int { return a.at.Compare(b.at) })
			deletions := h.deletions(writes)
			if len(deletions) != len(c.sent) {
				t.Errorf("%d deletions of %d deletes", len(deletions), len(c.sent))
			}
			if got := violation(deletions); got != c.wrong {
				t.Errorf("got %q, want %q", got, c.wrong)
			}
		})
	}
}
