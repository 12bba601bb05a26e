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

// review is an AdmissionReview, split around the UID of its request.
type review struct {
	path                string
	beforeUID, afterUID []byte
}

func (q review) withUID(uid types.UID) []byte {
	return bytes.Join([][]byte{q.beforeUID, q.afterUID}, []byte(uid))
}

// newUpdateReview returns the review of an update, as an API server sends it.
func newUpdateReview(path string, kind metav1.GroupVersionKind, subresource string, before, after metav1.Object) (review, error) {
	var objects [2]runtime.RawExtension
	for i, object := range []metav1.Object{before, after} {
		text, err := json.Marshal(object)
		if err != nil {
			return review{}, fmt.Errorf("encode %s: %w", object.GetName(), err)
		}
		objects[i].Raw = text
	}
	sets := metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	return newReview(path, admissionv1.AdmissionRequest{
		Kind: kind, Resource: sets, SubResource: subresource,
		RequestKind: &kind, RequestResource: &sets, RequestSubResource: subresource,
		Namespace: before.GetNamespace(), Name: before.GetName(), Operation: admissionv1.Update,
		OldObject: objects[0], Object: objects[1],
	})
}

// newEvictionReview returns the review of an eviction.
func newEvictionReview(e *policyv1.Eviction) (review, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return review{}, fmt.Errorf("encode eviction of %s: %w", e.Name, err)
	}
	kind := metav1.GroupVersionKind{Group: policyv1.GroupName, Version: "v1", Kind: "Eviction"}
	pods := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	return newReview("/admission/"+podEviction, admissionv1.AdmissionRequest{
		Kind: kind, Resource: pods, SubResource: "eviction",
		RequestKind: &kind, RequestResource: &pods, RequestSubResource: "eviction",
		Namespace: e.Namespace, Name: e.Name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: text},
	})
}

// newReview encodes the review of a request that is not a dry run, with a placeholder for its UID.
func newReview(path string, r admissionv1.AdmissionRequest) (review, error) {
	const place types.UID = "the-uid-of-the-request"
	r.UID, r.DryRun = place, new(false)
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &r,
	})
	if err != nil {
		return review{}, fmt.Errorf("encode review of %s: %w", r.Name, err)
	}
	head, tail, _ := bytes.Cut(text, []byte(place))
	return review{path, head, tail}, nil
}

// scaleReview returns the review of a change through /scale, from the current state.
func (tb *testbed) scaleReview(ctx context.Context, path, namespace, name string, by int32) (review, error) {
	before, err := tb.client.AppsV1().StatefulSets(namespace).GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		return review{}, fmt.Errorf("read scale of %s/%s: %w", namespace, name, err)
	}
	before.TypeMeta = metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}
	after := before.DeepCopy()
	after.Spec.Replicas += by
	return newUpdateReview(path, autoscalingScale, "scale", before, after)
}

var autoscalingScale = metav1.GroupVersionKind{Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale"}

// unknownReplicasReview returns the review of a StatefulSet without spec.replicas, before and after.
func (tb *testbed) unknownReplicasReview(ctx context.Context, path, namespace, name string) (review, error) {
	before, err := tb.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return review{}, fmt.Errorf("read %s/%s: %w", namespace, name, err)
	}
	before.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
	before.Spec.Replicas = nil
	return newUpdateReview(path, metav1.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "StatefulSet"}, "", before, before.DeepCopy())
}

// reviewAnswer contains the fields that the bench reads of an answer.
type reviewAnswer struct {
	Response struct {
		UID              types.UID `json:"uid"`
		Allowed          bool      `json:"allowed"`
		AuditAnnotations struct {
			Reason string `json:"reason"`
		} `json:"auditAnnotations"`
	} `json:"response"`
}

// webhookClient calls a webhook as an API server does.
type webhookClient struct {
	address string
	client  *http.Client
}

func newWebhookClient(address string, bundle []byte) webhookClient {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return webhookClient{address, &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
	}}
}

// send sends a review and returns the answer.
func (c webhookClient) send(ctx context.Context, q review, uid types.UID) (reviewAnswer, error) {
	var got reviewAnswer
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.address+q.path+"?timeout=10s", bytes.NewReader(q.withUID(uid)))
	if err != nil {
		return got, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	response, err := c.client.Do(r)
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
