package cabundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
)

var endpoint = cabundle.Endpoint{Namespace: "lockstep-system", Name: "lockstep", Port: 443, Paths: []string{"/yes", "/no"}, Guards: []string{"/yes"}}

// calling returns a client configuration that names the Service.
func calling(namespace, name, path string, port *int32) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		CABundle: []byte("A"),
		Service:  &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Path: &path, Port: port},
	}
}

func at(url, bundle string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{CABundle: []byte(bundle), URL: &url}
}

func TestFaultsAreFound(t *testing.T) {
	const home, service = "lockstep-system", "lockstep"
	for sentence, tc := range map[string]struct {
		client admissionregistrationv1.WebhookClientConfig
		want   []cabundle.FaultKind
	}{
		"all is well":             {calling(home, service, "/yes", nil), nil},
		"no faults, and logged":   {calling(home, service, "/no", new(int32(443))), nil},
		"all is well without one": {at("https://192.0.2.1:8443/yes", "A"), nil},
		"another Service":         {calling(home, "other", "/yes", new(int32(8443))), nil},
		"a Service elsewhere":     {calling("team", service, "/yes", nil), []cabundle.FaultKind{cabundle.FaultService}},
		"another port":            {calling(home, service, "/yes", new(int32(8443))), []cabundle.FaultKind{cabundle.FaultPort}},
		"another path":            {calling(home, service, "/yes/", nil), []cabundle.FaultKind{cabundle.FaultPath}},
		"no path":                 {calling(home, service, "", nil), []cabundle.FaultKind{cabundle.FaultPath}},
		"another path in a URL":   {at("https://192.0.2.1:8443/", "A"), []cabundle.FaultKind{cabundle.FaultPath}},
		"another CA":              {at("https://192.0.2.1:8443/yes", "B"), []cabundle.FaultKind{cabundle.FaultBundle}},
		"no CA, and another path": {at("https://192.0.2.1:8443/", ""), []cabundle.FaultKind{cabundle.FaultBundle, cabundle.FaultPath}},
	} {
		t.Run(sentence, func(t *testing.T) {
			// a dry run, so that the CA is not written
			withInjector(t, func(o *cabundle.Options) { o.DryRun = true }, func(p *injector) {
				p.change(validating, "x", func(c *configuration) bool {
					c.Labels = map[string]string{contract.InjectLabel: "true"}
					c.Webhooks = []admissionregistrationv1.MutatingWebhook{{Name: "x.lockstep.dev", ClientConfig: tc.client}}
					return true
				})
				p.all()
				var got []cabundle.FaultKind
				for _, fault := range p.Faults(endpoint) {
					if got = append(got, fault.Kind); fault.Key != (cabundle.Key{Kind: cabundle.Validating, Name: "x"}) {
						p.Errorf("%s is not at fault", fault.Key)
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					p.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

func TestFaultNamesItsPlaceAndWhatToDo(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.change(mutating, "x", func(c *configuration) bool {
			c.Labels = map[string]string{contract.InjectLabel: "true"}
			c.Webhooks = []admissionregistrationv1.MutatingWebhook{{Name: "x.lockstep.dev", ClientConfig: calling("team", "x", "/none", nil)}}
			return true
		})
		p.all()
		var got []string
		for _, fault := range p.Faults(endpoint) {
			got = append(got, fault.Key.String()+" "+fault.Webhook+": "+fault.What)
		}
		want := []string{
			"MutatingWebhookConfiguration x x.lockstep.dev: names the Service team/x, which cannot lead to lockstep's pods; name lockstep-system/lockstep",
			`MutatingWebhookConfiguration x x.lockstep.dev: names the path "/none"; served are /yes, /no`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			p.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestGuardWithFailurePolicyIgnoreIsAFault(t *testing.T) {
	ignore, fail := admissionregistrationv1.Ignore, admissionregistrationv1.Fail
	for sentence, tc := range map[string]struct {
		path   string
		policy *admissionregistrationv1.FailurePolicyType
		want   int
	}{
		"it guards":                            {"/yes", &ignore, 1},
		"it guards, and is waited for":         {"/yes", &fail, 0},
		"its default rules cover the requests": {"/yes", nil, 0},
		"it covers no resource":                {"/no", &ignore, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			withInjector(t, func(o *cabundle.Options) { o.DryRun = true }, func(p *injector) {
				p.change(validating, "x", func(c *configuration) bool {
					c.Labels = map[string]string{contract.InjectLabel: "true"}
					client := calling("lockstep-system", "lockstep", tc.path, nil)
					c.Webhooks = []admissionregistrationv1.MutatingWebhook{{Name: "x.lockstep.dev", ClientConfig: client, FailurePolicy: tc.policy}}
					return true
				})
				p.all()
				got := p.Faults(endpoint)
				if len(got) != tc.want || (tc.want > 0 && got[0].Kind != cabundle.FaultIgnored) {
					p.Errorf("got %v, want %d", got, tc.want)
				}
			})
		})
	}
}

func TestUncalledGuardIsAFault(t *testing.T) {
	withInjector(t, func(o *cabundle.Options) { o.DryRun = true }, func(p *injector) {
		wanted := endpoint
		wanted.Wanted = []string{"/yes", "/no"}
		p.change(validating, "x", func(c *configuration) bool {
			c.Labels = map[string]string{contract.InjectLabel: "true"}
			client := calling("lockstep-system", "lockstep", "/yes", nil)
			c.Webhooks = []admissionregistrationv1.MutatingWebhook{{Name: "x.lockstep.dev", ClientConfig: client}}
			return true
		})
		p.change(mutating, "other", func(c *configuration) bool {
			client := calling("other", "other", "/no", nil)
			c.Webhooks = []admissionregistrationv1.MutatingWebhook{{Name: "y.other.dev", ClientConfig: client}}
			return true
		})
		p.all()
		got := p.Faults(wanted)
		if len(got) != 1 || got[0].Kind != cabundle.FaultMissing || got[0].Webhook != "/no" {
			p.Errorf("got %v, want that no webhook calls /no", got)
		}
	})
}

func TestForeignConfigurationsHaveNoFaults(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(validating, "other", map[string]string{"app": "other"}, "B")
		p.apply(mutating, "elsewhere", map[string]string{contract.InjectLabelPredecessor: "true", contract.InjectNamespaceLabel: "nobody"}, "B")
		if got := p.Faults(endpoint); got != nil {
			p.Errorf("got %v", got)
		}
	})
}
