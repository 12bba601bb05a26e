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

// reviewVersions are the versions of AdmissionReview that are understood. Each
// is answered in the version asked; what is read of them is the same in both.
var reviewVersions = []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1"}

// review is the part of an AdmissionReview that is read.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *request `json:"request"`

	body []byte // all of it, for those who read more of an object
}

// request is the part of an AdmissionRequest that is read.
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

	unreadable error // one of the objects has something of another type than expected
}

type resource struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
}

// refusal is an HTTP error: the request was no review that can be answered.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

func malformed(why string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Sprintf(why, args...)}
}

// readReview reads the review that a POST brings along. How large one may be is up to
// whoever listens.
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

// longestName is that of any object that webhooks are asked about.
const longestName = 253

// parseReview decodes as the API server does: keys are told apart by case. An odd
// object does not make the review unreadable.
func parseReview(body []byte) (*review, error) {
	asked := new(review)
	err := json.Unmarshal(body, asked)
	odd := oddObject(err)
	switch {
	case err != nil && odd == nil:
		return nil, malformed("the body is no AdmissionReview in JSON: %.200v", err)
	case asked.Kind != "AdmissionReview":
		return nil, malformed("kind is %.80q, want AdmissionReview", asked.Kind)
	case !slices.Contains(reviewVersions, asked.APIVersion):
		return nil, malformed("apiVersion is %.80q, want one of %v", asked.APIVersion, reviewVersions)
	case asked.Request == nil:
		return nil, malformed("the review has no request")
	case asked.Request.UID == "":
		return nil, malformed("the request has no uid")
	case len(asked.Request.Name) > longestName || len(asked.Request.Namespace) > longestName:
		return nil, malformed("a name is longer than %d bytes", longestName)
	}
	asked.Request.unreadable, asked.body = odd, body
	return asked, nil
}

// oddObject returns the error if it is about one of the objects and nothing else.
func oddObject(err error) error {
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

// answeredReview is an AdmissionReview with a response.
type answeredReview struct {
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

// answer makes the review that says so.
func (q *review) answer(v Verdict) ([]byte, error) {
	said := answeredReview{
		TypeMeta: q.TypeMeta,
		Response: response{UID: q.Request.UID, Allowed: v.Allowed, Status: v.status(), Warnings: v.Warnings},
	}
	if v.Reason != "" {
		said.Response.AuditAnnotations = map[string]string{"reason": string(v.Reason)}
	}
	if v.Allowed && len(v.Patch) > 0 {
		said.Response.Patch, said.Response.PatchType = v.Patch, "JSONPatch"
	}
	return json.Marshal(said)
}
