package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// member is the state of the application.
type member struct {
	ready atomic.Bool
	store *store // nil: it has none

	mu       sync.Mutex
	prepared bool
	leaving  int64 // since when it is ready to be removed, in seconds since 1970; 0: not ready
	log      []string
}

func (m *member) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", m.showReady)
	mux.HandleFunc("/prepare-shutdown", m.prepare)
	mux.HandleFunc("/prepare-delayed-downscale", m.prepareDelayed)
	mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { os.Exit(1) })
	mux.HandleFunc("GET /log", m.showLog)
	mux.HandleFunc("GET /ask", callAnother)
	mux.HandleFunc("GET /resolve", resolve)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, version) })
	if m.store != nil {
		m.store.serve(mux)
	}
	return mux
}

func (m *member) showReady(w http.ResponseWriter, _ *http.Request) {
	if !m.ready.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
	}
}

func (m *member) prepare(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		m.prepared = true
	case http.MethodDelete:
		m.prepared = false
	case http.MethodGet:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m.record(r)
	fmt.Fprintf(w, "{\"prepared\": %t}\n", m.prepared)
}

func (m *member) prepareDelayed(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		if m.leaving == 0 {
			m.leaving = time.Now().Unix()
		}
	case http.MethodDelete:
		m.leaving = 0
	case http.MethodGet:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m.record(r)
	fmt.Fprintf(w, "{\"timestamp\": %d}\n", m.leaving)
}

// record records a call that changed something. The Host is quoted, because the caller may
// send any text.
func (m *member) record(r *http.Request) {
	if r.Method != http.MethodGet {
		m.log = append(m.log, fmt.Sprintf("%s %s %q", r.Method, r.URL.Path, r.Host))
	}
}

func (m *member) showLog(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(w, strings.Join(m.log, "\n"))
}

// callAnother calls another member by the URL of the request.
func callAnother(w http.ResponseWriter, r *http.Request) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.URL.Query().Get("url"), nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the caller notices an incomplete answer
}

// resolve looks up a name as the member itself does.
func resolve(w http.ResponseWriter, r *http.Request) {
	addresses, err := net.DefaultResolver.LookupHost(r.Context(), r.URL.Query().Get("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, strings.Join(addresses, "\n"))
}
