package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Record is the content of the Secret.
type Record struct {
	CA      []byte // the CA bundle for clients, newest first, in PEM like the other fields
	Serving Pair
	Next    Pair // issued, and not served yet

	// Since is the time at which the wait of this phase began; zero if it has not begun.
	Since time.Time
	// Asked is the last rotation that a user requested, Answered the last one that began.
	Asked, Answered string
}

// Pair is a certificate with its key.
type Pair struct{ Cert, Key []byte }

// Keys of the Secret. The predecessor uses the first three.
const (
	keyCA       = "ca"
	keyCert     = "cert"
	keyKey      = "key"
	keyNextCert = "next-cert"
	keyNextKey  = "next-key"
)

// decode returns the record of a Secret. A nil Secret has an empty record. An invalid time
// counts as none, so that the wait begins again.
func decode(secret *corev1.Secret) Record {
	if secret == nil {
		return Record{}
	}
	since, err := time.Parse(time.RFC3339Nano, secret.Annotations[contract.RotationSinceAnnotation])
	if err != nil {
		since = time.Time{}
	}
	return Record{
		CA:       secret.Data[keyCA],
		Serving:  Pair{secret.Data[keyCert], secret.Data[keyKey]},
		Next:     Pair{secret.Data[keyNextCert], secret.Data[keyNextKey]},
		Since:    since,
		Asked:    secret.Annotations[contract.RotateAnnotation],
		Answered: secret.Annotations[contract.RotatedAnnotation],
	}
}

// encode returns a copy of the Secret with the record r. Other fields stay as they are.
func encode(secret *corev1.Secret, r Record) *corev1.Secret {
	since := ""
	if !r.Since.IsZero() {
		since = r.Since.UTC().Format(time.RFC3339Nano)
	}
	next := secret.DeepCopy()
	next.Data = withEach(next.Data, map[string][]byte{
		keyCA: r.CA, keyCert: r.Serving.Cert, keyKey: r.Serving.Key, keyNextCert: r.Next.Cert, keyNextKey: r.Next.Key,
	})
	next.Annotations = withEach(next.Annotations, map[string]string{
		contract.RotateAnnotation: r.Asked, contract.RotatedAnnotation: r.Answered, contract.RotationSinceAnnotation: since,
	})
	return next
}

// withEach sets the entries that have a value and removes the entries that have none.
func withEach[V ~string | ~[]byte](all, entries map[string]V) map[string]V {
	if all == nil {
		all = map[string]V{}
	}
	for name, value := range entries {
		all[name] = value
		if len(value) == 0 {
			delete(all, name)
		}
	}
	return all
}

// unusable returns an error if lockstep cannot write the Secret.
func unusable(secret *corev1.Secret) error {
	const remedy = "delete it, or name another one with -server-tls.self-signed-cert.secret-name"
	switch {
	case secret == nil:
		return nil
	case secret.Type != corev1.SecretTypeOpaque && secret.Type != "":
		return fmt.Errorf("write Secret %s/%s: its type is %s, must be %s: %s",
			secret.Namespace, secret.Name, secret.Type, corev1.SecretTypeOpaque, remedy)
	case secret.Immutable != nil && *secret.Immutable:
		return fmt.Errorf("write Secret %s/%s: the Secret is immutable, so lockstep cannot renew the certificate: %s", secret.Namespace, secret.Name, remedy)
	}
	return nil
}
