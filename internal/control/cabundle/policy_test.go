package cabundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
)

func TestPoliciesIncludeOurConfigurationsAndManagedNamespaces(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		configure := func(resource, name string, labels map[string]string, policies ...admissionregistrationv1.FailurePolicyType) {
			p.change(resource, name, func(c *configuration) bool {
				c.Labels, c.Webhooks = labels, nil
				for i := range policies {
					c.Webhooks = append(c.Webhooks, admissionregistrationv1.MutatingWebhook{Name: name + ".example", FailurePolicy: &policies[i]})
				}
				return true
			})
		}
		configure(validating, "a-own", requestsCA, admissionregistrationv1.Ignore)
		configure(mutating, "b-own", requestsCA, admissionregistrationv1.Fail)
		configure(validating, "c-former", predecessorLabels, admissionregistrationv1.Ignore)
		configure(validating, "d-labelled-only", map[string]string{contract.InjectNamespaceLabel: ours}, admissionregistrationv1.Ignore)
		configure(validating, "e-another", labelsOfAnotherNamespace, admissionregistrationv1.Ignore)
		configure(validating, "f-unlabelled", nil, admissionregistrationv1.Ignore)
		p.change(mutating, "g-unset", func(c *configuration) bool {
			c.Labels, c.Webhooks = predecessorLabels, []admissionregistrationv1.MutatingWebhook{{Name: "g-unset.example"}}
			return true
		})
		p.all()
		want := []cabundle.Policy{
			{Namespace: "", Kind: cabundle.Validating, Webhook: "a-own.example", Ignored: true},
			{Namespace: "", Kind: cabundle.Mutating, Webhook: "b-own.example"},
			{Namespace: ours, Kind: cabundle.Validating, Webhook: "c-former.example", Ignored: true},
			{Namespace: ours, Kind: cabundle.Validating, Webhook: "d-labelled-only.example", Ignored: true},
			{Namespace: ours, Kind: cabundle.Mutating, Webhook: "g-unset.example"},
		}
		if diff := cmp.Diff(want, p.Policies()); diff != "" {
			p.Errorf("(-want +got):\n%s", diff)
		}
	})
}
