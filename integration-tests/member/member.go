package main

import (
	"fmt"
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

	mu       sync.Mutex
	prepared bool
	leaving  int64 // since when it is ready to leave, in seconds since 1970; 0: it is not
	log      []string
}

func (m *member) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", m.showReady)
	mux.HandleFunc("/prepare-shutdown", m.prepare)
	mux.HandleFunc("/prepare-delayed-downscale", m.prepareDelayed)
	mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { os.Exit(1) })
	mux.HandleFunc("GET /log", m.showLog)
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
	m.note(r)
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
	m.note(r)
	fmt.Fprintf(w, "{\"timestamp\": %d}\n", m.leaving)
}

// note remembers a call that changed something.
func (m *member) note(r *http.Request) {
	if r.Method != http.MethodGet {
		m.log = append(m.log, r.Method+" "+r.URL.Path)
	}
}

func (m *member) showLog(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(w, strings.Join(m.log, "\n"))
}
