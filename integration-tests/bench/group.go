package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// groupLabel makes StatefulSets a group. The pods of the bench have it too.
const groupLabel = "rollout-group"

// group is a group of StatefulSets, one for each zone.
type group struct {
	namespace, name string
	contender       string // value of contenderLabel on its objects
	zones, pods     int
	annotations     map[string]string // of its pods
	image           int               // of the template; each rollout increments it
}

// newGroups returns groups of three zones, spread over the namespaces.
func newGroups(namespaces []string, contender, prefix string, count, pods int) []*group {
	groups := make([]*group, count)
	for i := range groups {
		groups[i] = &group{
			namespace: namespaces[i%len(namespaces)], name: fmt.Sprint(prefix, i),
			contender: contender, zones: 3, pods: pods,
		}
	}
	return groups
}

func (g *group) key() string { return g.namespace + "/" + g.name }

func (g *group) size() int { return g.zones * g.pods }

func (g *group) zoneNames() []string {
	names := make([]string, g.zones)
	for i := range names {
		names[i] = fmt.Sprintf("%s-zone-%c", g.name, 'a'+i)
	}
	return names
}

// podNames returns the names of all pods, zone by zone.
func (g *group) podNames() []string {
	var names []string
	for _, zone := range g.zoneNames() {
		for ordinal := range g.pods {
			names = append(names, fmt.Sprintf("%s-%d", zone, ordinal))
		}
	}
	return names
}

// zoneOf returns the zone of a pod.
func zoneOf(pod string) string { return pod[:strings.LastIndexByte(pod, '-')] }

func (g *group) imageName() string { return fmt.Sprintf("image:%d", g.image) }

func (g *group) statefulSet(zone int) *appsv1.StatefulSet {
	name := g.zoneNames()[zone]
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: g.namespace, Labels: map[string]string{groupLabel: g.name, contenderLabel: g.contender}},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(g.pods)),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{"name": name, groupLabel: g.name, contenderLabel: g.contender},
					Annotations: g.annotations,
				},
				Spec: podSpec(g.imageName(), localcluster.NodeName(zone%nodes)),
			},
		},
	}
}

// podSpec returns a pod of realistic size, with environment, arguments and a volume.
func podSpec(image, node string) corev1.PodSpec {
	env := make([]corev1.EnvVar, 20)
	for i := range env {
		env[i] = corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of ordinary length"}
	}
	return corev1.PodSpec{
		NodeName: node,
		Containers: []corev1.Container{{
			Name: "main", Image: image, Env: env,
			Args:         []string{"-config.file=/etc/store/config.yaml", "-data.directory=/var/lib/store"},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/store"}},
		}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
}

// maxConcurrentWrites is how many objects are created or changed at the same time.
const maxConcurrentWrites = 16

// inParallel calls do for every group and returns the first error.
func inParallel(groups []*group, do func(*group) error) error {
	var once sync.Once
	var first error
	var all sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentWrites)
	for _, g := range groups {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := do(g); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	all.Wait()
	return first
}

// makeGroups creates groups and returns when all their pods are ready.
func (tb *testbed) makeGroups(ctx context.Context, groups []*group) error {
	if len(groups) == 0 {
		return nil
	}
	err := inParallel(groups, func(g *group) error {
		for zone := range g.zones {
			set := g.statefulSet(zone)
			if _, err := tb.client.AppsV1().StatefulSets(g.namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("make %s/%s: %w", g.namespace, set.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	want, of := 0, map[string]bool{}
	for _, g := range groups {
		want += g.size()
		of[g.key()] = true
	}
	contender := groups[0].contender
	return tb.await(ctx, "Ready pods of "+contender, want, func() (int, error) {
		// Resource version 0 is served from the API server's cache, which is recent enough here.
		list, err := tb.client.AppsV1().StatefulSets("").List(ctx, metav1.ListOptions{LabelSelector: contenderLabel + "=" + contender, ResourceVersion: "0"})
		if err != nil {
			return 0, fmt.Errorf("list StatefulSets: %w", err)
		}
		ready := 0
		for _, set := range list.Items {
			if of[set.Namespace+"/"+set.Labels[groupLabel]] {
				ready += int(set.Status.ReadyReplicas)
			}
		}
		return ready, nil
	})
}

// change sets the group's image in the templates of all zones.
func (tb *testbed) change(ctx context.Context, g *group) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, g.imageName())
	for _, zone := range g.zoneNames() {
		if _, err := tb.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("change template of %s/%s: %w", g.namespace, zone, err)
		}
	}
	return nil
}
