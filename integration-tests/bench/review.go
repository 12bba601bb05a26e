package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// question is an AdmissionReview around the UID of its request.
type question struct {
	path       string
	head, tail []byte
}

func (q question) review(uid types.UID) []byte {
	return bytes.Join([][]byte{q.head, q.tail}, []byte(uid))
}

// ask makes the question whether an object may become another one, as an API
// server asks it.
func ask(path string, kind metav1.GroupVersionKind, subresource string, before, after metav1.Object) (question, error) {
	var objects [2]runtime.RawExtension
	for i, object := range []metav1.Object{before, after} {
		text, err := json.Marshal(object)
		if err != nil {
			return question{}, fmt.Errorf("encode %s: %w", object.GetName(), err)
		}
		objects[i].Raw = text
	}
	sets := metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	return put(path, admissionv1.AdmissionRequest{
		Kind: kind, Resource: sets, SubResource: subresource,
		RequestKind: &kind, RequestResource: &sets, RequestSubResource: subresource,
		Namespace: before.GetNamespace(), Name: before.GetName(), Operation: admissionv1.Update,
		OldObject: objects[0], Object: objects[1],
	})
}

// askEviction makes the question whether a pod may be evicted.
func askEviction(e *policyv1.Eviction) (question, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return question{}, fmt.Errorf("encode eviction of %s: %w", e.Name, err)
	}
	kind := metav1.GroupVersionKind{Group: policyv1.GroupName, Version: "v1", Kind: "Eviction"}
	pods := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	return put("/admission/"+podEviction, admissionv1.AdmissionRequest{
		Kind: kind, Resource: pods, SubResource: "eviction",
		RequestKind: &kind, RequestResource: &pods, RequestSubResource: "eviction",
		Namespace: e.Namespace, Name: e.Name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: text},
	})
}

// put makes a question of a request for real, whatever its UID will be.
func put(path string, r admissionv1.AdmissionRequest) (question, error) {
	const place types.UID = "the-uid-of-the-request"
	r.UID, r.DryRun = place, new(false)
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &r,
	})
	if err != nil {
		return question{}, fmt.Errorf("encode review of %s: %w", r.Name, err)
	}
	head, tail, _ := bytes.Cut(text, []byte(place))
	return question{path, head, tail}, nil
}

// askScale asks about a StatefulSet through its /scale, as it stands now.
func (a *arena) askScale(ctx context.Context, path, namespace, name string, by int32) (question, error) {
	before, err := a.client.AppsV1().StatefulSets(namespace).GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		return question{}, fmt.Errorf("read scale of %s/%s: %w", namespace, name, err)
	}
	before.TypeMeta = metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}
	after := before.DeepCopy()
	after.Spec.Replicas += by
	return ask(path, autoscalingScale, "scale", before, after)
}

var autoscalingScale = metav1.GroupVersionKind{Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale"}

// askNobodyKnows asks about a whole StatefulSet that does not say how many
// replicas it has, before or after.
func (a *arena) askNobodyKnows(ctx context.Context, path, namespace, name string) (question, error) {
	before, err := a.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return question{}, fmt.Errorf("read %s/%s: %w", namespace, name, err)
	}
	before.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
	before.Spec.Replicas = nil
	return ask(path, metav1.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "StatefulSet"}, "", before, before.DeepCopy())
}

// answer is what is read of an answer.
type answer struct {
	Response struct {
		UID     types.UID `json:"uid"`
		Allowed bool      `json:"allowed"`
		Notes   struct {
			Reason string `json:"reason"`
		} `json:"auditAnnotations"`
	} `json:"response"`
}

// listener is a webhook, as an API server knows it.
type listener struct {
	address string
	client  *http.Client
}

func newListener(address string, bundle []byte) listener {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return listener{address, &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
	}}
}

// asked returns the answer to a review.
func (l listener) asked(ctx context.Context, q question, uid types.UID) (answer, error) {
	var got answer
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.address+q.path+"?timeout=10s", bytes.NewReader(q.review(uid)))
	if err != nil {
		return got, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	response, err := l.client.Do(r)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return got, err
	case response.StatusCode != http.StatusOK:
		return got, fmt.Errorf("%s: %.200s", response.Status, text)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return got, err
	}
	if got.Response.UID != uid {
		return got, fmt.Errorf("%s is the answer to %s", got.Response.UID, uid)
	}
	return got, nil
}
