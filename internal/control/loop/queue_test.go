package loop

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// name is a key of the tests: the n-th of a namespace.
type name struct {
	namespace string
	n         int
}

func (n name) String() string { return fmt.Sprintf("%s/%d", n.namespace, n.n) }

// newQueue returns a queue with more workers than any test has keys.
func newQueue() *fair[name] { return newQueueFor(1 << 30) }

func newQueueFor(workers int) *fair[name] {
	return newFair(func(n name) string { return n.namespace }, workers, nil)
}

// serve takes a key and finishes it at once.
func serve(q *fair[name]) name {
	k := q.Pop()
	q.finished(k)
	return k
}

func TestNamespacesTakeTurns(t *testing.T) {
	q := newQueue()
	for _, k := range []name{{"a", 1}, {"a", 2}, {"a", 3}, {"b", 1}, {"c", 1}, {"c", 2}} {
		q.Push(k)
	}
	var got []string
	for q.Len() > 0 {
		got = append(got, serve(q).String())
		if len(got) == 2 {
			q.Push(name{"d", 1}) // new namespaces queue behind waiting ones
		}
	}
	want := []string{"a/1", "b/1", "c/1", "a/2", "d/1", "c/2", "a/3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestManyKeysDelayASingleOneByOneTurn(t *testing.T) {
	q := newQueue()
	for n := range 1000 {
		q.Push(name{"busy", n})
	}
	serve(q)
	q.Push(name{"quiet", 0})
	for turn := 1; ; turn++ {
		if serve(q).namespace == "quiet" {
			return
		}
		if turn > 1 {
			t.Fatalf("still not served after %d others", turn)
		}
	}
}

// For any sequence of calls: no key is lost or added, the keys of a namespace keep their order,
// and no namespace is served twice while another namespace waits for its turn.
func TestQueueIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		next, waiting := map[string]int{}, map[string][]name{}
		passedBy := map[string]map[string]int{} // how often others were served while one waited
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if q.Len() == 0 || rapid.Bool().Draw(t, "push") {
				k := name{namespace: rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "namespace")}
				k.n = next[k.namespace]
				next[k.namespace]++
				if len(waiting[k.namespace]) == 0 {
					passedBy[k.namespace] = map[string]int{}
				}
				waiting[k.namespace] = append(waiting[k.namespace], k)
				q.Push(k)
			} else {
				k := serve(q)
				mine := waiting[k.namespace]
				if len(mine) == 0 || mine[0] != k {
					t.Fatalf("got %v, want the first of %v", k, mine)
				}
				waiting[k.namespace] = mine[1:]
				passedBy[k.namespace] = map[string]int{}
				for other, keys := range waiting {
					if other == k.namespace || len(keys) == 0 {
						continue
					}
					passedBy[other][k.namespace]++
					if n := passedBy[other][k.namespace]; n > 1 {
						t.Fatalf("%q was served %d times while %q waited", k.namespace, n, other)
					}
				}
			}
			total, lanes := 0, 0
			for _, keys := range waiting {
				total += len(keys)
				lanes += min(len(keys), 1)
			}
			if q.Len() != total || len(q.lanes) != lanes || (q.last == nil) != (total == 0) {
				t.Fatalf("the queue knows %d keys in %d lanes, want %d in %d", q.Len(), len(q.lanes), total, lanes)
			}
		}
	})
}

func TestServedNamespaceUsesNoMemory(t *testing.T) {
	q := newQueue()
	for n := range 100 {
		q.Push(name{fmt.Sprint(n), 0})
	}
	for q.Len() > 0 {
		serve(q)
	}
	if len(q.lanes) != 0 || q.last != nil || len(q.working) != 0 {
		t.Errorf("%d lanes remain, last %v, workers %v", len(q.lanes), q.last, q.working)
	}
}

func TestServedKeyUsesNoMemory(t *testing.T) {
	q := newQueue()
	q.Push(name{"a", 1})
	q.Push(name{"a", 2})
	array := q.lanes["a"].keys
	q.Pop()
	if array[0].key != (name{}) {
		t.Errorf("the queue still holds %v", array[0])
	}
}

func TestLaneThatNeverEmptiesHasConstantMemory(t *testing.T) {
	q := newQueue()
	q.Push(name{"a", 0})
	for n := range 100_000 {
		q.Push(name{"a", n})
		serve(q)
	}
	if got := cap(q.lanes["a"].keys); got > 16 {
		t.Errorf("room for %d keys where one waits", got)
	}
}

func BenchmarkPushAndPop(b *testing.B) {
	for _, namespaces := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("%d namespaces", namespaces), func(b *testing.B) {
			q := newQueue()
			names := make([]string, namespaces)
			for n := range names {
				names[n] = fmt.Sprint(n)
				q.Push(name{names[n], 0})
			}
			for i := 0; b.Loop(); i++ {
				q.Push(name{names[i%namespaces], i})
				serve(q)
			}
		})
	}
}

func TestLastFreeWorkerIsReservedForANamespaceWithoutOne(t *testing.T) {
	q := newQueueFor(3)
	for n := range 10 {
		q.Push(name{"busy", n})
	}
	first := q.Pop()
	q.Pop()
	if got := q.Len(); got != 0 {
		t.Fatalf("%d keys of the busy namespace may take the last worker", got)
	}
	if got := q.count(); got != 8 {
		t.Errorf("%d keys wait, want 8", got)
	}
	q.Push(name{"quiet", 0})
	if q.Len() == 0 {
		t.Fatal("the quiet namespace may not take the last worker")
	}
	if got := q.Pop(); got != (name{"quiet", 0}) {
		t.Errorf("got %v", got)
	}
	q.finished(name{"quiet", 0})
	q.finished(first)
	if got := q.Pop(); got != (name{"busy", 2}) {
		t.Errorf("with two workers free got %v, want the next in turn", got)
	}
}

func TestSkippedNamespaceKeepsItsTurn(t *testing.T) {
	q := newQueueFor(10)
	q.Push(name{"busy", 0})
	busy := q.Pop()
	for _, k := range []name{{"busy", 1}, {"a", 0}, {"b", 0}} {
		q.Push(k)
	}
	a := q.Pop()
	if a != (name{"a", 0}) {
		t.Errorf("got %v, want the first that has no worker", a)
	}
	q.finished(a)
	q.finished(busy)
	q.Push(name{"a", 1})
	for _, want := range []name{{"busy", 1}, {"b", 0}, {"a", 1}} {
		if got := serve(q); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// For any sequence of calls: while a worker is free, no key waits whose namespace has no worker. A
// namespace with a worker gets neither the last worker nor one before such a namespace. Nothing else
// keeps a worker idle.
func TestNoNamespaceUsesAllWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 5).Draw(t, "workers")
		q := newQueueFor(workers)
		waiting, working := map[string][]name{}, map[string]int{}
		var inHand []name
		for n := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch {
			case len(inHand) > 0 && rapid.Bool().Draw(t, "finish"):
				i := rapid.IntRange(0, len(inHand)-1).Draw(t, "which")
				q.finished(inHand[i])
				working[inHand[i].namespace]--
				inHand = append(inHand[:i], inHand[i+1:]...)
			case rapid.IntRange(0, 2).Draw(t, "push") > 0:
				k := name{rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "namespace"), n}
				waiting[k.namespace] = append(waiting[k.namespace], k)
				q.Push(k)
			case len(inHand) < workers && q.Len() > 0:
				k := q.Pop()
				if waiting[k.namespace][0] != k {
					t.Fatalf("got %v, want the first of %v", k, waiting[k.namespace])
				}
				if working[k.namespace] > 0 {
					if len(inHand) == workers-1 {
						t.Fatalf("%v took the last of %d workers next to %d of its namespace", k, workers, working[k.namespace])
					}
					for other, keys := range waiting {
						if len(keys) > 0 && working[other] == 0 {
							t.Fatalf("%v went before %q, which has no worker", k, other)
						}
					}
				}
				waiting[k.namespace] = waiting[k.namespace][1:]
				working[k.namespace]++
				inHand = append(inHand, k)
			}
			total, eligible := 0, false
			for namespace, keys := range waiting {
				total += len(keys)
				eligible = eligible || len(keys) > 0 && (working[namespace] == 0 || len(inHand) < workers-1)
			}
			if len(inHand) < workers && (q.Len() > 0) != eligible {
				t.Fatalf("something may be served: %t, want %t, with %v in hand and %v waiting", q.Len() > 0, eligible, inHand, waiting)
			}
			if q.count() != total {
				t.Fatalf("the queue counts %d keys, want %d", q.count(), total)
			}
		}
		for _, k := range inHand {
			q.finished(k)
		}
		if len(q.working) != 0 || q.busy != 0 {
			t.Errorf("no worker is busy, and the queue knows of %v, %d", q.working, q.busy)
		}
	})
}

func TestWaitedIsCalledWithTheWaitOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notified := map[string]time.Duration{}
		q := newFair(func(n name) string { return n.namespace }, 9, func(namespace string, took time.Duration) { notified[namespace] = took })
		q.Push(name{"a", 1})
		time.Sleep(3 * time.Second)
		q.Push(name{"b", 1})
		time.Sleep(time.Second)
		q.Pop()
		q.Pop()
		if notified["a"] != 4*time.Second || notified["b"] != time.Second {
			t.Errorf("notified %v", notified)
		}
	})
}
