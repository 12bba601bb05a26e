package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
)

func TestRequirementsOfWebhooks(t *testing.T) {
	const anySecret, anyConfiguration = "create secrets ", "patch validatingwebhookconfigurations "
	own := []string{"-server-tls.cert-file=c", "-server-tls.key-file=k"}
	for sentence, tc := range map[string]struct {
		args []string
		want []string
	}{
		"no permissions without webhooks":              {nil, nil},
		"a Secret, and all configurations":             {[]string{"-server-tls.enabled"}, []string{anySecret, "update secrets lockstep-webhook-certificate", anyConfiguration}},
		"the Secret of that name":                      {[]string{"-server-tls.enabled", "-server-tls.self-signed-cert.secret-name=x"}, []string{anySecret, "update secrets x", anyConfiguration}},
		"the configurations that are named":            {[]string{"-server-tls.enabled", "-webhooks.ca-bundle-names=x"}, []string{anySecret, "update secrets lockstep-webhook-certificate", anyConfiguration + "x"}},
		"a Secret, if another program injects the CA":  {[]string{"-server-tls.enabled", "-webhooks.update-ca-bundle=false"}, []string{anySecret, "update secrets lockstep-webhook-certificate"}},
		"no permissions with a certificate from files": {append([]string{"-server-tls.enabled"}, own...), nil},
		"configurations where its CA is injected":      {append([]string{"-server-tls.enabled", "-server-tls.ca-file=a"}, own...), []string{anyConfiguration}},
		"only reads in a dry run":                      {[]string{"-server-tls.enabled", "-dry-run"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, _, err := config.Parse(tc.args, config.Environment{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, need := range needed(c) {
				if need.Resource != "secrets" && need.Resource != "validatingwebhookconfigurations" {
					continue
				}
				for _, verb := range need.Verbs {
					if slices.Contains([]string{"create", "update", "patch"}, verb) {
						got = append(got, verb+" "+need.Resource+" "+need.Name)
					}
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// cabinet contains a certificate in some state.
type cabinet struct{ ready, trouble error }

func (cabinet) Watch(context.Context)                   {}
func (cabinet) Run(context.Context)                     {}
func (cabinet) Recheck()                                {}
func (cabinet) Bundle() []byte                          { return nil }
func (cabinet) Confirm(context.Context) ([]byte, error) { return nil, nil }
func (c cabinet) Ready() error                          { return c.ready }
func (c cabinet) RenewalError() error                   { return c.trouble }
func (cabinet) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return nil, nil
}

func TestReadinessReportsTheCertificate(t *testing.T) {
	expired, waits := errors.New("it has expired"), errors.New("it waits for x")
	for sentence, tc := range map[string]struct {
		cabinet
		status int
		says   string
	}{
		"all is well": {cabinet{}, 200, "certificate: ok"},
		"an error that prevents its renewal does not prevent calls": {cabinet{nil, waits}, 200, "certificate: it waits for x"},
		"a certificate that no API server accepts does":             {cabinet{expired, waits}, 500, "certificate: it has expired"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newShown(t)
			o.webhooks = &webhooks{operator: o, certificates: tc.cabinet}
			status, text := probe(t, server.Check{Name: "certificate", Probe: o.webhooks.served})
			if status != tc.status || !strings.Contains(text, tc.says) {
				t.Errorf("got %d %q, want %d %q", status, text, tc.status, tc.says)
			}
		})
	}
}

// probe sends a request like the kubelet's probes.
func probe(t *testing.T, check server.Check) (int, string) {
	t.Helper()
	s, err := server.Listen(t.Context(), server.Options{Host: "127.0.0.1", Ready: []server.Check{check}, Log: newShown(t).log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address()+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
