package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Check is one thing that must be so. Probe returns what is wrong, or nil; it is
// called on every request, from several goroutines, and must answer at once from
// what is known.
type Check struct {
	Name  string
	Probe func() error
}

// Tolerable marks what should be read with the answer and is no reason for a
// 500, since others would do no better. It returns nil for a nil error.
func Tolerable(err error) error {
	if err == nil {
		return nil
	}
	return tolerable{err}
}

type tolerable struct{ error }

func (t tolerable) Unwrap() error { return t.error }

// checks answers 200 when all is well and 500 otherwise, with one line a check. So do
// the programs of Kubernetes; of a 503 kubectl does not show the lines.
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
	_, _ = w.Write([]byte(text)) // whoever asked has gone, if this fails
}
