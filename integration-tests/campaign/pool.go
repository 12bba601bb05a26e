package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// pool is a StatefulCluster and its settings.
type pool struct {
	name             string
	replicas         int
	maxUnavailable   int
	readyDelay       time.Duration // until a pod is ready
	terminationDelay time.Duration // from the deletion of a pod to its end
	minReady         time.Duration // from when on a ready pod is available
	grace            time.Duration // how long a pod is not ready before it is updated in place
	keepsDeleted     bool          // the identity of a pod that another client deletes
	keepsEvicted     bool          // the identity of a pod that is evicted
	dropsScaled      bool          // claims of identities that left by a downscale
	dropsReplaced    bool          // claims of identities that left for another reason
	recreates        bool          // a pod gets another template by a new identity
	surge            bool          // one more pod may exist during updates

	finalReplicas int
	final         podContent
	lastImage     int           // the highest version of the image that a step asks for
	imageAt       time.Duration // when the step begins that asks for the final image
	ownNodes      int           // number of nodes that only its pods use; 0: the node of all pods
}

// podContent is what a template says.
type podContent struct {
	image  int
	mode   string   // in the environment
	cpu    string   // requested
	claims []string // the names of the claim templates
}

// firstContent is what the first template says.
var firstContent = podContent{image: 1, mode: "slow", cpu: "100m", claims: claimTemplates}

const (
	poolName      = "db"
	poolLabel     = "lockstep.dev/statefulcluster"
	poolUIDLabel  = "lockstep.dev/pool-uid"
	identityLabel = "lockstep.dev/instance-id"
	retiredAt     = "lockstep.dev/retired-at"
	// poolPriority is the priority class of the pods of StatefulClusters. A quota can be for these pods only.
	poolPriority = "campaign-pool"
)

var statefulClusters = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}

func newPool(random *rand.Rand) *pool {
	p := &pool{
		name:             poolName,
		replicas:         2 + random.IntN(3),
		maxUnavailable:   1 + random.IntN(2),
		readyDelay:       between(random, 50*time.Millisecond, 800*time.Millisecond),
		terminationDelay: between(random, 0, 400*time.Millisecond),
		keepsDeleted:     random.IntN(3) == 0,
		keepsEvicted:     random.IntN(3) == 0,
		dropsScaled:      random.IntN(2) == 0,
		dropsReplaced:    random.IntN(2) == 0,
		recreates:        random.IntN(5) == 0,
		final:            firstContent,
	}
	if random.IntN(4) == 0 {
		p.minReady = time.Duration(1+random.IntN(3)) * time.Second
	}
	if random.IntN(3) == 0 {
		p.grace = time.Second
	}
	p.finalReplicas = p.replicas
	return p
}

// object returns the StatefulCluster at its first template.
func (p *pool) object() *unstructured.Unstructured {
	container := map[string]any{
		"name": "main", "image": image(firstContent.image),
		"env":       []any{map[string]any{"name": "MODE", "value": firstContent.mode}},
		"resources": map[string]any{"requests": map[string]any{"cpu": firstContent.cpu}},
	}
	claims, mounts := claimsOfTemplate(firstContent.claims)
	container["volumeMounts"] = mounts
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": statefulClusters.GroupVersion().String(), "kind": "StatefulCluster", "metadata": map[string]any{"name": p.name},
		"spec": map[string]any{
			"replicas": int64(p.replicas), "selector": map[string]any{"matchLabels": map[string]any{"app": p.name}},
			"minReadySeconds": int64(p.minReady / time.Second),
			"template": map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{
					localcluster.ReadyAfter: p.readyDelay.String(), localcluster.GoneAfter: p.terminationDelay.String(),
				}},
				"spec": map[string]any{"priorityClassName": poolPriority, "containers": []any{container}},
			},
			"volumeClaimTemplates": claims,
			"identityPolicy":       map[string]any{"onDelete": identityPolicy(p.keepsDeleted), "onEviction": identityPolicy(p.keepsEvicted)},
			"persistentVolumeClaimRetentionPolicy": map[string]any{
				"whenScaled": retention(p.dropsScaled), "whenReplaced": retention(p.dropsReplaced),
			},
			"updateStrategy": map[string]any{"rollingUpdate": p.rollingUpdate()},
		},
	}}
}

func (p *pool) rollingUpdate() map[string]any {
	policy := "InPlaceIfPossible"
	if p.recreates {
		policy = "Recreate"
	}
	update := map[string]any{
		"maxUnavailable": int64(p.maxUnavailable), "podUpdatePolicy": policy,
		"inPlace": map[string]any{"gracePeriodSeconds": int64(p.grace / time.Second)},
	}
	if p.surge {
		update["maxSurge"] = int64(1)
	}
	return update
}

func identityPolicy(keeps bool) string {
	if keeps {
		return "KeepIdentity"
	}
	return "NewIdentity"
}

func retention(drops bool) string {
	if drops {
		return "Delete"
	}
	return "Retain"
}

// String describes a StatefulCluster.
func (p *pool) String() string {
	text := fmt.Sprintf("  StatefulCluster %s: %d replicas, %d may be unavailable, Ready after %s, gone after %s", p.name, p.replicas, p.maxUnavailable, p.readyDelay, p.terminationDelay)
	text += fmt.Sprintf(", onDelete %s, onEviction %s, whenScaled %s, whenReplaced %s, %s", identityPolicy(p.keepsDeleted), identityPolicy(p.keepsEvicted), retention(p.dropsScaled), retention(p.dropsReplaced), p.rollingUpdate()["podUpdatePolicy"])
	if p.surge {
		text += ", 1 more during updates"
	}
	if p.minReady > 0 {
		text += fmt.Sprintf(", available %s later", p.minReady)
	}
	if p.grace > 0 {
		text += fmt.Sprintf(", updated in place after %s", p.grace)
	}
	if p.ownNodes > 0 {
		text += ", on " + strconv.Itoa(p.ownNodes) + " nodes of its own"
	}
	return text + "\n"
}

// preparePool creates the nodes of the StatefulCluster of the plan, if it has one, and the permissions for it.
func (t *trial) preparePool(ctx context.Context) error {
	p := t.plan.pool
	if p == nil {
		return nil
	}
	t.nodes = []string{localcluster.NodeName(0)}
	if p.ownNodes > 0 {
		var err error
		if t.nodes, err = t.env.cluster.AddNodes(ctx, p.ownNodes, nil); err != nil {
			return fmt.Errorf("make nodes: %w", err)
		}
	}
	return retry(ctx, "give operators their rights about StatefulClusters", func(ctx context.Context) error {
		return t.env.cluster.ApplyIn(ctx, t.namespace, manifests+"statefulcluster/namespaced/role.yaml")
	})
}

// makePool creates the StatefulCluster of the plan, if it has one. It comes last, because its pods are missed from then on.
func (t *trial) makePool(ctx context.Context) error {
	p := t.plan.pool
	if p == nil {
		return nil
	}
	return retry(ctx, "make StatefulCluster", func(ctx context.Context) error {
		_, err := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace).Create(ctx, p.object(), metav1.CreateOptions{})
		return ignoreExisting(err)
	})
}
