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
	// certificateSecret contains lockstep's certificate and its CA.
	certificateSecret = "lockstep-webhook-certificate"
	// servingWebhooks is the log message with the address of the webhooks; listening is the one with
	// the address of the metrics.
	servingWebhooks = "serving webhooks"
	listening       = "listening"
)

// endpoints are the webhooks that answer reviews.
type endpoints struct {
	bundle  []byte
	clients map[string]webhookClient // by contender
}

// startWebhooks starts lockstep with its webhooks, and the floor's webhook.
func (tb *testbed) startWebhooks(ctx context.Context, namespaces ...string) (*endpoints, error) {
	lockstep := tb.contenders[1]
	if err := tb.allowServingWebhooks(ctx, lockstep); err != nil {
		return nil, err
	}
	lockstep.command += " -server-tls.enabled -server-tls.port=0 -server-tls.self-signed-cert.dns-name=127.0.0.1"
	if err := tb.start(ctx, lockstep, namespaces...); err != nil {
		return nil, err
	}
	e := &endpoints{clients: map[string]webhookClient{}}
	return e, tb.findEndpoints(ctx, e)
}

// allowServingWebhooks grants lockstep the permissions that webhooks need.
func (tb *testbed) allowServingWebhooks(ctx context.Context, c *contender) error {
	if err := tb.cluster.Apply(ctx, manifests+"/webhooks/certificate/role.yaml", manifests+"/webhooks/inject.yaml"); err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               c.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: lockstepHome, Verb: "update", Resource: "secrets", Name: certificateSecret},
	}}
	return tb.await(ctx, "right to keep a certificate", 1, func() (int, error) {
		answer, err := tb.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || !answer.Status.Allowed {
			return 0, err
		}
		return 1, nil
	})
}

// findEndpoints finds lockstep's endpoint and starts the floor's with the same certificate.
func (tb *testbed) findEndpoints(ctx context.Context, e *endpoints) error {
	var secret *corev1.Secret
	err := tb.await(ctx, "certificate", 1, func() (int, error) {
		var err error
		secret, err = tb.client.CoreV1().Secrets(lockstepHome).Get(ctx, certificateSecret, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && len(secret.Data["cert"]) == 0 {
			return 0, nil
		}
		return 1, err
	})
	if err != nil {
		return err
	}
	e.bundle = secret.Data["ca"]
	if err := tb.startAllowAll(ctx, secret.Data["cert"], secret.Data["key"]); err != nil {
		return err
	}
	return tb.await(ctx, "webhooks that are served", 2, func() (int, error) {
		for _, c := range tb.contenders[:2] {
			address, err := addressIn(c.processes[0].log, servingWebhooks)
			if err != nil || address == "" {
				return len(e.clients), err
			}
			e.clients[c.name] = newWebhookClient(address, e.bundle)
		}
		return len(e.clients), nil
	})
}

// addressIn returns the address in the log entry with a message, or an empty string if the log does
// not contain it yet.
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

// handlerDurations returns lockstep's own histogram of a webhook, or an empty one if no webhook is
// named.
func (tb *testbed) handlerDurations(ctx context.Context, webhook string) (buckets, error) {
	if webhook == "" {
		return buckets{}, nil
	}
	text, err := tb.contenders[1].processes[0].read(ctx, "/metrics")
	if err != nil {
		return buckets{}, err
	}
	return bucketsOf(text, "lockstep_admission_duration_seconds", "webhook", webhook)
}
