package operator

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// issuedObject is the relevant part of an Issuer or a Certificate of cert-manager.
type issuedObject struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		SelfSigned *struct{}
		CA         *struct{ SecretName string }
		IsCA       bool
		SecretName string
		Duration   string
		IssuerRef  struct{ Name string }
	}
}

// If the certificate is renewed, the CA that API servers trust stays the same.
func TestCertManagerIssuesFromACAThatLasts(t *testing.T) {
	text, err := os.ReadFile("../../manifests/webhooks/cert-manager/certificate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	issuers, certificates := map[string]issuedObject{}, map[string]issuedObject{}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o issuedObject
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if o.Kind == "Issuer" {
			issuers[o.Metadata.Name] = o
		} else {
			certificates[o.Spec.SecretName] = o
		}
	}
	served := certificates["lockstep-webhook-tls"]
	issuer := issuers[served.Spec.IssuerRef.Name]
	if issuer.Spec.CA == nil {
		t.Fatalf("%+v is issued by %+v, which is no CA", served, issuer)
	}
	ca := certificates[issuer.Spec.CA.SecretName]
	lasts, err := time.ParseDuration(ca.Spec.Duration)
	if err != nil || !ca.Spec.IsCA || lasts < 365*24*time.Hour || issuers[ca.Spec.IssuerRef.Name].Spec.SelfSigned == nil {
		t.Errorf("the CA is %+v (%v)", ca, err)
	}
}
