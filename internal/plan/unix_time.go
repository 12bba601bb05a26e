package plan

import "time"

// UnixTime is a time in whole seconds, as the API server writes when an object was
// created. The zero UnixTime is none. It takes a third of what a time.Time does, in
// every pod that is cached.
type UnixTime int64

// UnixTimeOf returns a time as a UnixTime.
func UnixTimeOf(t time.Time) UnixTime {
	if t.IsZero() {
		return 0
	}
	return UnixTime(t.Unix())
}

// Time returns the time, the zero one for none.
func (s UnixTime) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0).UTC()
}
