package e2e_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// pool is a StatefulCluster in a scene of its own. Each of its members has a disk: a local volume.
type pool struct {
	*scene
	client dynamic.ResourceInterface
	disks  int
}

// pool creates a scene for a StatefulCluster, with a disk on each of these nodes.
func (w *world) pool(t *testing.T, name string, disruptions int, nodes ...string) *pool {
	t.Helper()
	if w.isYours() {
		t.Skip("SKIPPED, NOT PROVED: the disks would be folders on your nodes")
	}
	p := &pool{}
	t.Cleanup(func() { p.removeDisks() }) // after the namespace
	p.scene = w.scene(t, name, disruptions)
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	p.client = client.Resource(schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "statefulclusters"}).Namespace(p.name)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	if err := p.witness.WatchStatefulClusters(ctx, client, p.name); err != nil {
		t.Fatal(err)
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.name}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer), AllowVolumeExpansion: new(true),
	}
	if _, err := w.admin.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.addDisks(nodes...)
	return p
}

// begins creates the StatefulCluster and waits for its members.
func (p *pool) begins(replicas int, more map[string]any, options ...option) []corev1.Pod {
	p.t.Helper()
	p.creates(replicas, more, options...)
	return p.settles()
}

// creates creates the StatefulCluster, with more fields of its spec.
func (p *pool) creates(replicas int, more map[string]any, options ...option) {
	p.t.Helper()
	container := member()
	container.Env = append(container.Env,
		corev1.EnvVar{Name: "MEMBER_DATA", Value: diskPath},
		corev1.EnvVar{Name: "MEMBER_SERVICE", Value: fmt.Sprintf("%s.%s.svc.cluster.local", group, p.name)})
	container.VolumeMounts = []corev1.VolumeMount{{Name: diskName, MountPath: diskPath}}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": group}},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(10)), Containers: []corev1.Container{container}},
	}}}
	for _, change := range options {
		change(set)
	}
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: diskName},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(p.name), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: storage},
		},
	}
	spec := map[string]any{
		"replicas": int64(replicas), "serviceName": group, "selector": map[string]any{"matchLabels": map[string]any{"app": group}},
		"template": p.fields(&set.Spec.Template), "volumeClaimTemplates": []any{p.fields(&claim)},
	}
	maps.Copy(spec, more)
	if _, err := p.client.Create(p.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": map[string]any{"name": group}, "spec": spec,
	}}, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

const (
	diskName = "data"
	diskPath = "/data"
)

// fields returns an object as the API server reads it.
func (p *pool) fields(object any) map[string]any {
	p.t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		p.t.Fatal(err)
	}
	return fields
}

// changesTemplate changes the template as options change that of a zone.
func (p *pool) changesTemplate(options ...option) {
	p.t.Helper()
	p.changesObject(func(o *unstructured.Unstructured) error {
		template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			return err
		}
		set := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &set.Spec.Template); err != nil {
			return err
		}
		for _, change := range options {
			change(set)
		}
		return unstructured.SetNestedMap(o.Object, p.fields(&set.Spec.Template), "spec", "template")
	})
}

func (p *pool) changesObject(change func(*unstructured.Unstructured) error) {
	p.t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := p.client.Get(p.t.Context(), group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(o); err != nil {
			return err
		}
		_, err = p.client.Update(p.t.Context(), o, metav1.UpdateOptions{})
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
}

// image replaces only the image, so that a pod can be updated in place.
func image(name string) option {
	return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = name }
}

// settles waits until all members are available on the newest template and nothing is recorded, and
// returns them.
func (p *pool) settles() []corev1.Pod {
	p.t.Helper()
	var members []corev1.Pod
	eventually(p.t, "all members of "+p.name+" are available on the newest template, and its Lease is free", func() error {
		o, err := p.client.Get(p.t.Context(), group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := unsettled(o); err != nil {
			return err
		}
		members, err = p.members(p.t.Context())
		return err
	})
	return members
}

// unsettled returns the reason why a StatefulCluster has not reached its goal.
func unsettled(o *unstructured.Unstructured) error {
	want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	is := status["observedGeneration"] == o.GetGeneration() && status["currentRevision"] == status["updateRevision"] && status["holder"] == nil
	for _, number := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReadyReplicas"} {
		is = is && status[number] == want
	}
	if !is {
		return fmt.Errorf("%d wanted in generation %d, its status is %v", want, o.GetGeneration(), status)
	}
	return nil
}

// members returns the pods that do not terminate, in the order of their names.
func (p *pool) members(ctx context.Context) ([]corev1.Pod, error) {
	list, err := p.admin.CoreV1().Pods(p.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}

// callTimeout is longer than members wait for each other.
const callTimeout = 3 * time.Second

// call calls a member at its own address and returns the answer to a call that succeeds.
func (p *pool) call(method string, pod *corev1.Pod, path, body string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://%s:%d%s", pod.Status.PodIP, port, path), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s %s with %s: %s", pod.Name, method, path, response.Status, answer)
	}
	return string(answer), err
}

// wantKept fails the test unless the members have the same names, nodes and claims as before, and
// that many of them have another UID.
func (p *pool) wantKept(before, after []corev1.Pod, replaced int) {
	p.t.Helper()
	others := 0
	if len(before) != len(after) {
		p.t.Fatalf("%d members were there, %d are", len(before), len(after))
	}
	for i := range before {
		was, is := &before[i], &after[i]
		if was.Name != is.Name || was.Spec.NodeName != is.Spec.NodeName || claimOf(was) != claimOf(is) {
			p.t.Errorf("%s was on %s with claim %s; %s is on %s with claim %s",
				was.Name, was.Spec.NodeName, claimOf(was), is.Name, is.Spec.NodeName, claimOf(is))
		}
		if was.UID != is.UID {
			others++
		}
	}
	if others != replaced {
		p.t.Errorf("%d members have another UID than before, %d wanted", others, replaced)
	}
}

// wantOneDownAtATime fails the test if several of these members were down at a time since that many
// events. It returns how often each one was seen to be down.
func (p *pool) wantOneDownAtATime(members []corev1.Pod, since int) (times map[string]int) {
	p.t.Helper()
	times = map[string]int{}
	serving, down := map[string]string{}, map[string]bool{}
	for i := range members {
		serving[members[i].Name] = ""
	}
	for n, e := range p.history() {
		pod := e.Pod
		if pod == nil {
			continue
		}
		uid, known := serving[pod.Name]
		switch {
		case !known || !pod.Serving() && uid != pod.UID:
			continue
		case pod.Serving():
			serving[pod.Name] = pod.UID
			delete(down, pod.Name)
			continue
		case !down[pod.Name] && n >= since:
			times[pod.Name]++
		}
		down[pod.Name] = true
		if len(down) > 1 && n >= since {
			p.t.Errorf("at the same time were down: %q", slices.Sorted(maps.Keys(down)))
		}
	}
	return times
}

// wantNoneDown fails the test if a pod was down since that many events.
func (p *pool) wantNoneDown(since int) {
	p.t.Helper()
	for _, e := range p.history()[since:] {
		if e.Pod != nil && !e.Pod.Serving() {
			p.t.Errorf("it was down: %s", e)
		}
	}
}
