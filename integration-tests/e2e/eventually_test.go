package e2e_test

import (
	"testing"
	"time"
)

// patience is how long a test waits for an event that must occur.
const patience = 5 * time.Minute

// eventually waits until a check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
		if t.Context().Err() != nil {
			break
		}
	}
	t.Fatalf("%s: not after %s: %v", what, patience, err)
}

// stays repeats a check for some time. It must pass every time.
func stays(t *testing.T, what string, d time.Duration, check func() error) {
	t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(200 * time.Millisecond) {
		if err := check(); err != nil {
			t.Fatalf("not so: %s: %v", what, err)
		}
		if time.Now().After(end) {
			return
		}
	}
}
