package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Request is one request of the audit log.
type Request struct {
	At        time.Time // when the API server received it
	User      string
	Agent     string // user agent
	Verb      string
	Namespace string
	Resource  string // including the subresource
	Name      string
	Code      int
	Forbidden bool   // RBAC refused it; a refusal by admission has the same code
	UID       string // UID of the deleted object
	Version   uint64 // resourceVersion of the returned object; 0: not logged
	DryRun    bool
	ZeroGrace bool      // a deletion with a grace period of zero, as kubelets send it last
	Ended     time.Time // when the API server answered or was killed; zero: not known

	// RequiredUID and RequiredVersion are the preconditions of a deletion or an eviction. Either the
	// client or a webhook set them.
	RequiredUID     string
	RequiredVersion uint64
}

func (r Request) String() string {
	if !r.answered() {
		return fmt.Sprintf("%s %s %s/%s by %s: no answer", r.Verb, r.Resource, r.Namespace, r.Name, r.User)
	}
	return fmt.Sprintf("%s %s %s/%s by %s: %d", r.Verb, r.Resource, r.Namespace, r.Name, r.User, r.Code)
}

// Writes reports whether a request changes objects.
func (r Request) Writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// answered reports whether the API server answered a request.
func (r Request) answered() bool { return r.Code != 0 }

// unfinished reports whether the API server may still be working on a request.
func (r Request) unfinished() bool { return !r.answered() && r.Ended.IsZero() }

// MarkKilled sets Ended to the time to for unanswered requests that arrived before from, because their
// API server was killed by then.
func MarkKilled(requests []Request, from, to time.Time) {
	for i := range requests {
		if r := &requests[i]; r.unfinished() && r.At.Before(from) {
			r.Ended = to
		}
	}
}

func (r Request) succeeded() bool { return r.answered() && r.Code < 300 }

// mayHaveSucceeded returns false for requests that changed nothing. If the client or the API server
// was killed, or etcd did not answer in time, the request has no successful answer and may still have
// changed the object.
func (r Request) mayHaveSucceeded() bool { return !r.DryRun && (r.Code < 300 || r.Code >= 499) }

func (r Request) deletesPod() bool { return r.Verb == "delete" && r.Resource == "pods" }

func (r Request) evictsPod() bool { return r.Verb == "create" && r.Resource == "pods/eviction" }

// conditional reports whether a deletion required a UID and a resourceVersion.
func (r Request) conditional() bool { return r.RequiredUID != "" && r.RequiredVersion != 0 }

// AuditLog reads the API server's audit log while the API server appends to it. It keeps all requests
// of selected users, and all deletions and evictions of pods.
type AuditLog struct {
	path string
	keep func(user string) bool

	mu         sync.Mutex
	pending    map[string]Request // received and not answered, by audit ID
	offset     int64
	partial    []byte // the last line, if it is incomplete
	failed     error  // a parse error; requests are missing after it, so every later call returns it
	requests   []Request
	namespaces map[string][]Request
}

// NewAuditLog reads a file, which need not exist yet. It keeps all requests of the users that keep
// selects.
func NewAuditLog(path string, keep func(user string) bool) *AuditLog {
	return &AuditLog{path: path, keep: keep, pending: map[string]Request{}, namespaces: map[string][]Request{}}
}

// Requests returns all requests so far, the unanswered ones last. After a line that cannot be parsed,
// every call returns an error.
func (a *AuditLog) Requests() ([]Request, error) {
	return a.collect(func() []Request { return a.requests }, func(Request) bool { return true })
}

// RequestsIn returns the requests in a namespace so far, the unanswered ones last.
func (a *AuditLog) RequestsIn(namespace string) ([]Request, error) {
	return a.collect(func() []Request { return a.namespaces[namespace] }, func(r Request) bool { return r.Namespace == namespace })
}

// collect returns the answered requests, and the unanswered ones that match.
func (a *AuditLog) collect(answered func() []Request, matches func(Request) bool) ([]Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.read()
	all := slices.Clone(answered())
	for _, id := range slices.Sorted(maps.Keys(a.pending)) {
		if r := a.pending[id]; matches(r) {
			all = append(all, r)
		}
	}
	return all, err
}

func (a *AuditLog) read() error {
	if a.failed != nil {
		return a.failed
	}
	added, err := readFrom(a.path, a.offset)
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	a.offset += int64(len(added))
	a.partial = append(a.partial, added...)
	for {
		line, rest, complete := bytes.Cut(a.partial, []byte("\n"))
		if !complete {
			return nil
		}
		a.partial = rest
		if a.failed = a.addLine(line); a.failed != nil {
			return a.failed
		}
	}
}

func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	added, err := io.ReadAll(io.NewSectionReader(file, offset, 1<<40))
	return added, errors.Join(err, file.Close())
}

// Lines that contain none of these fragments are skipped without being parsed.
var (
	eventPrefix                        = []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1"`)
	userField, podResource, deleteVerb = []byte(`"user":{"username":"`), []byte(`"resource":"pods"`), []byte(`"verb":"delete"`)
	evictionSubresource                = []byte(`"subresource":"eviction"`)
)

// isRelevant reports whether a line must be parsed.
func (a *AuditLog) isRelevant(line []byte) bool {
	if bytes.Contains(line, podResource) && (bytes.Contains(line, deleteVerb) || bytes.Contains(line, evictionSubresource)) {
		return true
	}
	_, after, found := bytes.Cut(line, userField)
	name, _, ended := bytes.Cut(after, []byte(`"`))
	return !found || !ended || a.keep(string(name))
}

// lastEvent returns the last event of a line. A killed API server may leave a truncated event before
// it. The client of that request received no answer.
func lastEvent(line []byte) []byte { return line[max(0, bytes.LastIndex(line, eventPrefix)):] }

func (a *AuditLog) addLine(line []byte) error {
	line = lastEvent(line)
	if !a.isRelevant(line) {
		return nil
	}
	var event auditEvent
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	r, err := event.request()
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	if !r.deletesPod() && !r.evictsPod() && !a.keep(r.User) {
		return nil
	}
	if event.received() {
		a.pending[event.ID] = r
		return nil
	}
	delete(a.pending, event.ID)
	a.requests = append(a.requests, r)
	a.namespaces[r.Namespace] = append(a.namespaces[r.Namespace], r)
	return nil
}
