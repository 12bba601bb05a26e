package podcalls

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// call waits for a slot, keeps it for a while and returns it, or stops waiting.
type call struct {
	Namespace, Pod     int
	After, For, Awaits time.Duration
}

func calls() *rapid.Generator[call] {
	some := func(most int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(0, most), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	}
	return rapid.Custom(func(t *rapid.T) call {
		return call{
			Namespace: rapid.IntRange(0, 5).Draw(t, "namespace"), Pod: rapid.IntRange(0, 5).Draw(t, "pod"),
			After: some(20).Draw(t, "after"), For: some(20).Draw(t, "for"), Awaits: some(100).Draw(t, "awaits"),
		}
	})
}

func TestSlotsKeepTheirLimitsAndAreAllReturned(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		perNamespace, perProcess := rapid.IntRange(1, 5).Draw(r, "per namespace"), rapid.IntRange(1, 12).Draw(r, "per process")
		all := rapid.SliceOfN(calls(), 0, 60).Draw(r, "calls")
		var wrong string
		synctest.Test(t, func(t *testing.T) {
			slots := newSlots(perNamespace, perProcess)
			var mu sync.Mutex
			underway, inNamespace, onPod := 0, map[int]int{}, map[[2]int]int{}
			change := func(c call, by int) {
				mu.Lock()
				defer mu.Unlock()
				underway += by
				inNamespace[c.Namespace] += by
				onPod[[2]int{c.Namespace, c.Pod}] += by
				if underway > perProcess || inNamespace[c.Namespace] > perNamespace || onPod[[2]int{c.Namespace, c.Pod}] > 1 {
					wrong = fmt.Sprintf("%d under way, %d in the namespace, %d on the pod", underway, inNamespace[c.Namespace], onPod[[2]int{c.Namespace, c.Pod}])
				}
			}
			var callers sync.WaitGroup
			for _, c := range all {
				callers.Go(func() {
					time.Sleep(c.After)
					ctx, stop := context.WithTimeout(t.Context(), c.Awaits)
					defer stop()
					namespace, pod := fmt.Sprint(c.Namespace), fmt.Sprint(c.Pod)
					if slots.take(ctx, namespace, pod) != nil {
						return
					}
					change(c, 1)
					time.Sleep(c.For)
					change(c, -1)
					slots.give(namespace, pod)
				})
			}
			callers.Wait()
			if slots.quota.underway != 0 || len(slots.lanes) != 0 {
				wrong = fmt.Sprintf("%d calls in progress and %d lanes remain", slots.quota.underway, len(slots.lanes))
			}
		})
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

func TestAFreeSlotGoesToTheNamespaceWithTheFewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := newSlots(10, 3)
		take := func(namespace, pod string) {
			t.Helper()
			if err := slots.take(t.Context(), namespace, pod); err != nil {
				t.Fatal(err)
			}
		}
		take("busy", "0")
		take("busy", "1")
		take("other", "0")
		var order []string
		var waiting sync.WaitGroup
		for _, key := range [][2]string{{"busy", "2"}, {"busy", "3"}, {"other", "1"}, {"new", "0"}} {
			waiting.Go(func() {
				take(key[0], key[1])
				order = append(order, key[0]+"/"+key[1])
			})
			synctest.Wait() // so that they arrive in this order
		}
		for _, done := range [][2]string{{"busy", "0"}, {"busy", "1"}, {"other", "0"}, {"new", "0"}} {
			slots.give(done[0], done[1])
			synctest.Wait()
		}
		waiting.Wait()
		want := "[new/0 busy/2 other/1 busy/3]"
		if got := fmt.Sprint(order); got != want {
			t.Errorf("slots are given to %s, want %s", got, want)
		}
	})
}

func TestTheLastSlotsAreKeptForNamespacesWithoutOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := newSlots(100, 16) // 2 of them are reserved
		ctx, stop := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for pod := range 50 {
			waiting.Go(func() { _ = slots.take(ctx, "busy", fmt.Sprint(pod)) })
		}
		synctest.Wait()
		if slots.quota.underway != 14 {
			t.Errorf("%d calls of one namespace are under way, want 14", slots.quota.underway)
		}
		if err := slots.take(t.Context(), "new", "0"); err != nil {
			t.Error(err)
		}
		stop()
		waiting.Wait()
	})
}

func TestASlotThatIsGrantedTooLateIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := newSlots(1, 1)
		if err := slots.take(t.Context(), "team", "0"); err != nil {
			t.Fatal(err)
		}
		ctx, lose := context.WithCancel(t.Context())
		taken := make(chan error, 1)
		go func() { taken <- slots.take(ctx, "team", "1") }()
		synctest.Wait()
		lose() // and before take notices that:
		slots.give("team", "0")
		if err := <-taken; err == nil {
			t.Error("it was taken after patience had ended")
		}
		if slots.quota.underway != 0 || len(slots.lanes) != 0 {
			t.Errorf("%d calls in progress and %d lanes remain", slots.quota.underway, len(slots.lanes))
		}
	})
}
