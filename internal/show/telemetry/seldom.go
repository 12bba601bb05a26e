package telemetry

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// seldom logs an error unless it has recently logged the same text. It is OpenTelemetry's error
// handler, which is called for every error. It also records which missing permissions were
// logged.
type seldom struct {
	log   logrus.FieldLogger
	every time.Duration
	most  int // number of remembered texts; beyond that, all are dropped

	mu   sync.Mutex
	last map[string]time.Time // by text
}

func newSeldom(log logrus.FieldLogger, every time.Duration, most int) *seldom {
	return &seldom{log: log, every: every, most: most, last: map[string]time.Time{}}
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
	if len(s.last) >= s.most {
		clear(s.last)
	}
	s.last[text] = now
	return true
}
