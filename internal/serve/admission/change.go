package admission

import (
	"cmp"
	"errors"
	"fmt"
)

// Change is an update under review of something that has replicas.
type Change struct {
	Group       string // API group of the resource: apps
	Resource    string // statefulsets, deployments, replicasets, or what else has a scale
	Subresource string // empty, scale or status
	Namespace   string
	Name        string

	// From and To are numbers of replicas; nil where an object does not say.
	//
	// The API server leaves spec.replicas out of a Scale when it is 0 and fills in
	// the default of 1 before it asks about a full object. So in a Scale absent
	// means 0; in a full object absent is nothing an API server sends, and nobody
	// knows what is meant.
	From, To *int32

	// FromStart and ToStart are the ordinals that the pods of a StatefulSet begin with;
	// 0 for what has none, and for a Scale, which leaves them as they are.
	FromStart, ToStart int32

	Old, New Object
	DryRun   bool
}

// Object is what is read of an object under review. A Scale has the UID and the
// version of what it scales, and neither labels nor annotations.
type Object struct {
	UID string
	// Version is the resourceVersion. The new object's is empty in an update that
	// does not care, and differs from the old one's in an update that will fail.
	Version     string
	Labels      map[string]string
	Annotations map[string]string
}

// Full reports whether the whole object is under review, so that an answer may
// carry a JSON patch of its metadata. A patch of a Scale reaches nothing but the
// number of replicas.
func (c Change) Full() bool { return c.Subresource == "" }

// Scale reports whether a Scale is under review, which does not carry the labels of
// what it scales.
func (c Change) Scale() bool { return c.Subresource == "scale" }

// Shrinks reports whether replicas go away. It is not known where one of the
// objects does not say how many it has, or neither does and their ordinals differ.
func (c Change) Shrinks() (shrinks, known bool) {
	switch {
	case c.From == nil && c.To == nil:
		return false, c.FromStart == c.ToStart
	case c.From == nil || c.To == nil:
		return false, false
	}
	return *c.To < *c.From, true
}

// scalable is the part of an object under review that is read.
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

// kinds says what the API server shows of a resource, subresource scale apart.
var kinds = map[resource]string{
	{"apps", "statefulsets"}: "apps/v1 StatefulSet",
	{"apps", "deployments"}:  "apps/v1 Deployment",
	{"apps", "replicasets"}:  "apps/v1 ReplicaSet",
}

const scaleKind = "autoscaling/v1 Scale"

// change says what the request changes, or why that cannot be read.
func (q *request) change() (Change, error) {
	if q.Operation != "UPDATE" {
		return Change{}, fmt.Errorf("operation %.40q changes no number of replicas: the webhook is for UPDATE", q.Operation)
	}
	kind, err := q.kind()
	if err != nil {
		return Change{}, err
	}
	before, after := q.OldObject, q.Object
	if err := cmp.Or(q.unreadable, before.is("old", kind), after.is("new", kind)); err != nil {
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
		c.To, c.ToStart = c.From, c.FromStart // whatever such an update brings along, the API server keeps the spec
	}
	return c, nil
}

// kind is that of the objects in the request.
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

// is says what is wrong with an object that should be of that kind.
func (s *scalable) is(which, kind string) error {
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
