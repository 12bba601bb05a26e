package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Answer returns an object as the body of a response.
func Answer(code int, object any) *http.Response {
	if o, ok := object.(runtime.Object); ok {
		object = typed(o)
	}
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return respond(code, io.NopCloser(bytes.NewReader(body)))
}

// Refusal returns the answer of an API server that rejects a request.
func Refusal(code int32, why metav1.StatusReason, details ...string) *http.Response {
	message := strings.Join(append([]string{string(why)}, details...), ": ")
	return Answer(int(code), &metav1.Status{Status: metav1.StatusFailure, Reason: why, Code: code, Message: message})
}

func respond(code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}},
		Body:   body,
	}
}

// typed returns the object with its kind. API servers send the kind; objects in Go code
// usually lack it. A kind that is set is kept.
func typed(object runtime.Object) runtime.Object {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil || !object.GetObjectKind().GroupVersionKind().Empty() {
		return object
	}
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return object
}
