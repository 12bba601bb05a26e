package plan

import "time"

// UnixTime is a time in whole seconds, as in the creation timestamp of an object. The
// zero UnixTime is none. It takes a third of the memory of a time.Time, in every cached
// pod.
type UnixTime int64

// UnixTimeOf returns a time as a UnixTime.
func UnixTimeOf(t time.Time) UnixTime {
	if t.IsZero() {
		return 0
	}
	return UnixTime(t.Unix())
}

// Time returns the time. It is the zero time for the zero UnixTime.
func (s UnixTime) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0).UTC()
}
