package report

import (
	"testing"
	"testing/synctest"
	"time"
)

// tell counts how many of so many Events a namespace may write.
func (r *rations) tell(namespace string, events int) int {
	told := 0
	for range events {
		if r.take(namespace) {
			told++
		}
	}
	return told
}

func TestANamespaceTellsSoMuchAtOnceAndThenSoMuchASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRations()
		if told := r.tell("team", 5000); told != namespaceAtOnce {
			t.Errorf("%d Events at once, want %d", told, namespaceAtOnce)
		}
		time.Sleep(10 * time.Second)
		if told := r.tell("team", 5000); told != 10*perNamespaceSecond {
			t.Errorf("%d Events after ten seconds, want %d", told, 10*perNamespaceSecond)
		}
	})
}

func TestWhoeverTellsLittleIsHeardBesideManyWhoTellMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, much := range []int{1, 5, 10, 500} {
			r := newRations()
			for second := range 1800 {
				for _, noisy := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v"} {
					r.tell(noisy, much)
				}
				if second%30 == 0 && r.tell("quiet", 1) != 1 {
					t.Fatalf("an Event of a quiet namespace is left out in second %d beside some with %d a second", second, much)
				}
				time.Sleep(time.Second)
			}
		}
	})
}

// client-go keeps an Event for up to twelve minutes.
func TestAllTogetherTellNoMoreThanCanBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, told := newRations(), 0
		for range 12 * 60 {
			for _, noisy := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				told += r.tell(noisy, 100)
			}
			time.Sleep(time.Second)
		}
		if most := atOnce + 12*60*perSecond; told > most {
			t.Errorf("%d Events in twelve minutes, want at most %d", told, most)
		}
	})
}

func TestWhoTellsNothingAnyMoreIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRations()
		r.tell("gone", 1000)
		time.Sleep(time.Hour)
		r.tell("here", 1)
		if len(r.namespaces) != 1 {
			t.Errorf("%d namespaces are remembered, want the one that tells something", len(r.namespaces))
		}
	})
}
