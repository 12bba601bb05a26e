package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Record is what the Secret says.
type Record struct {
	CA      []byte // what clients should trust, the newest first; PEM, like the others
	Serving Pair
	Next    Pair // made, and not served yet

	// Since is when the wait of the present phase began; zero: not yet.
	Since time.Time
	// Asked is the last rotation somebody asked for, Answered the last one made.
	Asked, Answered string
}

// Pair is a certificate with its key.
type Pair struct{ Cert, Key []byte }

// Keys of the Secret. The first three are those of the predecessor.
const (
	keyCA       = "ca"
	keyCert     = "cert"
	keyKey      = "key"
	keyNextCert = "next-cert"
	keyNextKey  = "next-key"
)

// decode reads a Secret; nil is an empty record. A time that cannot be read
// counts as none, so that the wait begins anew.
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

// encode returns the Secret with that record in place of the one it has, and
// all else as it was.
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

// withEach sets the entries that have a value and removes the others.
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

// unfit says why a Secret cannot be written by lockstep; nil if it can.
func unfit(secret *corev1.Secret) error {
	const remedy = "delete it, or name another one with -server-tls.self-signed-cert.secret-name"
	switch {
	case secret == nil:
		return nil
	case secret.Type != corev1.SecretTypeOpaque && secret.Type != "":
		return fmt.Errorf("the Secret %s/%s is of type %s, and lockstep keeps its certificate in one of type %s: %s",
			secret.Namespace, secret.Name, secret.Type, corev1.SecretTypeOpaque, remedy)
	case secret.Immutable != nil && *secret.Immutable:
		return fmt.Errorf("the Secret %s/%s is immutable, so its certificate cannot be renewed: %s", secret.Namespace, secret.Name, remedy)
	}
	return nil
}
