package pools

import (
	"testing"
	"time"
)

func TestAStatusIsWrittenAtMostOnceASecondAndOnlyIfItHasChanged(t *testing.T) {
	s, start := statuses{}, time.Now()
	for _, c := range []struct {
		after time.Duration
		text  string
		write bool
		rest  time.Duration
	}{
		{0, "one", true, 0},
		{time.Hour, "one", false, 0},
		{time.Hour, "two", true, 0},
		{time.Hour + 400*time.Millisecond, "three", false, 600 * time.Millisecond},
		{time.Hour + 500*time.Millisecond, "two", false, 0},
		{time.Hour + time.Second, "three", true, 0},
	} {
		if write, rest := s.changed(key, c.text, start.Add(c.after)); write != c.write || rest != c.rest {
			t.Errorf("%s after %s: write %t, rest %s; want %t, %s", c.text, c.after, write, rest, c.write, c.rest)
		}
	}
	s.forget(key)
	if write, _ := s.changed(key, "three", start.Add(time.Hour+time.Second)); !write {
		t.Error("a forgotten status is not written again")
	}
}
