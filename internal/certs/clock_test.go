package certs

import (
	"testing"
	"time"
)

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
		"a minute fast, by as little as can be": {60 * second, 61 * second, 0, -59 * second},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := NewClock()
			c.learn(noon.Add(tc.sent), noon.Add(tc.received), noon.Add(tc.date))
			if got := c.Offset(); got != tc.want {
				t.Errorf("off by %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAClockForgetsADifferenceThatIsOver(t *testing.T) {
	c := NewClock()
	c.learn(noon, noon, noon.Add(time.Hour))
	c.learn(noon, noon, noon)
	if got := c.Offset(); got != 0 {
		t.Errorf("off by %v", got)
	}
}
