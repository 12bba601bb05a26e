package admission

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// reviewVersions are the supported versions of AdmissionReview. The answer has the version
// of the request. The fields that webhooks read are the same in both.
var reviewVersions = []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1"}

// review is the part of an AdmissionReview that webhooks read.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *request `json:"request"`

	body []byte // the entire body, for webhooks that parse more of the object
}

// request is the part of an AdmissionRequest that webhooks read.
type request struct {
	UID         string    `json:"uid"`
	Resource    resource  `json:"resource"`
	SubResource string    `json:"subResource"`
	Namespace   string    `json:"namespace"`
	Name        string    `json:"name"`
	Operation   string    `json:"operation"`
	DryRun      bool      `json:"dryRun"` // absent: false
	Object      *scalable `json:"object"`
	OldObject   *scalable `json:"oldObject"`

	unreadable error // a field of the old or the new object has an unexpected type
}

type resource struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
}

// refusal is an HTTP error: the request contains no review that can be answered.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

func malformed(why string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Sprintf(why, args...)}
}

// readReview reads the review in the body of a POST. The server limits the size of the body.
func readReview(r *http.Request) (*review, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, malformed("Content-Type %.80q is not application/json", r.Header.Get("Content-Type"))
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	return parseReview(body)
}

func readBody(r *http.Request) ([]byte, error) {
	const usual = 64 << 10
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), usual)) + bytes.MinRead)
	_, err := body.ReadFrom(r.Body)
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the review is larger than %d bytes", tooLarge.Limit)}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, malformed("the body could not be read to its end")
	}
	return body.Bytes(), nil
}

// longestName is the maximum length of names of objects under review.
const longestName = 253

// parseReview decodes as the API server does: keys are case-sensitive. An object with
// unexpected types does not make the review invalid.
func parseReview(body []byte) (*review, error) {
	ar := new(review)
	err := json.Unmarshal(body, ar)
	objectErr := objectError(err)
	switch {
	case err != nil && objectErr == nil:
		return nil, malformed("the body is no AdmissionReview in JSON: %.200v", err)
	case ar.Kind != "AdmissionReview":
		return nil, malformed("kind is %.80q, want AdmissionReview", ar.Kind)
	case !slices.Contains(reviewVersions, ar.APIVersion):
		return nil, malformed("apiVersion is %.80q, want one of %v", ar.APIVersion, reviewVersions)
	case ar.Request == nil:
		return nil, malformed("the review has no request")
	case ar.Request.UID == "":
		return nil, malformed("the request has no uid")
	case len(ar.Request.Name) > longestName || len(ar.Request.Namespace) > longestName:
		return nil, malformed("a name is longer than %d bytes", longestName)
	}
	ar.Request.unreadable, ar.body = objectErr, body
	return ar, nil
}

// objectError returns an error if err is about one of the objects, and nil otherwise.
func objectError(err error) error {
	wrong, isType := errors.AsType[*stdjson.UnmarshalTypeError](err)
	if !isType {
		return nil
	}
	path := strings.TrimPrefix(wrong.Field, "request.")
	object, _, _ := strings.Cut(path, ".")
	if path == wrong.Field || object != "object" && object != "oldObject" {
		return nil
	}
	return fmt.Errorf("%.80s is a %.40s", path, wrong.Value)
}

// reviewResponse is an AdmissionReview with a response.
type reviewResponse struct {
	metav1.TypeMeta `json:",inline"`
	Response        response `json:"response"`
}

type response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *metav1.Status    `json:"status,omitempty"`
	Patch            []byte            `json:"patch,omitempty"`
	PatchType        string            `json:"patchType,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

// answer returns the encoded review with the verdict.
func (q *review) answer(v Verdict) ([]byte, error) {
	out := reviewResponse{
		TypeMeta: q.TypeMeta,
		Response: response{UID: q.Request.UID, Allowed: v.Allowed, Status: v.status(), Warnings: v.Warnings},
	}
	if v.Reason != "" {
		out.Response.AuditAnnotations = map[string]string{"reason": string(v.Reason)}
	}
	if v.Allowed && len(v.Patch) > 0 {
		out.Response.Patch, out.Response.PatchType = v.Patch, "JSONPatch"
	}
	return json.Marshal(out)
}
