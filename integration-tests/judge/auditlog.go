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

// Request is one line of the audit log.
type Request struct {
	At        time.Time // when the API server received it
	User      string
	Agent     string // who it says it is
	Verb      string
	Namespace string
	Resource  string // with its subresource
	Name      string
	Code      int
	Forbidden bool   // for lack of permission; admission refuses with the same code
	UID       string // of the object that a deletion was about
	Version   uint64 // of the object in the answer; 0: the log does not have it
	DryRun    bool
	AtOnce    bool      // a deletion without grace, as kubelets ask for it at the end
	Ended     time.Time // when the API server had answered, or had been killed before that; zero: nobody knows

	// What a deletion or an eviction required of the object, if it did: by itself, or
	// since a webhook saw to it.
	RequiredUID     string
	RequiredVersion uint64
}

func (r Request) String() string {
	if !r.over() {
		return fmt.Sprintf("%s %s %s/%s by %s: no answer", r.Verb, r.Resource, r.Namespace, r.Name, r.User)
	}
	return fmt.Sprintf("%s %s %s/%s by %s: %d", r.Verb, r.Resource, r.Namespace, r.Name, r.User, r.Code)
}

// Writes reports whether a request asks for a change.
func (r Request) Writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// over reports whether the API server has come to an end with a request.
func (r Request) over() bool { return r.Code != 0 }

// endless reports whether a request may be under way still, as far as anybody knows.
func (r Request) endless() bool { return !r.over() && r.Ended.IsZero() }

// KilledBefore says of requests without an answer that their API server had been killed
// at a time, if they had come before another one.
func KilledBefore(requests []Request, from, to time.Time) {
	for i := range requests {
		if r := &requests[i]; r.endless() && r.At.Before(from) {
			r.Ended = to
		}
	}
}

func (r Request) succeeded() bool { return r.over() && r.Code < 300 }

// mayHaveSucceeded is false for requests that certainly changed nothing. One whose
// client or API server was killed meanwhile has no proper answer, and its effect all
// the same, as has one that the store did not answer in time.
func (r Request) mayHaveSucceeded() bool { return !r.DryRun && (r.Code < 300 || r.Code >= 499) }

func (r Request) deletesPod() bool { return r.Verb == "delete" && r.Resource == "pods" }

func (r Request) evictsPod() bool { return r.Verb == "create" && r.Resource == "pods/eviction" }

// conditional reports whether a deletion was about one state of one object.
func (r Request) conditional() bool { return r.RequiredUID != "" && r.RequiredVersion != 0 }

// AuditLog reads the API server's audit log as it grows. It keeps all requests of
// some users, and of everybody else the deletions and evictions of pods.
type AuditLog struct {
	path string
	of   func(user string) bool

	mu         sync.Mutex
	pending    map[string]Request // received and not over, by the ID of the request
	offset     int64
	begun      []byte // a line that has not ended yet
	torn       error  // of a line that nobody can read: whatever comes after it, something is missing
	requests   []Request
	namespaces map[string][]Request
}

// NewAuditLog reads a file, which need not exist yet. Of says whose requests are kept.
func NewAuditLog(path string, of func(user string) bool) *AuditLog {
	return &AuditLog{path: path, of: of, pending: map[string]Request{}, namespaces: map[string][]Request{}}
}

// Requests returns all requests so far, those that are not over at the end. Once a line
// could not be read, this is an error for everybody from then on.
func (a *AuditLog) Requests() ([]Request, error) {
	return a.those(func() []Request { return a.requests }, func(Request) bool { return true })
}

// RequestsIn returns the requests about a namespace so far, those that are not over at
// the end.
func (a *AuditLog) RequestsIn(namespace string) ([]Request, error) {
	return a.those(func() []Request { return a.namespaces[namespace] }, func(r Request) bool { return r.Namespace == namespace })
}

// those returns requests that are over, and those of the others that fit.
func (a *AuditLog) those(over func() []Request, fits func(Request) bool) ([]Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.read()
	all := slices.Clone(over())
	for _, id := range slices.Sorted(maps.Keys(a.pending)) {
		if r := a.pending[id]; fits(r) {
			all = append(all, r)
		}
	}
	return all, err
}

func (a *AuditLog) read() error {
	if a.torn != nil {
		return a.torn
	}
	fresh, err := readFrom(a.path, a.offset)
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	a.offset += int64(len(fresh))
	a.begun = append(a.begun, fresh...)
	for {
		line, rest, complete := bytes.Cut(a.begun, []byte("\n"))
		if !complete {
			return nil
		}
		a.begun = rest
		if a.torn = a.take(line); a.torn != nil {
			return a.torn
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
	fresh, err := io.ReadAll(io.NewSectionReader(file, offset, 1<<40))
	return fresh, errors.Join(err, file.Close())
}

// Pieces of a line by which most lines are passed over without being parsed.
var (
	event                  = []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1"`)
	user, ofPods, deletion = []byte(`"user":{"username":"`), []byte(`"resource":"pods"`), []byte(`"verb":"delete"`)
	eviction               = []byte(`"subresource":"eviction"`)
)

// matters reports whether a line is to be parsed.
func (a *AuditLog) matters(line []byte) bool {
	if bytes.Contains(line, ofPods) && (bytes.Contains(line, deletion) || bytes.Contains(line, eviction)) {
		return true
	}
	_, after, found := bytes.Cut(line, user)
	name, _, ended := bytes.Cut(after, []byte(`"`))
	return !found || !ended || a.of(string(name))
}

// untorn returns the event that a line ends with. An API server that is killed may
// leave the beginning of one before it: that of a request which it had not begun to
// work on, or whose end nobody was told.
func untorn(line []byte) []byte { return line[max(0, bytes.LastIndex(line, event)):] }

func (a *AuditLog) take(line []byte) error {
	line = untorn(line)
	if !a.matters(line) {
		return nil
	}
	var told auditEvent
	if err := json.Unmarshal(line, &told); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	r, err := told.request()
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	if !r.deletesPod() && !r.evictsPod() && !a.of(r.User) {
		return nil
	}
	if told.received() {
		a.pending[told.ID] = r
		return nil
	}
	delete(a.pending, told.ID)
	a.requests = append(a.requests, r)
	a.namespaces[r.Namespace] = append(a.namespaces[r.Namespace], r)
	return nil
}
