package main

import (
	"testing"
	"time"
)

func TestMaxWithin(t *testing.T) {
	begin := time.Unix(1700000000, 0)
	at := func(milliseconds ...int) []time.Time {
		var all []time.Time
		for _, ms := range milliseconds {
			all = append(all, begin.Add(time.Duration(ms)*time.Millisecond))
		}
		return all
	}
	for sentence, tc := range map[string]struct {
		times []time.Time
		want  int
	}{
		"none":                     {nil, 0},
		"a second apart":           {at(0, 1000, 2000), 1},
		"less than a second":       {at(0, 999, 2500), 2},
		"not in whole seconds":     {at(900, 1800, 5000), 2},
		"in whatever order":        {at(5000, 1800, 900), 2},
		"three, and later two":     {at(0, 100, 200, 5000, 5100), 3},
		"the first is long before": {at(0, 5000, 5100, 5200, 5300), 4},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := maxWithin(time.Second, tc.times); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	s := series{{total: 2 * time.Second, statusWrites: map[string][]time.Time{"a": at(0, 1000), "b": at(0, 100)}}}
	if mean, most := s.statusesPerSecond(4); mean != 0.5 || most != 2 {
		t.Errorf("mean %v, most %d", mean, most)
	}
}
