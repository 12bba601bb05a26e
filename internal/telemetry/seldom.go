package telemetry

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// mostTexts bounds what seldom remembers; beyond it, it forgets everything and
// starts anew.
const mostTexts = 128

// seldom logs an error unless it has logged the same text not long ago. It is
// OpenTelemetry's error handler, which is called as often as something fails, and
// remembers which missing rights were named.
type seldom struct {
	log   logrus.FieldLogger
	every time.Duration

	mu   sync.Mutex
	last map[string]time.Time // by text
}

func newSeldom(log logrus.FieldLogger, every time.Duration) *seldom {
	return &seldom{log: log, every: every, last: map[string]time.Time{}}
}

// Handle implements otel.ErrorHandler.
func (s *seldom) Handle(err error) {
	if err == nil || !s.due(err.Error(), time.Now()) {
		return
	}
	s.log.WithError(err).Warn("telemetry error")
}

func (s *seldom) due(text string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.last[text]; known && now.Sub(at) < s.every {
		return false
	}
	if len(s.last) >= mostTexts {
		clear(s.last)
	}
	s.last[text] = now
	return true
}
