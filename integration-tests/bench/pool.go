package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// statefulClusters is the resource of lockstep's pools.
var statefulClusters = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}

// poolLabel has the name of a pod's pool.
const poolLabel = "pool"

// poolClaim is the claim template of a pool, and the volume of its pods.
const poolClaim = "data"

// noVolume is a volume that does not exist. The controller that binds claims waits for it without
// Events.
const noVolume = "no-volume"

// pool is a number of equal pods, each with one claim of its own: a StatefulCluster of lockstep, a
// StatefulSet of Kubernetes' own controller, or the pods of a bare loop.
type pool struct {
	namespace, name string
	contender       string // value of contenderLabel on its objects
	image           int    // of the template; changed by an update in place
	setting         int    // of the template; changed by an update that replaces pods
}

func (p *pool) imageName() string { return fmt.Sprintf("image:%d", p.image) }

func (p *pool) settingValue() string { return fmt.Sprintf("setting %d", p.setting) }

// settingName is the environment variable that an update by new pods changes.
const settingName = "SETTING"

func (p *pool) labels() map[string]string {
	return map[string]string{poolLabel: p.name, contenderLabel: p.contender}
}

// spec returns the pod of the template, without its claim. The pod names no node.
func (p *pool) spec() corev1.PodSpec {
	spec := podSpec(p.imageName(), "")
	spec.Volumes = nil
	container := &spec.Containers[0]
	container.Env = append(container.Env, corev1.EnvVar{Name: settingName, Value: p.settingValue()})
	return spec
}

func (p *pool) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.labels()}, Spec: p.spec()}
}

// claim returns a claim of this name.
func (p *pool) claim(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{contenderLabel: p.contender}},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName:  noVolume,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}
}

// statefulSet returns the pool as a StatefulSet without pods.
func (p *pool) statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace, Labels: map[string]string{contenderLabel: p.contender}},
		Spec: appsv1.StatefulSetSpec{
			Replicas:             new(int32(0)),
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			Selector:             &metav1.LabelSelector{MatchLabels: p.labels()},
			Template:             p.template(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{p.claim(poolClaim)},
		},
	}
}

// statefulCluster returns the pool as a StatefulCluster with a number of pods.
func (p *pool) statefulCluster(replicas int) (*unstructured.Unstructured, error) {
	set := p.statefulSet()
	set.Spec.Replicas = new(int32(replicas))
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		return nil, fmt.Errorf("make StatefulCluster %s: %w", p.name, err)
	}
	delete(object, "status")
	cluster := &unstructured.Unstructured{Object: object}
	cluster.SetAPIVersion(statefulClusters.GroupVersion().String())
	cluster.SetKind("StatefulCluster")
	return cluster, nil
}

// keeper is a contender's way to keep the pods of a pool.
type keeper interface {
	// create creates a pool without pods.
	create(ctx context.Context, p *pool) error
	// scale sets the number of pods.
	scale(ctx context.Context, p *pool, replicas int) error
	// change makes the pods, one at a time, be as the pool's template is now.
	change(ctx context.Context, p *pool) error
}

// poolContender is a contender that keeps a pool.
type poolContender struct {
	*contender
	keeper keeper
	pool   *pool
}
