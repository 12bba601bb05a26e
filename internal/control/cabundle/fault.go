package cabundle

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Endpoint is the address of this operator's webhooks for API servers.
type Endpoint struct {
	Namespace, Name string // of the Service
	Port            int32  // of the Service
	Paths           []string
	Guards          []string // paths whose failurePolicy must be Fail
	Wanted          []string // paths that some configuration must call
}

// FaultKind is a kind of Fault.
type FaultKind string

// The kinds.
const (
	FaultBundle      FaultKind = "bundle"  // another CA, or none
	FaultService     FaultKind = "service" // a Service in another namespace than the operator's
	FaultPort        FaultKind = "port"    // a port that the Service does not have
	FaultPath        FaultKind = "path"    // a path that is not served
	FaultIgnored     FaultKind = "ignored" // requests pass while the webhook cannot be called
	FaultMissing     FaultKind = "missing" // no configuration calls the webhook
	FaultUnreachable FaultKind = "unheard" // API servers cannot call the webhook; no configuration shows this
)

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultBundle, FaultService, FaultPort, FaultPath, FaultIgnored, FaultMissing, FaultUnreachable}
}

// Fault is why API servers cannot call a webhook, or do not depend on its answer, as its
// configuration shows.
type Fault struct {
	Kind    FaultKind
	Key     Key
	Webhook string // its name
	What    string // the fault, and what to do
}

// Faults returns the faults of this operator's configurations in the caches.
func (c *Controller) Faults(at Endpoint) []Fault {
	var all []Fault
	called := map[string]bool{}
	for _, found := range c.known() {
		if !c.ours(found) {
			continue
		}
		all = append(all, found.faults(at, c.options.Certificates.Bundle())...)
		for _, hook := range found.hooks {
			called[pathOf(hook.client)] = true
		}
	}
	for _, path := range at.Wanted {
		if !called[path] {
			all = append(all, Fault{Kind: FaultMissing, Webhook: path, What: "is in no configuration, so what it guards passes unasked; apply what you installed"})
		}
	}
	return all
}

// Hook is a webhook of a configuration.
type Hook struct {
	Key  Key
	Name string
}

// Hooks returns the webhooks of this operator that have one kind and call one path.
func (c *Controller) Hooks(kind Kind, path string) []Hook {
	var all []Hook
	for _, found := range c.known() {
		for _, hook := range found.hooks {
			if found.key.Kind == kind && c.ours(found) && pathOf(hook.client) == path {
				all = append(all, Hook{found.key, hook.name})
			}
		}
	}
	return all
}

func (c *configuration) faults(at Endpoint, bundle []byte) []Fault {
	var all []Fault
	for _, hook := range c.hooks {
		object := func(kind FaultKind, format string, about ...any) {
			all = append(all, Fault{kind, c.key, hook.name, fmt.Sprintf(format, about...)})
		}
		if len(bundle) > 0 && !bytes.Equal(hook.client.CABundle, bundle) {
			object(FaultBundle, "does not have the CA of the certificate; the leader writes it, if RBAC lets it patch the configuration")
		}
		if s := hook.client.Service; s != nil {
			switch port := portOf(s); {
			case s.Namespace != at.Namespace:
				object(FaultService, "names the Service %s/%s, which cannot lead to lockstep's pods; name %s/%s", s.Namespace, s.Name, at.Namespace, at.Name)
			case s.Name == at.Name && port != at.Port:
				object(FaultPort, "names port %d of the Service; name %d", port, at.Port)
			}
		}
		if path := pathOf(hook.client); !slices.Contains(at.Paths, path) {
			object(FaultPath, "names the path %q; served are %s", path, strings.Join(at.Paths, ", "))
		} else if hook.ignored && slices.Contains(at.Guards, path) {
			object(FaultIgnored, "has the failurePolicy Ignore, so everything passes while nobody answers; set Fail")
		}
	}
	return all
}

// portOf returns the port that API servers call.
func portOf(s *admissionregistrationv1.ServiceReference) int32 {
	if s.Port == nil {
		return 443
	}
	return *s.Port
}

// pathOf returns the path that API servers call.
func pathOf(client admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case client.Service != nil && client.Service.Path != nil:
		return *client.Service.Path
	case client.URL != nil:
		if u, err := url.Parse(*client.URL); err == nil {
			return u.Path
		}
	}
	return ""
}
