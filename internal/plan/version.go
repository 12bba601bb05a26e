package plan

import "strconv"

// Version is a resourceVersion as a number. Versions of one kind of object are
// ordered; zero is older than every object.
type Version uint64

// ParseVersion parses a resourceVersion. The second result is false if the text is not a
// number (KEP-5504); the Version is then older than every object.
func ParseVersion(text string) (Version, bool) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return Version(v), true
}

// String returns the resourceVersion as the API server writes it.
func (v Version) String() string { return strconv.FormatUint(uint64(v), 10) }
