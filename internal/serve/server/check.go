package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Check is one condition of readiness or health. Probe returns an error that describes the fault,
// or nil. The server calls Probe on every request and from several goroutines, so Probe must
// answer from memory, without delay.
type Check struct {
	Name  string
	Probe func() error
}

// Tolerable returns an error that the answer shows but that does not cause a 500, because no
// other replica would do better. It returns nil for a nil error.
func Tolerable(err error) error {
	if err == nil {
		return nil
	}
	return tolerable{err}
}

type tolerable struct{ error }

func (t tolerable) Unwrap() error { return t.error }

// checks returns a handler that answers 200 if every check passes and 500 otherwise, with one
// line for each check. The programs of Kubernetes answer 500 too: kubectl does not show
// the body of a 503.
func checks(all []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status, text := http.StatusOK, new(strings.Builder)
		for _, c := range all {
			state := "ok"
			if err := c.Probe(); err != nil {
				state = oneLine(err.Error())
				if _, only := errors.AsType[tolerable](err); !only {
					status = http.StatusInternalServerError
				}
			}
			fmt.Fprintf(text, "%s: %s\n", c.Name, state)
		}
		if len(all) == 0 {
			text.WriteString("ok\n")
		}
		plain(w, status, text.String())
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // fails only if the client has closed the connection
}
