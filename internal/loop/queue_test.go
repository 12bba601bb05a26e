package loop

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// name is a key of the tests: the n-th of a namespace.
type name struct {
	namespace string
	n         int
}

func (n name) String() string { return fmt.Sprintf("%s/%d", n.namespace, n.n) }

func newQueue() *fair[name] { return newFair(func(n name) string { return n.namespace }) }

func TestNamespacesTakeTurns(t *testing.T) {
	q := newQueue()
	for _, k := range []name{{"a", 1}, {"a", 2}, {"a", 3}, {"b", 1}, {"c", 1}, {"c", 2}} {
		q.Push(k)
	}
	var got []string
	for q.Len() > 0 {
		got = append(got, q.Pop().String())
		if len(got) == 2 {
			q.Push(name{"d", 1}) // newcomers queue behind those who wait
		}
	}
	want := []string{"a/1", "b/1", "c/1", "a/2", "d/1", "c/2", "a/3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAThousandKeysDelayASingleOneByOneTurn(t *testing.T) {
	q := newQueue()
	for n := range 1000 {
		q.Push(name{"busy", n})
	}
	q.Pop()
	q.Push(name{"quiet", 0})
	for turn := 1; ; turn++ {
		if q.Pop().namespace == "quiet" {
			return
		}
		if turn > 1 {
			t.Fatalf("still not served after %d others", turn)
		}
	}
}

// Whatever comes and goes: nothing is lost or invented, a namespace's keys stay
// in order, and nobody is served twice while somebody else waits for his turn.
func TestTheQueueIsFairToEverybody(t *testing.T) {
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
				k := q.Pop()
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

func TestAServedNamespaceLeavesNothingBehind(t *testing.T) {
	q := newQueue()
	for n := range 100 {
		q.Push(name{fmt.Sprint(n), 0})
	}
	for q.Len() > 0 {
		q.Pop()
	}
	if len(q.lanes) != 0 || q.last != nil {
		t.Errorf("%d lanes are left, last %v", len(q.lanes), q.last)
	}
}

func TestAServedKeyIsLetGo(t *testing.T) {
	q := newQueue()
	q.Push(name{"a", 1})
	q.Push(name{"a", 2})
	array := q.lanes["a"].keys
	q.Pop()
	if array[0] != (name{}) {
		t.Errorf("the queue still holds %v", array[0])
	}
}

func TestALaneThatNeverEmptiesDoesNotGrow(t *testing.T) {
	q := newQueue()
	q.Push(name{"a", 0})
	for n := range 100_000 {
		q.Push(name{"a", n})
		q.Pop()
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
				q.Pop()
			}
		})
	}
}
