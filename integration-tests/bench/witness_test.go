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

// told makes a sighting of "added ready g-zone-a-0@1": what, state, pod, revision.
func told(t *testing.T, g *group, ms int, text string) sighting {
	t.Helper()
	words := strings.Fields(text)
	name, revision, _ := strings.Cut(words[2], "@")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name, Labels: map[string]string{groupLabel: g.name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "image:" + revision}}},
	}
	kinds := map[string]watch.EventType{"added": watch.Added, "changed": watch.Modified, "gone": watch.Deleted}
	switch words[1] {
	case "ready":
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	case "leaving":
		pod.DeletionTimestamp = &metav1.Time{Time: start}
	}
	return sighting{kinds[words[0]], pod, start.Add(time.Duration(ms) * time.Millisecond)}
}

// replacement is what a watch tells when a pod is taken down and comes back as @1.
func replacement(pod, from string) []string {
	return []string{
		"changed leaving " + pod + "@" + from, "gone leaving " + pod + "@" + from,
		"added starting " + pod + "@1", "changed ready " + pod + "@1",
	}
}

// play lets a witness see a rollout, ten milliseconds between sightings.
func play(t *testing.T, stories ...[]string) (*witness, *history) {
	t.Helper()
	g := &group{namespace: "n", name: "g", zones: 2, pods: 2, image: 1}
	w := newWitness([]*group{g})
	ms := 0
	for _, name := range g.podNames() {
		w.see(told(t, g, ms, "added ready "+name+"@0"))
	}
	for _, story := range stories {
		for _, line := range story {
			ms += 10
			w.see(told(t, g, ms, line))
		}
	}
	return w, w.groups[g.key()]
}

func TestARolloutIsFinishedWhenEveryPodIsNewAndReady(t *testing.T) {
	three := [][]string{replacement("g-zone-a-0", "0"), replacement("g-zone-a-1", "0"), replacement("g-zone-b-0", "0")}
	if w, _ := play(t, three...); w.left != 1 {
		t.Errorf("finished with one pod to go")
	}
	w, h := play(t, append(three, replacement("g-zone-b-1", "0"))...)
	if w.left != 0 || h.finished != start.Add(160*time.Millisecond) {
		t.Errorf("%d groups are left, finished %s", w.left, h.finished)
	}
}

func TestStepsGoFromReadyToTheNextDelete(t *testing.T) {
	_, h := play(t, replacement("g-zone-a-0", "0"), replacement("g-zone-a-1", "0"), replacement("g-zone-b-0", "0"), replacement("g-zone-b-1", "0"))
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	// Ready at 40, 80, 120; a note 3 ms after each, the delete 5 ms after.
	var requests []request
	for i, pod := range h.group.podNames() {
		requests = append(requests,
			request{at: at(40*i + 3), verb: "update", resource: "leases", code: 200},
			request{at: at(40*i + 5), verb: "delete", resource: "pods", name: pod, code: 200})
	}
	steps := h.steps(h.deeds(requests), requests)
	want := []step{
		{seen: 10, sent: 5, first: 3}, {seen: 10, sent: 5, first: 3, handOver: true}, {seen: 10, sent: 5, first: 3},
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

func TestOnlyAConnectionWithoutRoomIsAskedAgain(t *testing.T) {
	full, wrong := errors.New("stream error: stream ID 1393; PROTOCOL_ERROR; received from peer"), errors.New("forbidden")
	for sentence, tc := range map[string]struct {
		answers []error
		asked   int
		want    error
	}{
		"there is room":                    {[]error{nil}, 1, nil},
		"there is room soon":               {[]error{full, full, nil}, 3, nil},
		"something else stands in the way": {[]error{full, wrong, nil}, 2, wrong},
	} {
		t.Run(sentence, func(t *testing.T) {
			asked := 0
			_, err := whereThereIsRoom(t.Context(), func() (int, error) {
				asked++
				return 0, tc.answers[asked-1]
			})
			if !errors.Is(err, tc.want) || asked != tc.asked {
				t.Errorf("asked %d times, got %v; want %d times, %v", asked, err, tc.asked, tc.want)
			}
		})
	}
}

func TestWhatNoRolloutMayDoIsSeen(t *testing.T) {
	for sentence, c := range map[string]struct {
		wrong   string
		sent    map[int]string // deletes of the one who is measured, by millisecond
		stories [][]string
	}{
		"a pod is replaced twice": {
			wrong:   "took g-zone-a-0 down, which was renewed",
			sent:    map[int]string{5: "g-zone-a-0", 45: "g-zone-a-0"},
			stories: [][]string{replacement("g-zone-a-0", "0"), replacement("g-zone-a-0", "1")},
		},
		"somebody else took the new pod down": {
			sent:    map[int]string{5: "g-zone-a-0"},
			stories: [][]string{replacement("g-zone-a-0", "0"), replacement("g-zone-a-0", "1")},
		},
		"pods of two zones are down": {
			wrong:   "took g-zone-b-1 down while g-zone-a-0 was down",
			sent:    map[int]string{5: "g-zone-a-0", 15: "g-zone-b-1"},
			stories: [][]string{{"changed leaving g-zone-a-0@0", "changed leaving g-zone-b-1@0"}},
		},
		"the pod of the other zone broke by itself": {
			sent:    map[int]string{15: "g-zone-b-1"},
			stories: [][]string{{"changed starting g-zone-a-0@0", "changed leaving g-zone-b-1@0"}},
		},
		"the pod of the other zone broke again after its replacement": {
			sent:    map[int]string{5: "g-zone-a-0", 65: "g-zone-b-1"},
			stories: [][]string{replacement("g-zone-a-0", "0"), {"changed leaving g-zone-a-0@1"}, {"gone leaving g-zone-a-0@1", "changed leaving g-zone-b-1@0"}},
		},
		"two pods of one zone are down": {
			sent:    map[int]string{5: "g-zone-a-0", 15: "g-zone-a-1"},
			stories: [][]string{{"changed leaving g-zone-a-0@0", "changed leaving g-zone-a-1@0"}},
		},
		"a pod that is down is repaired": {
			sent:    map[int]string{5: "g-zone-a-0", 25: "g-zone-b-0"},
			stories: [][]string{{"changed leaving g-zone-a-0@0", "changed starting g-zone-b-0@0", "changed leaving g-zone-b-0@0"}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, h := play(t, c.stories...)
			var writes []request
			for ms, pod := range c.sent {
				writes = append(writes, request{at: start.Add(time.Duration(ms) * time.Millisecond), verb: "delete", resource: "pods", name: pod, code: 200})
			}
			slices.SortFunc(writes, func(a, b request) int { return a.at.Compare(b.at) })
			deeds := h.deeds(writes)
			if len(deeds) != len(c.sent) {
				t.Errorf("%d deeds of %d deletes", len(deeds), len(c.sent))
			}
			if got := judge(deeds); got != c.wrong {
				t.Errorf("got %q, want %q", got, c.wrong)
			}
		})
	}
}
