package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// certificateSecret has lockstep's certificate and the CA that it is by.
	certificateSecret = "lockstep-webhook-certificate"
	// servingWebhooks is what a webhook logs beside its address, and listening what
	// lockstep logs beside that of its metrics.
	servingWebhooks = "serving webhooks"
	listening       = "listening"
)

// endpoints are who answers reviews.
type endpoints struct {
	bundle    []byte
	listeners map[string]listener // by racer
}

// serve starts lockstep with its webhooks, and the floor's.
func (a *arena) serve(ctx context.Context, namespaces ...string) (*endpoints, error) {
	lockstep := a.racers[1]
	if err := a.mayServeWebhooks(ctx, lockstep); err != nil {
		return nil, err
	}
	lockstep.command += " -server-tls.enabled -server-tls.port=0 -server-tls.self-signed-cert.dns-name=127.0.0.1"
	if err := a.start(ctx, lockstep, namespaces...); err != nil {
		return nil, err
	}
	e := &endpoints{listeners: map[string]listener{}}
	return e, a.listen(ctx, e)
}

// mayServeWebhooks gives lockstep the rights beyond those to roll.
func (a *arena) mayServeWebhooks(ctx context.Context, r *racer) error {
	if err := a.cluster.Apply(ctx, manifests+"/webhooks/certificate/role.yaml", manifests+"/webhooks/inject.yaml"); err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               r.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: lockstepHome, Verb: "update", Resource: "secrets", Name: certificateSecret},
	}}
	return a.await(ctx, "right to keep a certificate", 1, func() (int, error) {
		answer, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || !answer.Status.Allowed {
			return 0, err
		}
		return 1, nil
	})
}

// listen finds lockstep's endpoint, and starts the floor's with the same
// certificate.
func (a *arena) listen(ctx context.Context, e *endpoints) error {
	var secret *corev1.Secret
	err := a.await(ctx, "certificate", 1, func() (int, error) {
		var err error
		secret, err = a.client.CoreV1().Secrets(lockstepHome).Get(ctx, certificateSecret, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && len(secret.Data["cert"]) == 0 {
			return 0, nil
		}
		return 1, err
	})
	if err != nil {
		return err
	}
	e.bundle = secret.Data["ca"]
	if err := a.startAllowAll(ctx, secret.Data["cert"], secret.Data["key"]); err != nil {
		return err
	}
	return a.await(ctx, "webhooks that are served", 2, func() (int, error) {
		for _, r := range a.racers[:2] {
			address, err := addressIn(r.processes[0].log, servingWebhooks)
			if err != nil || address == "" {
				return len(e.listeners), err
			}
			e.listeners[r.name] = newListener(address, e.bundle)
		}
		return len(e.listeners), nil
	})
}

// addressIn returns the address that a log tells with some words, if it does yet.
func addressIn(log, words string) (string, error) {
	file, err := os.Open(log)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == words {
			return entry.Address, nil
		}
	}
	return "", nil
}

// handled returns what lockstep's own metric says of a webhook, and nothing of none.
func (a *arena) handled(ctx context.Context, webhook string) (buckets, error) {
	if webhook == "" {
		return buckets{}, nil
	}
	text, err := a.racers[1].processes[0].read(ctx, "/metrics")
	if err != nil {
		return buckets{}, err
	}
	return bucketsOf(text, "lockstep_admission_duration_seconds", "webhook", webhook)
}
