package flock_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/flock"
)

func TestALockHasOneOwnerAtATime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := flock.Try(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Try(folder); !errors.Is(err, flock.ErrTaken) {
		t.Errorf("the second owner gets %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := flock.Lock(soon, folder); !errors.Is(err, flock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an owner that waited too long gets %v", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { first.Close() })
	second, err := flock.Lock(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

func TestAFolderThatDoesNotExistCannotBeLocked(t *testing.T) {
	t.Parallel()
	if _, err := flock.Lock(t.Context(), t.TempDir()+"/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it says %v", err)
	}
}
