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

// auditLog reads the API server's audit log while the API server appends to it.
type auditLog struct {
	path    string
	offset  int64
	partial []byte // the last line, if it is incomplete
}

// request is one line of the audit log.
type request struct {
	at                        time.Time // when the API server received it
	user, verb                string
	namespace, resource, name string // resource includes the subresource
	code                      int
	dryRun                    bool
}

// deletesPod reports whether the request deleted a pod.
func (r request) deletesPod() bool { return r.verb == "delete" && r.resource == "pods" && r.code < 300 }

// next returns the requests that were added since the last call.
func (l *auditLog) next() ([]request, error) {
	added, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	l.offset += int64(len(added))
	l.partial = append(l.partial, added...)
	var requests []request
	for {
		line, rest, complete := bytes.Cut(l.partial, []byte("\n"))
		if !complete {
			l.partial = bytes.Clone(l.partial)
			return requests, nil
		}
		l.partial = rest
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
		return nil, nil // no request was logged yet
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
		URI    string                                                  `json:"requestURI"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return request{}, err
	}
	return request{
		at: event.At, user: event.User.Username, verb: event.Verb,
		namespace: event.Object.Namespace, name: event.Object.Name, code: event.Answer.Code,
		resource: strings.TrimSuffix(event.Object.Resource+"/"+event.Object.Subresource, "/"),
		dryRun:   strings.Contains(event.URI, "dryRun="),
	}, nil
}
