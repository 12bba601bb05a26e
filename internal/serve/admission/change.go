package admission

import (
	"cmp"
	"errors"
	"fmt"
)

// Change is an update under review of an object that has replicas.
type Change struct {
	Group       string // API group of the resource: apps
	Resource    string // statefulsets, deployments, replicasets, or another resource with a scale
	Subresource string // empty, scale or status
	Namespace   string
	Name        string

	// From and To are numbers of replicas, or nil if the object contains none.
	//
	// The API server omits spec.replicas from a Scale if it is 0. In a full object it sets
	// the default of 1 before it calls webhooks. So an absent number means 0 in a Scale. In
	// a full object it is unknown, because no API server sends such an object.
	From, To *int32

	// FromStart and ToStart are the first ordinals of a StatefulSet's pods. Both are 0 for
	// other objects, and for a Scale, which does not change ordinals.
	FromStart, ToStart int32

	Old, New Object
	DryRun   bool
}

// Object is the part of an object under review that webhooks read. A Scale has the UID
// and the resourceVersion of the scaled object, but no labels or annotations.
type Object struct {
	UID string
	// Version is the resourceVersion. The new object's is empty in an update without this
	// precondition. It differs from the old object's in an update that will fail.
	Version     string
	Labels      map[string]string
	Annotations map[string]string
}

// Full reports whether the full object is under review, so that the answer can contain
// a JSON patch of its metadata. A patch of a Scale can change only the number of replicas.
func (c Change) Full() bool { return c.Subresource == "" }

// Scale reports whether a Scale is under review. A Scale does not contain the labels of
// the scaled object.
func (c Change) Scale() bool { return c.Subresource == "scale" }

// Shrinks reports whether the change removes replicas. It is unknown if one of the objects
// has no number of replicas, or if neither has one and their first ordinals differ.
func (c Change) Shrinks() (shrinks, known bool) {
	switch {
	case c.From == nil && c.To == nil:
		return false, c.FromStart == c.ToStart
	case c.From == nil || c.To == nil:
		return false, false
	}
	return *c.To < *c.From, true
}

// scalable is the part of an object under review that change reads.
type scalable struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int32 `json:"replicas"`
		Ordinals struct {
			Start int32 `json:"start"`
		} `json:"ordinals"`
	} `json:"spec"`
}

// kinds maps resources to the kind in their reviews. The subresource scale has scaleKind.
var kinds = map[resource]string{
	{"apps", "statefulsets"}: "apps/v1 StatefulSet",
	{"apps", "deployments"}:  "apps/v1 Deployment",
	{"apps", "replicasets"}:  "apps/v1 ReplicaSet",
}

const scaleKind = "autoscaling/v1 Scale"

// change returns the change under review, or an error if the review does not contain one.
func (q *request) change() (Change, error) {
	if q.Operation != "UPDATE" {
		return Change{}, fmt.Errorf("operation %.40q changes no number of replicas: the webhook is for UPDATE", q.Operation)
	}
	kind, err := q.kind()
	if err != nil {
		return Change{}, err
	}
	before, after := q.OldObject, q.Object
	if err := cmp.Or(q.unreadable, before.validate("old", kind), after.validate("new", kind)); err != nil {
		return Change{}, err
	}
	c := Change{
		Group: q.Resource.Group, Resource: q.Resource.Resource, Subresource: q.SubResource,
		Namespace: q.Namespace, Name: q.Name,
		From: before.replicas(kind), To: after.replicas(kind),
		FromStart: before.Spec.Ordinals.Start, ToStart: after.Spec.Ordinals.Start,
		Old: before.object(), New: after.object(),
		DryRun: q.DryRun,
	}
	if c.Subresource == "status" {
		c.To, c.ToStart = c.From, c.FromStart // the API server ignores the spec in an update of the status
	}
	return c, nil
}

// kind returns the expected kind of the objects in the request.
func (q *request) kind() (string, error) {
	if q.Name == "" || q.Namespace == "" || q.Resource.Resource == "" {
		return "", errors.New("the request names no object in a namespace")
	}
	switch q.SubResource {
	case "scale":
		return scaleKind, nil
	case "", "status":
		if kind, known := kinds[q.Resource]; known {
			return kind, nil
		}
	}
	return "", fmt.Errorf("%.80q of group %.80q is not a resource with replicas", q.what(), q.Resource.Group)
}

func (q *request) what() string {
	if q.SubResource == "" {
		return q.Resource.Resource
	}
	return q.Resource.Resource + "/" + q.SubResource
}

// validate returns an error if the object does not have the expected kind.
func (s *scalable) validate(which, kind string) error {
	if s == nil {
		return fmt.Errorf("there is no %s object", which)
	}
	if is := s.APIVersion + " " + s.Kind; is != kind {
		return fmt.Errorf("the %s object is %.80q, want %s", which, is, kind)
	}
	return nil
}

func (s *scalable) replicas(kind string) *int32 {
	if kind == scaleKind && s.Spec.Replicas == nil {
		return new(int32)
	}
	return s.Spec.Replicas
}

func (s *scalable) object() Object {
	return Object{
		UID: s.Metadata.UID, Version: s.Metadata.ResourceVersion,
		Labels: s.Metadata.Labels, Annotations: s.Metadata.Annotations,
	}
}
