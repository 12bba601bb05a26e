// Package render makes the pods, claims and revisions of a StatefulCluster from its templates, and compares pods.
// Templates stay JSON, so no field of a newer Kubernetes is lost.
//
//	Pod, Claim              from templates             render.go
//	Hash, Encode, Decode    templates as a revision    revision.go
//	Compare                 two pods                   compare.go, resources.go
//	Includes                a pod and a rendered one   include.go
package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// object is a JSON object.
type object = map[string]any

// Birth is a pod to create.
type Birth struct {
	ID        pool.ID
	From      string // UID of the pod that the identity had before; empty: none
	Revision  string
	Templates pool.Templates
	Claims    map[string]string // the names of claims that the identity has, by template
}

// Pod returns a pod as JSON. With claims it has a scheduling gate, so that no scheduler sees it before its claims exist.
func Pod(key plan.Key, o *pool.Object, b Birth) ([]byte, error) {
	rendered, err := decode(b.Templates.Pod)
	if err != nil {
		return nil, fmt.Errorf("read the pod template of %s: %w", key, err)
	}
	name := pool.PodName(key.Name, b.ID)
	rendered["apiVersion"], rendered["kind"] = "v1", "Pod"
	metadata := child(rendered, "metadata")
	withoutHistory(metadata)
	metadata["name"], metadata["namespace"] = name, key.Namespace
	withoutOwn(metadata)
	label(metadata, o.Labels, object{contract.PoolLabel: key.Name, contract.InstanceIDLabel: string(b.ID), contract.RevisionLabel: b.Revision})
	if b.From != "" {
		child(metadata, "annotations")[contract.HandoverAnnotation] = b.From
	}
	metadata["ownerReferences"] = []any{owner(key, o)}
	spec := child(rendered, "spec")
	if isHostName(name) {
		setDefault(spec, "hostname", name)
	}
	if o.Service != "" {
		setDefault(spec, "subdomain", o.Service)
	}
	spec["tolerations"] = tolerations(list(spec["tolerations"]))
	if o.Strategy.Grace > 0 {
		spec["readinessGates"] = withGate(list(spec["readinessGates"]))
	}
	if len(b.Templates.Claims) > 0 {
		spec["volumes"] = volumes(list(spec["volumes"]), key.Name, b)
		if _, placed := spec["nodeName"]; !placed {
			spec["schedulingGates"] = append(list(spec["schedulingGates"]), object{"name": contract.ClaimsGate})
		}
	}
	return encode(rendered)
}

// Claim returns the claim of an identity for one template as JSON.
func Claim(key plan.Key, o *pool.Object, t pool.ClaimTemplate, of pool.CompletePod) ([]byte, error) {
	rendered, err := decode(t.Template)
	if err != nil {
		return nil, fmt.Errorf("read the claim template %s of %s: %w", t.Name, key, err)
	}
	rendered["apiVersion"], rendered["kind"] = "v1", "PersistentVolumeClaim"
	delete(rendered, "status")
	metadata := child(rendered, "metadata")
	withoutHistory(metadata)
	metadata["name"], metadata["namespace"] = pool.ClaimName(key.Name, t.Name, of.ID), key.Namespace
	withoutOwn(metadata)
	label(metadata, o.Labels, object{
		contract.PoolLabel: key.Name, contract.InstanceIDLabel: string(of.ID), contract.ClaimLabel: t.Name, contract.PoolUIDLabel: o.UID,
	})
	annotations := child(metadata, "annotations")
	annotations[contract.SiblingsAnnotation] = strings.Join(of.Siblings, ",")
	if t.Storage.Text != "" {
		annotations[contract.StorageAnnotation] = t.Storage.Text
	}
	if of.From != "" {
		annotations[contract.HandoverAnnotation] = of.From
	}
	if o.Claim.DeleteWithObject {
		metadata["ownerReferences"] = []any{owner(key, o)}
	}
	return encode(rendered)
}

// isHostName reports whether the name of a pod can be that of its host as well. The name of a pod that was adopted may be longer, or
// contain dots.
func isHostName(pod string) bool {
	const longest = 63
	return len(pod) <= longest && !strings.Contains(pod, ".")
}

func owner(key plan.Key, o *pool.Object) object {
	return object{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": key.Name, "uid": o.UID, "controller": true}
}

// withoutHistory removes from the metadata of a template what an API server wrote into the object that it was copied from.
func withoutHistory(metadata object) {
	for _, field := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation", "managedFields", "ownerReferences",
		"resourceVersion", "selfLink", "uid",
	} {
		delete(metadata, field)
	}
}

// withoutOwn removes from the metadata of a template what only lockstep, or a person for one object, may say.
func withoutOwn(metadata object) {
	for _, field := range []string{"labels", "annotations"} {
		if texts, is := metadata[field].(object); is {
			for _, key := range []string{
				contract.HandoverAnnotation, contract.InPlaceUpdateAnnotation, contract.SiblingsAnnotation,
				contract.RetiredAtAnnotation, contract.RetiredReasonAnnotation, contract.SpecifiedDeleteLabel, contract.StorageAnnotation,
				contract.WithdrawnAnnotation,
			} {
				delete(texts, key)
			}
		}
	}
}

// label adds the labels of the selector, and then those of lockstep, to the labels of a template.
func label(metadata object, selector map[string]string, own object) {
	labels := child(metadata, "labels")
	for k, v := range selector {
		labels[k] = v
	}
	maps.Copy(labels, own)
}

// tolerations adds the two tolerations that leave it to lockstep when a pod of a lost node is replaced, unless the
// template has its own for the taint.
func tolerations(own []any) []any {
	for _, taint := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerated := false
		for _, t := range own {
			if t, is := t.(object); is && t["key"] == taint {
				tolerated = true
			}
		}
		if !tolerated {
			own = append(own, object{"key": taint, "operator": "Exists", "effect": "NoExecute"})
		}
	}
	return own
}

// withGate adds the readiness gate for updates in place.
func withGate(gates []any) []any {
	for _, g := range gates {
		if g, is := g.(object); is && g["conditionType"] == contract.UpdateGate {
			return gates
		}
	}
	return append(gates, object{"conditionType": contract.UpdateGate})
}

// volumes adds a volume for each claim template. A claim template wins over a volume of its name.
func volumes(own []any, name string, b Birth) []any {
	var kept []any
	for _, v := range own {
		if v, is := v.(object); is && isClaim(v["name"], b.Templates.Claims) {
			continue
		}
		kept = append(kept, v)
	}
	for _, t := range b.Templates.Claims {
		claim := cmp.Or(b.Claims[t.Name], pool.ClaimName(name, t.Name, b.ID))
		kept = append(kept, object{"name": t.Name, "persistentVolumeClaim": object{"claimName": claim}})
	}
	return kept
}

func isClaim(name any, templates []pool.ClaimTemplate) bool {
	for _, t := range templates {
		if name == t.Name {
			return true
		}
	}
	return false
}

func decode(text []byte) (object, error) {
	decoded := object{}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // so that no digit of a large number is lost
	if err := numbers.Decode(&decoded); err != nil {
		return nil, err
	}
	if decoded == nil {
		return nil, errors.New("it is null")
	}
	return decoded, nil
}

func encode(o object) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return text, nil
}

// child returns the object in a field, and creates it if the field has none.
func child(o object, field string) object {
	c, is := o[field].(object)
	if !is {
		c = object{}
		o[field] = c
	}
	return c
}

func list(it any) []any {
	l, _ := it.([]any)
	return l
}

func setDefault(o object, field string, value any) {
	if _, has := o[field]; !has {
		o[field] = value
	}
}
