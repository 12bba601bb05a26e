package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

func TestAClockThatAgreesWithTheAPIServersIsLeftAlone(t *testing.T) {
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
			c.learn(noon.Add(tc.sent), noon.Add(tc.received), noon.Add(tc.date))
			if got := c.Offset(); got != tc.want {
				t.Errorf("off by %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAClockForgetsADifferenceThatIsOver(t *testing.T) {
	c := New()
	c.learn(noon, noon, noon.Add(time.Hour))
	c.learn(noon, noon, noon)
	if got := c.Offset(); got != 0 {
		t.Errorf("off by %v", got)
	}
}

func TestAClockGoesOnSteadilyFromTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		began := time.Now()
		c.learn(began, began, began.Add(time.Hour))
		time.Sleep(3 * time.Minute)
		if got, want := c.Now(), began.Add(time.Hour+3*time.Minute); !got.Equal(want) {
			t.Errorf("it is %v, want %v", got, want)
		}
	})
}

func TestNoClockIsThatOfThisMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]*Clock{"nil": nil, "without an answer": New()} {
			if got := c.Now(); !got.Equal(time.Now()) {
				t.Errorf("%s: it is %v, want %v", name, got, time.Now())
			}
		}
	})
}

func TestAClockIsNeverAhead(t *testing.T) {
	for _, pace := range []float64{0.5, 1, 1.65, 2} {
		c := New()
		for passed := time.Duration(0); passed < time.Minute; passed += 137 * time.Millisecond {
			truth := noon.Add(passed)
			local := noon.Add(-17*time.Minute + time.Duration(pace*float64(passed)))
			c.learn(local, local, truth.Truncate(time.Second))
			if slow := truth.Sub(local.Add(c.Offset())); slow < 0 || slow >= time.Second {
				t.Fatalf("at a pace of %v it is %v slow after %v", pace, slow, passed)
			}
		}
	}
}

func TestASlowAnswerDoesNotUndoWhatAQuickOneTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, fast := New(), 8*time.Second
		answer := func(took time.Duration) {
			sent := time.Now()
			time.Sleep(took)
			c.learn(sent, time.Now(), time.Now().Add(-fast).Truncate(time.Second))
		}
		answer(0)
		answer(10 * time.Second)
		if got := c.Offset(); got != -fast {
			t.Errorf("off by %v, want %v", got, -fast)
		}
		fast = time.Minute
		answer(10 * time.Second)
		if got := c.Offset(); got > -fast || got < -fast-11*time.Second {
			t.Errorf("off by %v, want about %v: the slow answer contradicts what was known", got, -fast)
		}
	})
}
