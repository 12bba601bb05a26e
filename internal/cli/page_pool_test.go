package cli

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// showPoolOfThePage adds the StatefulCluster of docs/kubectl.md. One of its identities has ended; the claim of the first one
// says already that its identity is kept. Unless all pods are up, one has just been created.
func (s *apiServer) showPoolOfThePage(isUp bool) {
	const name, namespace = "db", "mimir"
	core, apps := "/api/v1/namespaces/"+namespace, "/apis/apps/v1/namespaces/"+namespace
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	templates := []object{{"metadata": object{"name": "data"}}}
	owner := []object{{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": name, "uid": "u", "controller": true}}
	reported := object{"availableReplicas": 3, "updatedReplicas": 2, "conditions": []object{{"type": "Ready", "status": "True"}}}
	if !isUp {
		reported = object{
			"availableReplicas": 2, "updatedReplicas": 2, "conditions": []object{{"type": "Reconciling", "status": "True"}},
			"waiting": object{"reason": "PodStarting", "pod": name + "-c2a84f6610be93d7", "message": "a pod exists and is not ready yet (pod " + name + "-c2a84f6610be93d7)"},
		}
	}
	s.put("/apis/lockstep.dev/v1alpha1/namespaces/"+namespace+"/statefulclusters/"+name, object{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": object{"name": name, "namespace": namespace, "uid": "u"},
		"spec":   object{"replicas": 3, "selector": object{"matchLabels": object{"app": name}}, "template": object{"spec": object{}}, "volumeClaimTemplates": templates},
		"status": reported,
	})
	newest := name + "-5978fd9b8b"
	s.put(apps+"/controllerrevisions/"+newest, object{
		"metadata": object{"name": newest, "namespace": namespace, "labels": object{contract.PoolLabel: name}, "ownerReferences": owner},
		"revision": 2, "data": object{"spec": object{"template": object{"spec": object{}}, "volumeClaimTemplates": templates}},
	})
	for _, id := range []string{"0f3c9a5be1d27846", "5d1e0b7739ac4f02", "c2a84f6610be93d7", "91b7d2e4c05fa683"} {
		labels := object{"app": name, contract.PoolLabel: name, contract.InstanceIDLabel: id}
		claim := object{
			"name": name + "-data-" + id, "namespace": namespace, "annotations": object{"pv.kubernetes.io/bind-completed": "yes"},
			"labels": object{contract.PoolLabel: name, contract.InstanceIDLabel: id, contract.ClaimLabel: "data", contract.PoolUIDLabel: "u"},
		}
		pod := object{
			"name": name + "-" + id, "namespace": namespace, "uid": "uid-" + id, "creationTimestamp": ago(9 * 24 * time.Hour), "labels": labels, "ownerReferences": owner,
		}
		status := object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": ago(time.Hour)}}}
		labels[contract.RevisionLabel] = newest
		switch id {
		case "0f3c9a5be1d27846":
			claim["annotations"] = object{"pv.kubernetes.io/bind-completed": "yes", contract.RetainIdentityLabel: "true", contract.HandoverAnnotation: "uid-" + id, contract.SiblingsAnnotation: "data"}
		case "5d1e0b7739ac4f02":
			labels[contract.RevisionLabel] = name + "-6ff6dc7599"
		case "c2a84f6610be93d7":
			if !isUp {
				delete(claim, "annotations")
				status = object{"phase": "Pending"}
			}
		default:
			claim["annotations"] = object{contract.RetiredAtAnnotation: ago(3 * time.Hour), contract.RetiredReasonAnnotation: "ReplacementAsked"}
		}
		s.put(core+"/persistentvolumeclaims/"+name+"-data-"+id, object{"metadata": claim})
		if id != "91b7d2e4c05fa683" {
			s.put(core+"/pods/"+name+"-"+id, object{"metadata": pod, "status": status, "spec": object{
				"nodeName": nodeOfAll, "volumes": []object{{"name": "data", "persistentVolumeClaim": object{"claimName": name + "-data-" + id}}},
			}})
		}
	}
}
