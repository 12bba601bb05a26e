package main

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// poolEvent returns an event of a pod of a pool, whose containers run an image.
func poolEvent(kind watch.EventType, p *pool, name, uid, runs string, change func(*corev1.Pod)) podEvent {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, Spec: p.spec()}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Image: runs}}
	if change != nil {
		change(pod)
	}
	return podEvent{kind, pod, time.Now()}
}

func TestPoolViewFollowsPods(t *testing.T) {
	p := &pool{image: 1}
	v := newPoolView()
	v.observe(poolEvent(watch.Added, p, "a", "1", "image:1", nil))
	v.observe(poolEvent(watch.Added, p, "b", "2", "image:0", nil))
	if !v.ready(2) || v.updated(p, 2) || v.count(func(pod poolPod) bool { return pod.isUpdated(p) }) != 1 {
		t.Errorf("got %+v", v.pods)
	}
	v.observe(poolEvent(watch.Modified, p, "b", "2", "image:1", nil))
	if !v.updated(p, 2) || v.updated(&pool{image: 1, setting: 1}, 2) {
		t.Errorf("after the restart: %+v", v.pods)
	}
	v.observe(poolEvent(watch.Modified, p, "a", "1", "image:1", func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }))
	if _, ended := v.ended["1"]; !ended || v.ready(2) || len(v.pods) != 2 {
		t.Errorf("while it terminates: %+v", v.pods)
	}
	v.observe(poolEvent(watch.Deleted, p, "a", "1", "image:1", nil))
	if !v.ready(1) {
		t.Errorf("after the deletion: %+v", v.pods)
	}
	v.observe(poolEvent(watch.Added, p, "a", "3", "image:1", nil))
	v.observe(poolEvent(watch.Deleted, p, "a", "1", "image:1", nil)) // of its predecessor
	if !v.ready(2) {
		t.Errorf("after an event of the predecessor: %+v", v.pods)
	}
}

func TestPoolLoopKeepsPlacesOfPodsOnTheirWay(t *testing.T) {
	p := &pool{}
	l := &poolLoop{view: newPoolView(), creating: map[string]bool{"c": true}, deleting: map[string]bool{"b": true}}
	l.observe(poolEvent(watch.Added, p, "a", "1", "image:0", nil))
	l.observe(poolEvent(watch.Added, p, "b", "2", "image:0", nil))
	if got := l.active(); got != 2 {
		t.Errorf("with one that is created and one that is deleted: %d active, want 2", got)
	}
	l.updating = "a"
	l.observe(poolEvent(watch.Deleted, p, "a", "1", "image:0", nil))
	if got := l.active(); got != 2 {
		t.Errorf("while a pod is replaced under its name: %d active, want 2", got)
	}
	l.observe(poolEvent(watch.Added, p, "c", "3", "image:0", nil))
	if got := l.active(); got != 2 || len(l.creating) > 0 {
		t.Errorf("once it was created: %d active, %v on their way", got, l.creating)
	}
}

func TestBirthRowsCompareWithFloorAndStatefulSet(t *testing.T) {
	of := func(total time.Duration, creates int) poolSeries {
		r := poolRun{rollout: rollout{total: total, cpu: 20 * ms}}
		for range creates {
			r.writes = append(r.writes, request{verb: "create", resource: "pods", code: 201}, request{verb: "create", resource: "persistentvolumeclaims", code: 201}, request{verb: "patch", resource: "pods", code: 200})
		}
		r.writes = append(r.writes, request{verb: "patch", resource: "statefulclusters/status", code: 200}, request{verb: "create", resource: "pods", code: 409})
		return poolSeries{r}
	}
	for sentence, want := range map[string]struct {
		lockstep, set time.Duration
		creates       int
		met           []verdict
	}{
		"within both":                 {12 * time.Second, 13 * time.Second, 10, []verdict{met, met}},
		"slower than the floor":       {14 * time.Second, 15 * time.Second, 10, []verdict{missed, met}},
		"slower than the StatefulSet": {12 * time.Second, 11 * time.Second, 10, []verdict{missed, met}},
		"with a pod too many":         {12 * time.Second, 13 * time.Second, 11, []verdict{met, missed}},
	} {
		t.Run(sentence, func(t *testing.T) {
			rows := birthRows(10, map[string]poolSeries{floorName: of(10*time.Second, 10), lockstepName: of(want.lockstep, want.creates), statefulSetName: of(want.set, 10)})
			if rows[0].met != want.met[0] || rows[1].met != want.met[1] || rows[2].cells[lockstepName] != "1, at most 1" || rows[3].cells[lockstepName] != "2.0 ms" {
				t.Errorf("got %+v", rows)
			}
		})
	}
}

func TestShrinkRowsCheckTheDeletes(t *testing.T) {
	of := func(deletes ...int) poolSeries {
		var s poolSeries
		for _, n := range deletes {
			r := poolRun{rollout: rollout{total: time.Second}}
			for range n {
				r.writes = append(r.writes, request{verb: "delete", resource: "pods", code: 200})
			}
			s = append(s, r)
		}
		return s
	}
	for want, own := range map[verdict]poolSeries{met: of(8, 8), missed: of(8, 9)} {
		if r := shrinkRows(10, 2, map[string]poolSeries{floorName: of(8, 8), lockstepName: own})[1]; r.met != want || r.goal != "8" {
			t.Errorf("%s: got %+v", want, r)
		}
	}
}

func TestHoleLastsFromEndToCreate(t *testing.T) {
	at := time.Now()
	r := poolRun{rollout: rollout{began: at, total: 90 * ms}, finished: newPoolView()}
	r.finished.ended["1"] = at.Add(20 * ms)
	if _, err := r.hole("1"); err == nil {
		t.Error("without a create: got no error")
	}
	r.writes = []request{
		{at: at.Add(22 * ms), verb: "create", resource: "pods", code: 409},
		{at: at.Add(25 * ms), verb: "create", resource: "pods", code: 201},
		{at: at.Add(40 * ms), verb: "create", resource: "pods", code: 201},
	}
	if got, err := r.hole("1"); err != nil || got != (hole{sent: 5 * ms, whole: 70 * ms}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHoleRowsNameMissedGoal(t *testing.T) {
	of := func(sent ...time.Duration) map[string][]hole {
		var holes []hole
		for _, d := range sent {
			holes = append(holes, hole{sent: d})
		}
		return map[string][]hole{floorName: holes[:1], lockstepName: holes}
	}
	for want, sent := range map[verdict][]time.Duration{met: {5 * ms, 10 * ms, 50 * ms}, "no (p50)": {5 * ms, 11 * ms, 50 * ms}, "no (p99)": {5 * ms, 10 * ms, 51 * ms}} {
		if r := holeRows(of(sent...))[0]; r.met != want || r.goal != "≤ 10 / 50 ms" {
			t.Errorf("%v: %q of %s, want %q", sent, r.met, r.goal, want)
		}
	}
	for want, median := range map[verdict]time.Duration{met: 10 * ms, "no (p50)": 11 * ms} {
		if r := holesBesideRow(1000, of(8*ms), of(median)); r.met != want || r.goal != "≤ 1.25 × alone / 50 ms" {
			t.Errorf("beside others %s: %q of %s, want %q", median, r.met, r.goal, want)
		}
	}
}

func TestUpdateRowsCompareWithFloor(t *testing.T) {
	of := func(total time.Duration) poolSeries {
		return poolSeries{{rollout: rollout{total: total, cpu: 30 * ms}, writes: []request{
			{verb: "delete", resource: "pods", code: 200}, {verb: "create", resource: "pods", code: 201}, {verb: "patch", resource: "pods", code: 409},
		}}}
	}
	for want, total := range map[verdict]time.Duration{met: 16 * time.Second, missed: 17 * time.Second} {
		rows := updateRows("pool handover", "30 pods", map[string]poolSeries{floorName: of(10 * time.Second), lockstepName: of(total)})
		if rows[0].met != want || rows[1].cells[lockstepName] != "30.0 ms" || rows[2].cells[lockstepName] != "2, 1" {
			t.Errorf("%s: got %+v", total, rows)
		}
	}
}

func TestPoolViewCountsPodsThatAreDown(t *testing.T) {
	p := &pool{}
	v := newPoolView()
	v.observe(poolEvent(watch.Added, p, "a", "1", "image:0", nil))
	v.observe(poolEvent(watch.Added, p, "b", "2", "image:0", nil))
	if got := v.down(); got != 0 {
		t.Errorf("at rest: %d", got)
	}
	v.observe(poolEvent(watch.Modified, p, "a", "1", "image:-1", nil)) // it has to restart
	v.observe(poolEvent(watch.Deleted, p, "b", "2", "image:0", nil))
	if got := v.down(); got != 2 {
		t.Errorf("while one restarts and one is gone: %d", got)
	}
}

func TestPoolMemoryRows(t *testing.T) {
	f := poolFootprint{
		pools: 1000, identities: 1000, nodes: 1000, template: 2048,
		off: memoryUse{40000, 9000}, offWithPools: memoryUse{40100, 9000}, none: memoryUse{42000, 10000},
		withPools: memoryUse{50000, 14000}, withIdentities: memoryUse{55000, 16000}, withNodes: memoryUse{55400, 16100},
	}
	var got []string
	for _, r := range f.rows() {
		got = append(got, r.goal+": "+r.cells[lockstepName]+" "+string(r.met))
	}
	want := []string{
		"+0: 39.2 MB (+0.1 MB) yes", ": 41.0 MB (+2.0 MB) ", "≤ 6.0 KB: 6.00 KB (heap 2.00 KB) yes",
		"≤ 4.0 KB: 5.00 KB (heap 2.00 KB) no", "≤ 0.5 KB: 0.40 KB (heap 0.10 KB) yes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLargePoolRowsCompareWithSmallOne(t *testing.T) {
	of := func(birth time.Duration) []poolCPU { return []poolCPU{{birth: birth, hole: 8 * ms}} }
	for want, birth := range map[verdict]time.Duration{met: 3 * ms, missed: 4 * ms} {
		rows := largePoolRows(200, 2000, map[int][]poolCPU{200: of(2 * ms), 2000: of(birth)})
		if rows[0].met != want || rows[1].cells[lockstepName] != "8.0 ms (1.00)" {
			t.Errorf("%s: got %+v", birth, rows)
		}
	}
}

func TestLongestPauseBetweenWritesForIdentities(t *testing.T) {
	start := time.Now()
	write := func(after time.Duration, verb, resource string, code int) request {
		return request{at: start.Add(after), verb: verb, resource: resource, code: code}
	}
	r := poolRun{writes: []request{
		write(-time.Second, "create", "pods", 201),
		write(time.Second, "update", "leases", 200),
		write(2*time.Second, "create", "pods", 409),
		write(3*time.Second, "create", "persistentvolumeclaims", 201),
		write(8*time.Second, "patch", "pods", 200),
		write(9*time.Second, "create", "pods", 201),
	}}
	if longest, found := r.longestPause(start); !found || longest != 5*time.Second {
		t.Errorf("got %s, %v, want 5s", longest, found)
	}
	if _, found := r.longestPause(start.Add(10 * time.Second)); found {
		t.Error("got a pause after the last write")
	}
}
