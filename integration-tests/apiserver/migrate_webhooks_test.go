package apiserver_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// The guide installs lockstep with its webhooks, so that lockstep writes its CA into configurations
// of its own namespace. The shared operator writes none.

// installs starts lockstep for the cluster, with webhooks and a namespace of its own. It works in
// namespaces with a label of the scene; the shared operator works in the other opted-in namespaces.
// From then on it is the scene's operator.
func (s *scene) installs() {
	s.t.Helper()
	h := s.home()
	h.withRole()
	h.withWebhooks()
	h.mayEverywhere(account)
	s.own = judge.Operator{User: user(h.name), Selector: labels.SelectorFromSet(labels.Set{ownLabel: s.name}), LeadershipNamespace: h.name}
	op, err := s.world.start(s.t.Context(), h.name, slices.Concat(serveWebhooks(), []string{
		withoutElection, "-operator.namespace=" + h.name, "-namespaces.selector=" + s.own.Selector.String(),
	})...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(op.Kill)
	s.operator, h.operator = op, op
	h.isInjected()
}

// home creates a namespace for lockstep alone. The namespace opts in, so that lockstep's
// configuration can name it like the configurations of the predecessor name theirs.
func (s *scene) home() *scene {
	s.t.Helper()
	h := &scene{t: s.t, world: s.world, name: s.name + "-home", operator: s.operator, patience: s.patience, witness: s.witness}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.name, Labels: map[string]string{ownLabel: s.name}}}
	if _, err := s.world.admin.CoreV1().Namespaces().Create(s.t.Context(), namespace, createOptions); err != nil {
		s.t.Fatal(err)
	}
	return h
}

// isInjected creates a configuration of lockstep's own, and waits until it has the CA.
func (s *scene) isInjected() {
	s.t.Helper()
	hooks := s.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(s.t.Context(), s.callee([]*operator{s.operator}), createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(s.t.Context()), s.name, deleteOptions); err != nil {
			s.t.Error(err)
		}
	})
	s.eventually("lockstep's own configuration has the CA", func(present) error {
		c, err := hooks.Get(s.t.Context(), s.name, getOptions)
		if err == nil && len(c.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
}

// guide returns the commands below a heading, with the label that the scene's own operator uses.
func (s *scene) guide(heading string) string {
	s.t.Helper()
	commands := guided(s.t, heading, "sh")
	own := strings.NewReplacer(optIn+"=true", s.own.Selector.String(), optIn+"-", ownLabel+"-").Replace(commands)
	if own == commands {
		s.t.Fatalf("%s does not show below %q how a namespace opts in or out", migrationGuide, heading)
	}
	return own
}

// injections returns the writes of an operator to webhook configurations, which have no namespace.
func (s *scene) injections(user string) []judge.Request {
	s.t.Helper()
	requests, err := s.world.audit.RequestsIn("")
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(requests, func(r judge.Request) bool {
		return r.User != user || !r.Writes() || !strings.HasSuffix(r.Resource, "webhookconfigurations")
	})
}
