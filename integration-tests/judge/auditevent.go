package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// auditEvent holds the fields of an audit log line that the judge reads.
type auditEvent struct {
	ID          string `json:"auditID"`
	Stage       string
	Verb        string
	Agent       string `json:"userAgent"`
	RequestURI  string
	User        struct{ Username string }
	Object      struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
	Status      struct{ Code int }                                      `json:"responseStatus"`
	Annotations map[string]string                                       `json:"annotations"`
	Body        struct {
		deleteOptions               // of a deletion
		Grace         *int64        `json:"gracePeriodSeconds"`
		Eviction      deleteOptions `json:"deleteOptions"`
	} `json:"requestObject"`
	Response struct {
		Metadata struct{ UID, ResourceVersion string }
	} `json:"responseObject"`
	At    time.Time `json:"requestReceivedTimestamp"`
	Ended time.Time `json:"stageTimestamp"`
}

// received reports whether the API server wrote this line when the request arrived. A second line with
// the same ID reports the outcome.
func (e *auditEvent) received() bool { return e.Stage == "RequestReceived" }

type deleteOptions struct {
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
		Code:     e.Status.Code, Forbidden: e.Annotations["authorization.k8s.io/decision"] == "forbid", UID: e.Response.Metadata.UID,
		Version: parseVersion(e.Response.Metadata.ResourceVersion),
	}
	if e.received() {
		r.Ended = time.Time{}
	}
	r.ZeroGrace = e.Body.Grace != nil && *e.Body.Grace == 0
	options := e.Body.deleteOptions
	if r.evictsPod() {
		options = e.Body.Eviction
	}
	r.RequiredUID, r.RequiredVersion = options.Preconditions.UID, parseVersion(options.Preconditions.ResourceVersion)
	r.DryRun = len(options.DryRun) > 0 || strings.Contains(e.RequestURI, "dryRun=All")
	if r.UID == "" {
		r.UID = r.RequiredUID
	}
	return r, nil
}

// patchAnnotation is the prefix of the annotations in which the API server records webhook patches.
// The request body in the log is the one before these patches.
const patchAnnotation = "patch.webhook.admission.k8s.io/"

// applyPatches applies the webhook patches that add delete options to the body.
func (e *auditEvent) applyPatches() error {
	for key, text := range e.Annotations {
		if !strings.HasPrefix(key, patchAnnotation) {
			continue
		}
		var annotation struct {
			Patch []struct {
				Op, Path string
				Value    json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(text), &annotation); err != nil {
			return err
		}
		for _, p := range annotation.Patch {
			if p.Op != "add" || !strings.HasPrefix(p.Path, "/deleteOptions") {
				continue
			}
			if err := json.Unmarshal(nested(p.Path, p.Value), &e.Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// nested wraps a value into the JSON object that the path describes.
func nested(path string, value json.RawMessage) json.RawMessage {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, name := range slices.Backward(names) {
		value = slices.Concat([]byte(`{"`+name+`":`), value, []byte(`}`))
	}
	return value
}
