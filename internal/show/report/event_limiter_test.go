package report

import (
	"testing"
	"testing/synctest"
	"time"
)

// write returns how many of the given number of Events a namespace may write.
func (l *eventLimiter) write(namespace string, events int) int {
	written := 0
	for range events {
		if l.allow(namespace) {
			written++
		}
	}
	return written
}

func TestANamespaceIsLimitedToABurstAndARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEventLimiter()
		if written := l.write("team", 5000); written != namespaceBurst {
			t.Errorf("%d Events at once, want %d", written, namespaceBurst)
		}
		time.Sleep(10 * time.Second)
		if written := l.write("team", 5000); written != 10*perNamespaceSecond {
			t.Errorf("%d Events after ten seconds, want %d", written, 10*perNamespaceSecond)
		}
	})
}

func TestEventsOfAQuietNamespaceAreWrittenWhileOthersExceedTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, much := range []int{1, 5, 10, 500} {
			l := newEventLimiter()
			for second := range 1800 {
				for _, noisy := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v"} {
					l.write(noisy, much)
				}
				if second%30 == 0 && l.write("quiet", 1) != 1 {
					t.Fatalf("an Event of a quiet namespace is dropped in second %d while others write %d a second", second, much)
				}
				time.Sleep(time.Second)
			}
		}
	})
}

// client-go keeps an Event for up to twelve minutes.
func TestEventsOfAllNamespacesTogetherAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, written := newEventLimiter(), 0
		for range 12 * 60 {
			for _, noisy := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				written += l.write(noisy, 100)
			}
			time.Sleep(time.Second)
		}
		if most := burst + 12*60*perSecond; written > most {
			t.Errorf("%d Events in twelve minutes, want at most %d", written, most)
		}
	})
}

func TestANamespaceWithoutRecentEventsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEventLimiter()
		l.write("gone", 1000)
		time.Sleep(time.Hour)
		l.write("here", 1)
		if len(l.namespaces) != 1 {
			t.Errorf("%d namespaces are remembered, want the one with recent Events", len(l.namespaces))
		}
	})
}
