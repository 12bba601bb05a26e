package cabundle_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// injector is a running Controller with its certificates and namespaces.
type injector struct {
	*testing.T
	*apiServer
	*cabundle.Controller
	lines *logtest.Hook
	loop  *loop.Loop[cabundle.Key]

	mu       sync.Mutex
	known    string // the bundle as the replica knows it
	real     string // as the API server has it
	managed  []string
	unsynced bool
}

func (p *injector) Bundle() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []byte(p.known)
}

func (p *injector) Confirm(context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.real == "" {
		return nil, errors.New("there is no Secret")
	}
	return []byte(p.real), nil
}

func (p *injector) Managed(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.managed, namespace)
}

func (p *injector) Synced() bool { return !p.unsynced }

// certify sets the bundle and notifies the injector.
func (p *injector) certify(bundle string) {
	p.mu.Lock()
	p.known, p.real = bundle, bundle
	p.mu.Unlock()
	p.all()
}

// manage sets the managed namespaces and notifies the injector.
func (p *injector) manage(namespaces ...string) {
	p.mu.Lock()
	p.managed = namespaces
	p.mu.Unlock()
	p.all()
}

func (p *injector) all() {
	for _, key := range p.Keys() {
		p.loop.Add(key)
	}
	time.Sleep(time.Second)
}

const ours = "team"

// withInjector runs a test with an injector that has the bundle "A" and manages one
// namespace.
func withInjector(t *testing.T, change func(*cabundle.Options), test func(*injector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, lines := logtest.NewNullLogger()
		p := &injector{T: t, apiServer: newRegistry(), lines: lines, known: "A", real: "A", managed: []string{ours}}
		options := cabundle.Options{Client: apitest.Client(t, p.apiServer), Certificates: p, Namespaces: p, Log: log}
		if change != nil {
			change(&options)
		}
		var err error
		if p.Controller, err = cabundle.New(options); err != nil {
			t.Fatal(err)
		}
		p.loop = loop.New(loop.Options[cabundle.Key]{Name: "cabundle", Reconcile: p.Reconcile, Log: log})
		if err := p.Listen(cabundle.Listener{Changed: p.loop.Add}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.Watch(ctx)
		go p.loop.Run(ctx)
		time.Sleep(time.Second)
		test(p)
		stop()
		synctest.Wait()
	})
}

// apply writes a configuration with labels and one webhook for each bundle, and
// waits for the injector.
func (p *injector) apply(resource, name string, labels map[string]string, bundles ...string) {
	p.change(resource, name, func(c *configuration) bool {
		c.Labels, c.Webhooks = labels, nil
		for i, bundle := range bundles {
			client := admissionregistrationv1.WebhookClientConfig{CABundle: []byte(bundle)}
			if i%2 == 0 {
				client.Service = &admissionregistrationv1.ServiceReference{Namespace: "lockstep-system", Name: name}
			} else {
				client.URL = new("https://127.0.0.1:8443")
			}
			c.Webhooks = append(c.Webhooks, admissionregistrationv1.MutatingWebhook{Name: name, ClientConfig: client})
		}
		return true
	})
	time.Sleep(time.Second)
}

func (p *injector) wants(resource, name string, want ...string) {
	p.Helper()
	if diff := cmp.Diff(want, p.bundles(resource, name)); diff != "" {
		p.Errorf("bundles of %s (-want +got):\n%s", name, diff)
	}
}

var (
	requestsCA               = map[string]string{contract.InjectLabel: "true"}
	predecessorLabels        = map[string]string{contract.InjectLabelPredecessor: "true", contract.InjectNamespaceLabel: ours}
	labelsOfAnotherNamespace = map[string]string{contract.InjectLabelPredecessor: "true", contract.InjectNamespaceLabel: "theirs"}
)

func TestCAIsInjectedOnlyWhereRequested(t *testing.T) {
	with := func(labels map[string]string, name, value string) map[string]string {
		all := map[string]string{name: value}
		for n, v := range labels {
			if n != name {
				all[n] = v
			}
		}
		return all
	}
	for sentence, tc := range map[string]struct {
		labels map[string]string
		single bool
		want   bool
	}{
		"with our label": {requestsCA, false, true},
		"with our label and a namespace that is managed":        {with(requestsCA, contract.InjectNamespaceLabel, ours), false, true},
		"not with our label and a namespace that is not":        {with(requestsCA, contract.InjectNamespaceLabel, "theirs"), false, false},
		"not with our label and another value":                  {with(requestsCA, contract.InjectLabel, "yes"), false, false},
		"with the predecessor's labels":                         {predecessorLabels, false, true},
		"not with the predecessor's and another namespace":      {labelsOfAnotherNamespace, false, false},
		"not with the predecessor's and no namespace":           {map[string]string{contract.InjectLabelPredecessor: "true"}, false, false},
		"not with a namespace alone":                            {map[string]string{contract.InjectNamespaceLabel: ours}, false, false},
		"not without labels":                                    {nil, false, false},
		"from the operator of one namespace if it names that":   {with(requestsCA, contract.InjectNamespaceLabel, ours), true, true},
		"not from the operator of one namespace without a name": {requestsCA, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			withInjector(t, func(o *cabundle.Options) { o.Single = tc.single }, func(p *injector) {
				for _, resource := range []string{validating, mutating} {
					p.apply(resource, "x", tc.labels, "", "old")
					if tc.want {
						p.wants(resource, "x", "A", "A")
					} else {
						p.wants(resource, "x", "", "old")
					}
				}
			})
		})
	}
}

func TestOnlyNamedConfigurationsGetTheCA(t *testing.T) {
	withInjector(t, func(o *cabundle.Options) { o.Names = []string{"x", "y"} }, func(p *injector) {
		p.apply(validating, "x", nil, "")
		p.apply(mutating, "y", labelsOfAnotherNamespace, "")
		p.apply(mutating, "z", requestsCA, "")
		p.wants(validating, "x", "A")
		p.wants(mutating, "y", "A")
		p.wants(mutating, "z", "")
	})
}

func TestChangedConfigurationGetsTheCA(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", nil, "")
		p.wants(mutating, "x", "")
		p.apply(mutating, "x", requestsCA, "")
		p.wants(mutating, "x", "A")
		p.apply(mutating, "x", requestsCA, "A", "somebody's", "")
		p.wants(mutating, "x", "A", "A", "A")
		p.certify("AB")
		p.wants(mutating, "x", "AB", "AB", "AB")
		p.apply(mutating, "x", nil, "theirs")
		p.certify("B")
		p.wants(mutating, "x", "theirs")
		p.change(mutating, "x", func(*configuration) bool { return false })
		p.certify("C")
		p.apply(mutating, "x", requestsCA, "")
		p.wants(mutating, "x", "C")
	})
}

func TestInjectionFollowsOptIn(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", labelsOfAnotherNamespace, "old")
		p.wants(mutating, "x", "old")
		p.manage(ours, "theirs")
		p.wants(mutating, "x", "A")
		p.manage(ours)
		p.certify("B")
		p.wants(mutating, "x", "A")
	})
}

func TestCurrentCAIsNotWrittenAgain(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", requestsCA, "A", "A")
		p.apply(mutating, "without", requestsCA)
		p.all()
		if got := p.patches(); len(got) > 0 {
			p.Errorf("patched %q", got)
		}
	})
}

func TestOnlyConfirmedBundlesAreInjected(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.mu.Lock()
		p.real = "B" // this replica is behind
		p.mu.Unlock()
		p.apply(mutating, "x", requestsCA, "B")
		p.apply(mutating, "y", requestsCA, "old")
		p.wants(mutating, "x", "B")
		p.wants(mutating, "y", "B")
		if got := p.patches(); !slices.Equal(got, []string{"y"}) {
			p.Errorf("patched %q", got)
		}
	})
	withInjector(t, nil, func(p *injector) {
		p.mu.Lock()
		p.known = "" // no object was read yet
		p.mu.Unlock()
		p.apply(mutating, "x", requestsCA, "old")
		p.wants(mutating, "x", "old")
	})
}

func TestFailedPatchIsRetried(t *testing.T) {
	for sentence, answer := range map[string]func() *http.Response{
		"refused": func() *http.Response {
			return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		},
		"too late": func() *http.Response {
			return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "test failed")
		},
		"broken": func() *http.Response {
			return apitest.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			withInjector(t, nil, func(p *injector) {
				tries := 0
				p.intercept(func(*http.Request) *http.Response { tries++; return answer() })
				p.apply(mutating, "x", requestsCA, "")
				time.Sleep(10 * time.Minute)
				if tries < 5 || tries > 100 {
					p.Errorf("%d tries in ten minutes", tries)
				}
				p.intercept(nil)
				time.Sleep(2 * time.Minute)
				p.wants(mutating, "x", "A")
			})
		})
	}
}

func TestConcurrentEditIsNotOverwritten(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.intercept(func(*http.Request) *http.Response {
			p.intercept(nil)
			p.change(mutating, "x", func(c *configuration) bool {
				c.Webhooks = c.Webhooks[1:] // another webhook is the first one now
				c.Labels = nil
				return true
			})
			return nil
		})
		p.apply(mutating, "x", requestsCA, "old", "theirs")
		p.wants(mutating, "x", "theirs")
	})
}

func TestDryRunInjectsNothing(t *testing.T) {
	withInjector(t, func(o *cabundle.Options) { o.DryRun = true }, func(p *injector) {
		p.apply(mutating, "x", requestsCA, "")
		p.wants(mutating, "x", "")
		if !strings.Contains(p.lines.LastEntry().Message, "dry run") {
			p.Errorf("the log contains %q", p.lines.LastEntry().Message)
		}
	})
}

func TestPublishedNamesConfigurationsWithoutTheBundle(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", requestsCA, "", "")
		p.apply(validating, "theirs", labelsOfAnotherNamespace, "old")
		if err := p.Published([]byte("A")); err != nil {
			p.Errorf("all configurations have it: %v", err)
		}
		if err := p.Published([]byte("B")); err == nil || err.Error() != "MutatingWebhookConfiguration x does not have the CA yet" {
			p.Errorf("got %v", err)
		}
		p.unsynced = true
		if p.Published([]byte("A")) == nil {
			p.Error("managed namespaces are unknown, and yet all configurations are complete")
		}
	})
}

func TestServicesReturnsTheServicesOfOurConfigurations(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "one", requestsCA, "", "", "")
		p.apply(validating, "two", predecessorLabels, "")
		p.apply(validating, "theirs", labelsOfAnotherNamespace, "")
		p.apply(validating, "Not_A-Name", requestsCA, "")
		want := []string{"one.lockstep-system.svc", "two.lockstep-system.svc"}
		if diff := cmp.Diff(want, p.Services()); diff != "" {
			p.Errorf("-want +got:\n%s", diff)
		}
	})
}
