package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
)

// mostBody is the maximum size of a request body, in bytes. Only pprof reads a body.
const mostBody = 64 << 10

// route is one line of the index page.
type route struct {
	path, about string
}

// routes returns the handler for all paths.
func (o Options) routes() http.Handler {
	mux := http.NewServeMux()
	var index []route
	add := func(path, about string, h http.Handler) {
		mux.Handle("GET "+path, h)
		index = append(index, route{path, about})
	}
	if o.Metrics != nil {
		add("/metrics", "metrics for Prometheus", o.Metrics)
	}
	add("/ready", "readiness: 200 or 500, with one line for each check", checks(o.Ready))
	add("/healthz", "liveness: 200 or 500, with one line for each check", checks(o.Healthy))
	if o.Config != nil {
		add("/debug/config", "the effective configuration", o.Config)
	}
	if o.Groups != nil {
		add("/debug/groups", "all groups", o.Groups)
		mux.Handle("GET /debug/groups/{$}", o.Groups)
		mux.Handle("GET /debug/groups/{namespace}/{group...}", o.Groups)
		mux.Handle("GET /debug/groups/{namespace}/{$}", o.Groups) // the group whose name is empty
		index = append(index, route{"/debug/groups/{namespace}/{group}", "one group"})
	}
	add("/debug/pprof/", "profiles of the process", http.HandlerFunc(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.Handle("GET /{$}", listing(index))
	return http.MaxBytesHandler(mux, mostBody)
}

// listing returns the handler of the index page, which is plain text for terminals.
func listing(index []route) http.Handler {
	var text strings.Builder
	text.WriteString("lockstep\n\n")
	for _, r := range index {
		fmt.Fprintf(&text, "  %-34s %s\n", r.path, r.about)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, text.String())
	})
}
