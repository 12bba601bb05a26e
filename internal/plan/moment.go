package plan

import "time"

// Moment is a time that a user wrote on an object. The zero Moment is none.
type Moment struct {
	Time    time.Time
	Invalid string // the text, if it is not a time
}

// Equal reports whether both are the same time, or the same text.
func (m Moment) Equal(other Moment) bool {
	return m.Time.Equal(other.Time) && m.Invalid == other.Invalid
}

// PausesAt reports whether a pause that ends at the moment lasts at a time. A pause without an end, or whose end cannot
// be read, lasts until a person ends it.
func (m Moment) PausesAt(now time.Time) bool {
	return m.Time.IsZero() || now.Before(m.Time)
}
