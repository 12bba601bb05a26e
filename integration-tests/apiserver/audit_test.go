package apiserver_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// auditLog reads the API server's audit log as it grows and keeps what the
// operators asked for, and every deletion of a pod.
type auditLog struct {
	path string

	mu       sync.Mutex
	offset   int64
	begun    []byte // a line that has not ended yet
	requests []request
}

// request is one line of the audit log.
type request struct {
	at          time.Time // when the API server received it
	user        string
	verb        string
	namespace   string
	resource    string // with its subresource
	name        string
	code        int
	uid         string // of the object that a deletion was about
	conditional bool   // a deletion that requires UID and resourceVersion
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %s/%s by %s: %d", r.verb, r.resource, r.namespace, r.name, r.user, r.code)
}

func (r request) byOperator() bool { return strings.HasSuffix(r.user, ":"+account) }

// mayHaveSucceeded is false for requests that certainly changed nothing. One whose
// client was killed meanwhile has no proper answer, and its effect all the same.
func (r request) mayHaveSucceeded() bool { return r.code < 300 || r.code >= 499 }

func (r request) writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.verb) }

// read returns all requests so far.
func (a *auditLog) read() ([]request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh, err := readFrom(a.path, a.offset)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	a.offset += int64(len(fresh))
	a.begun = append(a.begun, fresh...)
	for {
		line, rest, complete := bytes.Cut(a.begun, []byte("\n"))
		if !complete {
			return slices.Clip(a.requests), nil
		}
		a.begun = rest
		if err := a.take(line); err != nil {
			return nil, err
		}
	}
}

func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fresh, err := io.ReadAll(io.NewSectionReader(file, offset, 1<<40))
	return fresh, errors.Join(err, file.Close())
}

var ofOperator, ofPods, deletion = []byte(":" + account + `"`), []byte(`"resource":"pods"`), []byte(`"verb":"delete"`)

func (a *auditLog) take(line []byte) error {
	if !bytes.Contains(line, ofOperator) && (!bytes.Contains(line, deletion) || !bytes.Contains(line, ofPods)) {
		return nil
	}
	var event struct {
		Verb   string
		User   struct{ Username string }
		Object struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
		Answer struct{ Code int }                                      `json:"responseStatus"`
		Asked  struct {
			Preconditions struct{ UID, ResourceVersion string }
		} `json:"requestObject"`
		Got struct {
			Metadata struct{ UID string }
		} `json:"responseObject"`
		At time.Time `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	required := event.Asked.Preconditions
	a.requests = append(a.requests, request{
		at: event.At, user: event.User.Username, verb: event.Verb,
		namespace: event.Object.Namespace, name: event.Object.Name,
		resource: strings.TrimSuffix(event.Object.Resource+"/"+event.Object.Subresource, "/"),
		code:     event.Answer.Code, uid: cmp.Or(event.Got.Metadata.UID, required.UID),
		conditional: required.UID != "" && required.ResourceVersion != "",
	})
	return nil
}

// deletedBy returns who deleted each pod of a namespace first, by the pod's UID.
func deletedBy(requests []request, namespace string) map[string]string {
	first := map[string]string{}
	inOrder := slices.SortedStableFunc(slices.Values(requests), func(a, b request) int { return a.at.Compare(b.at) })
	for _, r := range inOrder {
		if r.verb != "delete" || r.resource != "pods" || r.namespace != namespace || !r.mayHaveSucceeded() {
			continue
		}
		if _, known := first[r.uid]; !known {
			first[r.uid] = r.user
		}
	}
	return first
}

// writesOf returns what an operator wrote to a namespace from a time on.
func writesOf(requests []request, user, namespace string, from time.Time) []request {
	var writes []request
	for _, r := range requests {
		if r.user == user && r.namespace == namespace && r.writes() && !r.at.Before(from) {
			writes = append(writes, r)
		}
	}
	return writes
}

// mayWrite is everything that an operator ever writes.
var mayWrite = []string{
	"delete pods", "patch pods", "patch statefulsets/status",
	"create leases", "update leases", "delete leases",
	"create events", "patch events",
}

// overstepped says what operators did, or tried, that they never may.
func overstepped(requests []request) []string {
	var wrong []string
	for _, r := range requests {
		if !r.byOperator() {
			continue
		}
		switch {
		case r.code == 403:
			wrong = append(wrong, "refused for lack of permission: "+r.String())
		case r.writes() && !slices.Contains(mayWrite, r.verb+" "+r.resource):
			wrong = append(wrong, "no operator ever does this: "+r.String())
		case r.verb == "delete" && r.resource == "pods" && !r.conditional:
			wrong = append(wrong, "a deletion that does not require UID and resourceVersion: "+r.String())
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}
