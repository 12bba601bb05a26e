package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/integration-tests/bench/standin"
)

// cellsOf returns the cells of one contender, row by row.
func cellsOf(rows []row, name string) []string {
	var all []string
	for _, r := range rows {
		all = append(all, strings.TrimSpace(r.cells[name]+" "+string(r.met)))
	}
	return all
}

func seriesOf(total, sent time.Duration) series {
	return series{{total: total, steps: []step{{sent: sent}}}}
}

func TestLargeRowsUseFloorOfSameTurns(t *testing.T) {
	m := func(factor int) largeResult {
		return largeResult{
			full: []time.Duration{time.Duration(factor) * 2 * time.Second}, read: []time.Duration{time.Second},
			memory: memoryUse{resident: 45 << 10, heap: 20 << 10},
			idle:   idleUse{writes: factor - 1, duration: time.Minute, cpu: 300 * time.Millisecond},
			rollouts: map[string]series{
				floorName:    seriesOf(time.Duration(factor)*time.Second, time.Millisecond),
				lockstepName: seriesOf(3*time.Second, 5*time.Millisecond), "other": seriesOf(8*time.Second, 9*time.Millisecond),
			},
		}
	}
	rows := largeRows(largeSizes{groups: 100, namespaces: 20, rolling: 10, starts: 1}, time.Minute, map[string]largeResult{lockstepName: m(1), "other": m(2)})
	for name, want := range map[string][]string{
		floorName:    {"1.00 s", "yes", "", "yes", "yes", "1.00 s", "1.0 / 1.0 ms"},
		lockstepName: {"2.00 s (2.00)", "45.0 MB yes", "20.0 MB", "0.0 yes", "0.50 % yes", "3.00 s (3.00)", "5.0 / 5.0 ms"},
		"other":      {"4.00 s (4.00)", "45.0 MB yes", "20.0 MB", "1.0 yes", "0.50 % yes", "8.00 s (4.00)", "9.0 / 9.0 ms"},
	} {
		if got := cellsOf(rows, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestStandInRowsCompareWithFewestPods(t *testing.T) {
	at := func(d time.Duration) map[string]standInResult {
		return map[string]standInResult{
			floorName:    {read: time.Second, writes: []time.Duration{time.Millisecond}},
			lockstepName: {read: time.Second, full: 3 * time.Second, memory: memoryUse{resident: 1 << 20}, writes: []time.Duration{d}},
			"silent":     {read: time.Second, memory: memoryUse{resident: 1 << 10}, writes: []time.Duration{d}},
		}
	}
	few, world := at(4*time.Millisecond), standin.World{Groups: 50}
	for sentence, tc := range map[string]struct {
		first map[string]standInResult
		took  time.Duration
		want  string
	}{
		"the first number of pods is compared with no other": {nil, 4 * time.Millisecond, "4.0 / 4.0 ms (4.00)"},
		"the same":    {few, 4 * time.Millisecond, "4.0 / 4.0 ms (4.00) yes"},
		"much slower": {few, 6 * time.Millisecond, "6.0 / 6.0 ms (6.00) no"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := cellsOf(standInRows(world, at(tc.took), tc.first), lockstepName)
			if want := []string{"3.00 s (3.00)", "1024.0 MB no", "", tc.want}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := cellsOf(standInRows(world, few, nil), "silent"); got[0] != "" || got[2] != "" {
		t.Errorf("operator without figures: %q", got)
	}
	if got := cellsOf(standInRows(world, few, nil), floorName); got[0] != "1.00 s" || got[3] != "1.0 / 1.0 ms" {
		t.Errorf("the floor: %q", got)
	}
}

func TestStandInSkipsOperatorsWithProcessPerNamespace(t *testing.T) {
	var output strings.Builder
	b := &bench{progress: &output, settings: settings{others: namedCommands{{"one", "/bin/one {kubeconfig}"}, {"each", "/bin/each {namespace}"}}}}
	var names []string
	for _, r := range b.standInContenders() {
		names = append(names, r.name)
	}
	if !slices.Equal(names, []string{lockstepName, "one"}) || !strings.Contains(output.String(), "each is one process for each namespace") {
		t.Errorf("measured %q, output %q", names, output.String())
	}
}

func TestReadAllEndsAtInitialEventsBookmark(t *testing.T) {
	begin := func(events ...watch.Event) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewFakeWithChanSize(len(events), false)
			for _, e := range events {
				w.Action(e.Type, e.Object)
			}
			w.Stop()
			return w, nil
		}
	}
	pod := watch.Event{Type: watch.Added, Object: &corev1.Pod{}}
	end := watch.Event{Type: watch.Bookmark, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}}
	if err := readInitialEvents(t.Context(), begin(pod, pod, end)); err != nil {
		t.Error(err)
	}
	if err := readInitialEvents(t.Context(), begin(pod, pod)); err == nil {
		t.Error("got no error from a watch that ended before the bookmark")
	}
	refused := errors.New("refused")
	if err := readInitialEvents(t.Context(), func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

func TestNoisyRowsCompareWithFloor(t *testing.T) {
	for sentence, tc := range map[string]struct {
		floor, own time.Duration
		want       verdict
	}{
		"as the floor":              {4 * time.Millisecond, 20 * time.Millisecond, met},
		"much worse than the floor": {2 * time.Millisecond, 50 * time.Millisecond, missed},
	} {
		t.Run(sentence, func(t *testing.T) {
			alone := map[string]series{floorName: seriesOf(time.Second, time.Millisecond), lockstepName: seriesOf(time.Second, 5*time.Millisecond)}
			beside := map[string]series{floorName: seriesOf(time.Second, tc.floor), lockstepName: seriesOf(time.Second, tc.own)}
			rows := noisyRows(300, alone, beside, map[string]float64{lockstepName: 299.7})
			if rows[2].met != tc.want || rows[3].cells[lockstepName] != "300" {
				t.Errorf("got %q and %q", cellsOf(rows, lockstepName), cellsOf(rows, floorName))
			}
		})
	}
}
