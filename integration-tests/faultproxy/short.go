package faultproxy

import (
	"io"
	"sync"
	"time"
)

// shortBody ends after a time.
type shortBody struct {
	io.ReadCloser
	end   *time.Timer
	close func() error

	mu    sync.Mutex
	ended bool
}

// newShortBody calls ends when the time is over, unless the body was closed before.
func newShortBody(from io.ReadCloser, life time.Duration, ends func()) *shortBody {
	b := &shortBody{ReadCloser: from, close: sync.OnceValue(from.Close)}
	b.end = time.AfterFunc(life, func() {
		b.mu.Lock()
		b.ended = true
		b.mu.Unlock()
		ends()
		_ = b.close() // this wakes a pending Read
	})
	return b
}

// Read implements io.Reader. A body that was cut off ends like one that has ended.
func (b *shortBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && b.ended {
		return n, io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (b *shortBody) Close() error {
	b.end.Stop()
	return b.close()
}
