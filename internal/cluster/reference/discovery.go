package reference

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// resource is the resource of a kind.
type resource struct {
	schema.GroupVersionResource
	reports bool // its objects have a status subresource that can be patched
}

// scale returns the name of the scale subresource.
func (r resource) scale() string {
	g := r.GroupResource()
	g.Resource += "/scale"
	return g.String()
}

// discovery contains the responses of an API group about its kinds. It requests only what is
// needed, once.
type discovery struct {
	cache    *Cache
	group    string
	versions []string // the preferred one first
	kinds    map[string][]metav1.APIResource
	err      error // why discovery of the group failed
}

// find returns the resource of a kind, in the preferred version of its group or in any other. It
// needs a few small requests about one group, and does not discover the rest of the API
// server.
func (d *discovery) find(ctx context.Context, kind string) (resource, plan.Refusal, error) {
	name := schema.GroupKind{Group: d.group, Kind: kind}
	if d.kinds == nil {
		d.kinds = map[string][]metav1.APIResource{}
		d.versions, d.err = d.cache.versions(ctx, d.group)
	}
	if apierrors.IsNotFound(d.err) {
		return resource{}, unknown(name, "no such API group"), nil
	}
	if d.err != nil {
		return resource{}, plan.Refusal{}, fmt.Errorf("discover kinds of API group %q: %w", d.group, d.err)
	}
	because := noSuchKind
	for _, version := range d.versions {
		at := schema.GroupVersion{Group: d.group, Version: version}
		kinds, err := d.kindsOf(ctx, at)
		if err != nil {
			return resource{}, plan.Refusal{}, err
		}
		found, why := serving(kinds, kind)
		if why == "" {
			found.GroupVersionResource = at.WithResource(found.Resource)
			return found, plan.Refusal{}, nil
		}
		if why != noSuchKind {
			because = why
		}
	}
	return resource{}, unknown(name, because), nil
}

// kindsOf returns the kinds of one version, or none if the version is no longer served.
func (d *discovery) kindsOf(ctx context.Context, at schema.GroupVersion) ([]metav1.APIResource, error) {
	if kinds, asked := d.kinds[at.Version]; asked {
		return kinds, nil
	}
	var list metav1.APIResourceList
	if err := d.cache.ask(ctx, &list, pathOf(at)...); err != nil && !apierrors.IsNotFound(err) {
		d.err = fmt.Errorf("discover kinds of %s: %w", at, err)
		return nil, d.err
	}
	d.kinds[at.Version] = list.APIResources
	return list.APIResources, nil
}

// versions returns the versions of an API group, the preferred one first.
func (b *Cache) versions(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return []string{"v1"}, nil
	}
	var group metav1.APIGroup
	if err := b.ask(ctx, &group, "apis", name); err != nil {
		return nil, err
	}
	var versions []string
	for _, v := range slices.Concat([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions) {
		if plain.MatchString(v.Version) && !slices.Contains(versions, v.Version) {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

func (b *Cache) ask(ctx context.Context, into runtime.Object, path ...string) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	return b.options.Client.Discovery().RESTClient().Get().AbsPath(path...).Do(ctx).Into(into)
}

// pathOf returns the segments of the path to an API version.
func pathOf(at schema.GroupVersion) []string {
	if at.Group == "" {
		return []string{"api", at.Version}
	}
	return []string{"apis", at.Group, at.Version}
}

// plain matches the names of versions and resources. A name that does not match does not become
// part of a request.
var plain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

const noSuchKind = "no such kind"

// serving returns the resource of a kind, or why none can be used.
func serving(served []metav1.APIResource, kind string) (found resource, why string) {
	why = noSuchKind
	for _, r := range served {
		if r.Kind != kind || !plain.MatchString(r.Name) {
			continue // another kind, or a subresource
		}
		switch {
		case !r.Namespaced:
			why = "its objects belong to no namespace"
		case !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "watch"):
			why = "its objects cannot be watched"
		case !has(served, r.Name+"/scale", "get"):
			why = "it has no scale subresource"
		default:
			found.Resource = r.Name
			found.reports = has(served, r.Name+"/status", "patch")
			return found, ""
		}
	}
	return resource{}, why
}

func has(served []metav1.APIResource, name, verb string) bool {
	return slices.ContainsFunc(served, func(r metav1.APIResource) bool { return r.Name == name && slices.Contains(r.Verbs, verb) })
}

func unknown(name schema.GroupKind, why string) plan.Refusal {
	return plan.Refusal{Code: reason.ReferenceKindUnknown, Detail: name.String() + ": " + why}
}
