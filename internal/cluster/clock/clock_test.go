package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

func TestAgreeingClockIsUsedUnchanged(t *testing.T) {
	second := time.Second
	for sentence, tc := range map[string]struct {
		sent, received, date time.Duration // from noon
		want                 time.Duration
	}{
		"to the second":                         {0, 0, 0, 0},
		"within the second of the date":         {second * 9 / 10, second * 9 / 10, 0, 0},
		"while an answer takes its time":        {0, 5 * second, 3 * second, 0},
		"a minute slow, by as little as can be": {0, second, 61 * second, 60 * second},
		"a minute fast, by as much as can be":   {60 * second, 61 * second, 0, -61 * second},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := New()
			c.observe(noon.Add(tc.sent), noon.Add(tc.received), noon.Add(tc.date))
			if got := c.Offset(); got != tc.want {
				t.Errorf("off by %v, want %v", got, tc.want)
			}
		})
	}
}

func TestClockDropsAPastDifference(t *testing.T) {
	c := New()
	c.observe(noon, noon, noon.Add(time.Hour))
	c.observe(noon, noon, noon)
	if got := c.Offset(); got != 0 {
		t.Errorf("off by %v", got)
	}
}

func TestClockAdvancesSteadilyAfterAResponse(t *testing.T) {
	for name, tc := range map[string]struct{ fast, want time.Duration }{
		"a server that agrees, at its pace":          {0, 3 * time.Minute},
		"a server that disagrees, as if it ran fast": {time.Hour, time.Hour + 3*time.Minute - 2*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New()
			began := time.Now()
			c.observe(began, began, began.Add(tc.fast))
			time.Sleep(3 * time.Minute)
			if got, want := c.Now(), began.Add(tc.want); !got.Equal(want) {
				t.Errorf("%s: it is %v, want %v", name, got, want)
			}
		})
	}
}

func TestNilClockUsesTheMachineClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]*Clock{"nil": nil, "without an answer": New()} {
			if got := c.Now(); !got.Equal(time.Now()) {
				t.Errorf("%s: it is %v, want %v", name, got, time.Now())
			}
		}
	})
}

func TestClockIsNeverAhead(t *testing.T) {
	for _, pace := range []float64{0.5, 1, 1.65, 2} {
		for _, off := range []time.Duration{-17 * time.Minute, -20 * time.Second, 20 * time.Second} { // some agree for a moment
			c := New()
			for passed := time.Duration(0); passed < time.Minute; passed += 37 * time.Millisecond {
				truth := noon.Add(passed)
				local := noon.Add(off + time.Duration(pace*float64(passed)))
				if passed%(5*37*time.Millisecond) == 0 {
					c.observe(local, local, truth.Truncate(time.Second))
				}
				if slow := truth.Sub(c.last.Load().now(local)); slow < 0 || slow >= time.Second {
					t.Fatalf("off by %v, at a pace of %v it is %v slow after %v", off, pace, slow, passed)
				}
			}
		}
	}
}

// The clocks of two synchronized machines differ by some milliseconds, so they are sometimes in
// different seconds.
func TestSmallDifferenceIsTolerated(t *testing.T) {
	for _, off := range []time.Duration{-tolerance, -10 * time.Millisecond, 0, 5 * time.Millisecond, tolerance} {
		c := New()
		for passed := time.Duration(0); passed < 5*time.Minute; passed += 97 * time.Millisecond {
			local := noon.Add(passed + off)
			c.observe(local, local, noon.Add(passed).Truncate(time.Second))
			if got := c.last.Load().now(local); !got.Equal(local) || c.Offset() != 0 {
				t.Fatalf("off by %v it is corrected by %v after %v", off, got.Sub(local), passed)
			}
		}
	}
}

func TestWrongClockIsTrustedAfterAgreeingForAMinute(t *testing.T) {
	c := New()
	c.observe(noon, noon, noon.Add(time.Hour))
	for passed := time.Duration(0); passed <= trustAfter; passed += time.Second {
		local := noon.Add(passed + time.Second/2)
		c.observe(local, local, noon.Add(passed))
		believed := c.last.Load().now(local).Equal(local)
		if want := passed+time.Second/2 >= trustAfter; believed != want {
			t.Errorf("after %v: believed %t, want %t", passed, believed, want)
		}
	}
}

func TestSlowResponseKeepsTheBoundsOfAFastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, fast := New(), 8*time.Second
		answer := func(took time.Duration) {
			sent := time.Now()
			time.Sleep(took)
			c.observe(sent, time.Now(), time.Now().Add(-fast).Truncate(time.Second))
		}
		answer(0)
		answer(10 * time.Second)
		if got := c.Offset(); got != -fast {
			t.Errorf("off by %v, want %v", got, -fast)
		}
		fast = time.Minute
		answer(10 * time.Second)
		if got := c.Offset(); got > -fast || got < -fast-11*time.Second {
			t.Errorf("off by %v, want about %v: the slow answer contradicts the known time", got, -fast)
		}
	})
}
