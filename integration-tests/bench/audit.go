package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// auditLog reads the API server's audit log as it grows.
type auditLog struct {
	path   string
	offset int64
	begun  []byte // a line that has not ended yet
}

// request is one line of the audit log.
type request struct {
	at                        time.Time // when the API server received it
	user, verb                string
	namespace, resource, name string // the resource with its subresource
	code                      int
}

// deletesPod reports whether the request took a pod down.
func (r request) deletesPod() bool { return r.verb == "delete" && r.resource == "pods" && r.code < 300 }

// next returns what was added since the last call.
func (l *auditLog) next() ([]request, error) {
	fresh, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	l.offset += int64(len(fresh))
	l.begun = append(l.begun, fresh...)
	var requests []request
	for {
		line, rest, complete := bytes.Cut(l.begun, []byte("\n"))
		if !complete {
			l.begun = bytes.Clone(l.begun)
			return requests, nil
		}
		l.begun = rest
		r, err := requestOf(line)
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		requests = append(requests, r)
	}
}

func (l *auditLog) read() ([]byte, error) {
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing has been asked for
	}
	if err != nil {
		return nil, err
	}
	fresh, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<40))
	return fresh, errors.Join(err, file.Close())
}

func requestOf(line []byte) (request, error) {
	var event struct {
		Verb   string
		User   struct{ Username string }
		Object struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
		Answer struct{ Code int }                                      `json:"responseStatus"`
		At     time.Time                                               `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return request{}, err
	}
	return request{
		at: event.At, user: event.User.Username, verb: event.Verb,
		namespace: event.Object.Namespace, name: event.Object.Name, code: event.Answer.Code,
		resource: strings.TrimSuffix(event.Object.Resource+"/"+event.Object.Subresource, "/"),
	}, nil
}
