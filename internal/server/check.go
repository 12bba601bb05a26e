package server

import (
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

// checks answers 200 when all is well and 503 otherwise, with one line a check.
func checks(all []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status, text := http.StatusOK, new(strings.Builder)
		for _, c := range all {
			state := "ok"
			if err := c.Probe(); err != nil {
				status, state = http.StatusServiceUnavailable, oneLine(err.Error())
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
