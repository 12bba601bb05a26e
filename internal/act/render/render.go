// Package render makes the pods and claims of a StatefulCluster from its templates. Templates stay JSON, so no field of
// a newer Kubernetes is lost.
package render

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// object is a JSON object.
type object = map[string]any

// Pod returns the pod of an identity as JSON. With claims it has a scheduling gate, so that no scheduler sees it before
// its claims exist.
func Pod(key plan.Key, o *pool.Object, id pool.ID) ([]byte, error) {
	rendered, err := decode(o.Template)
	if err != nil {
		return nil, fmt.Errorf("read the pod template of %s: %w", key, err)
	}
	name := pool.PodName(key.Name, id)
	rendered["apiVersion"], rendered["kind"] = "v1", "Pod"
	metadata := child(rendered, "metadata")
	delete(metadata, "creationTimestamp")
	metadata["name"], metadata["namespace"] = name, key.Namespace
	labels := child(metadata, "labels")
	for k, v := range o.Labels {
		labels[k] = v
	}
	maps.Copy(labels, object{contract.PoolLabel: key.Name, contract.InstanceIDLabel: string(id), contract.RevisionLabel: o.Revision})
	metadata["ownerReferences"] = []any{object{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": key.Name, "uid": o.UID, "controller": true,
	}}
	spec := child(rendered, "spec")
	setDefault(spec, "hostname", name)
	if o.Service != "" {
		setDefault(spec, "subdomain", o.Service)
	}
	spec["tolerations"] = tolerations(list(spec["tolerations"]))
	if len(o.ClaimTemplates) > 0 {
		spec["volumes"] = volumes(list(spec["volumes"]), key.Name, o.ClaimTemplates, id)
		if _, placed := spec["nodeName"]; !placed {
			spec["schedulingGates"] = append(list(spec["schedulingGates"]), object{"name": contract.ClaimsGate})
		}
	}
	return encode(rendered)
}

// Claim returns the claim of an identity for one template as JSON.
func Claim(key plan.Key, o *pool.Object, t pool.ClaimTemplate, id pool.ID) ([]byte, error) {
	rendered, err := decode(t.Template)
	if err != nil {
		return nil, fmt.Errorf("read the claim template %s of %s: %w", t.Name, key, err)
	}
	rendered["apiVersion"], rendered["kind"] = "v1", "PersistentVolumeClaim"
	delete(rendered, "status")
	metadata := child(rendered, "metadata")
	delete(metadata, "creationTimestamp")
	metadata["name"], metadata["namespace"] = pool.ClaimName(key.Name, t.Name, id), key.Namespace
	labels := child(metadata, "labels")
	for k, v := range o.Labels {
		labels[k] = v
	}
	maps.Copy(labels, object{
		contract.PoolLabel: key.Name, contract.InstanceIDLabel: string(id), contract.ClaimLabel: t.Name, contract.PoolUIDLabel: o.UID,
	})
	return encode(rendered)
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

// volumes adds a volume for each claim template. A claim template wins over a volume of its name.
func volumes(own []any, name string, templates []pool.ClaimTemplate, id pool.ID) []any {
	var kept []any
	for _, v := range own {
		if v, is := v.(object); is && isClaim(v["name"], templates) {
			continue
		}
		kept = append(kept, v)
	}
	for _, t := range templates {
		kept = append(kept, object{"name": t.Name, "persistentVolumeClaim": object{"claimName": pool.ClaimName(name, t.Name, id)}})
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
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, err
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
