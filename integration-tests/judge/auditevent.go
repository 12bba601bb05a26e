package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// auditEvent is what the judge reads of a line of the audit log.
type auditEvent struct {
	ID         string `json:"auditID"`
	Stage      string
	Verb       string
	Agent      string `json:"userAgent"`
	RequestURI string
	User       struct{ Username string }
	Object     struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
	Answer     struct{ Code int }                                      `json:"responseStatus"`
	Notes      map[string]string                                       `json:"annotations"`
	Asked      struct {
		conditions            // of a deletion
		Grace      *int64     `json:"gracePeriodSeconds"`
		Eviction   conditions `json:"deleteOptions"`
	} `json:"requestObject"`
	Got struct {
		Metadata struct{ UID, ResourceVersion string }
	} `json:"responseObject"`
	At    time.Time `json:"requestReceivedTimestamp"`
	Ended time.Time `json:"stageTimestamp"`
}

// received reports whether this is the line that says that a request has come; another
// one with the same ID says what became of it.
func (e *auditEvent) received() bool { return e.Stage == "RequestReceived" }

type conditions struct {
	Preconditions struct{ UID, ResourceVersion string }
	DryRun        []string
}

func (e *auditEvent) request() (Request, error) {
	if err := e.applyPatches(); err != nil {
		return Request{}, err
	}
	r := Request{
		At: e.At, Ended: e.Ended, User: e.User.Username, Agent: e.Agent, Verb: e.Verb,
		Namespace: e.Object.Namespace, Name: e.Object.Name,
		Resource: strings.TrimSuffix(e.Object.Resource+"/"+e.Object.Subresource, "/"),
		Code:     e.Answer.Code, Forbidden: e.Notes["authorization.k8s.io/decision"] == "forbid", UID: e.Got.Metadata.UID,
		Version: parseVersion(e.Got.Metadata.ResourceVersion),
	}
	if e.received() {
		r.Ended = time.Time{}
	}
	r.AtOnce = e.Asked.Grace != nil && *e.Asked.Grace == 0
	asked := e.Asked.conditions
	if r.evictsPod() {
		asked = e.Asked.Eviction
	}
	r.RequiredUID, r.RequiredVersion = asked.Preconditions.UID, parseVersion(asked.Preconditions.ResourceVersion)
	r.DryRun = len(asked.DryRun) > 0 || strings.Contains(e.RequestURI, "dryRun=All")
	if r.UID == "" {
		r.UID = r.RequiredUID
	}
	return r, nil
}

// patchNote begins the key under which the API server notes what a webhook changed
// in a request, which it logs as it came.
const patchNote = "patch.webhook.admission.k8s.io/"

// applyPatches changes what was asked as webhooks changed it, as far as the judge
// reads it: they only ever add.
func (e *auditEvent) applyPatches() error {
	for key, text := range e.Notes {
		if !strings.HasPrefix(key, patchNote) {
			continue
		}
		var note struct {
			Patch []struct {
				Op, Path string
				Value    json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(text), &note); err != nil {
			return err
		}
		for _, p := range note.Patch {
			if p.Op != "add" || !strings.HasPrefix(p.Path, "/deleteOptions") {
				continue
			}
			if err := json.Unmarshal(nested(p.Path, p.Value), &e.Asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// nested returns a value as part of the whole that a path begins at.
func nested(path string, value json.RawMessage) json.RawMessage {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, name := range slices.Backward(names) {
		value = slices.Concat([]byte(`{"`+name+`":`), value, []byte(`}`))
	}
	return value
}
