package standin_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/integration-tests/bench/standin"
)

// world has two groups of 3 × 2 pods in a namespace that opted in, and as many in a namespace that did not.
func world() standin.World {
	return standin.World{
		Groups: 2, PerNamespace: 2, Zones: 3, Pods: 2, OptIn: map[string]string{"opted": "in"},
		Spec: func(image, node string) corev1.PodSpec {
			return corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: image}}}
		},
	}
}

func config(t *testing.T, format string) (*standin.Server, *rest.Config) {
	t.Helper()
	server := standin.New(world())
	listener := httptest.NewServer(server)
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close(); server.Wait() })
	return server, &rest.Config{Host: listener.URL, ContentConfig: rest.ContentConfig{ContentType: format}}
}

func start(t *testing.T, format string) (*standin.Server, kubernetes.Interface) {
	t.Helper()
	server, c := config(t, format)
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

var formats = []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}

func TestListsApplySelectors(t *testing.T) {
	for _, format := range formats {
		_, client := start(t, format)
		for name, tc := range map[string]struct {
			namespace, labels string
			want              int
		}{
			"all":                  {"", "", 24},
			"a namespace":          {"team-0", "", 12},
			"a group":              {"team-0", "rollout-group=store-1", 6},
			"two zones":            {"", "name in (store-0-zone-a,store-1-zone-b)", 8},
			"no match":             {"", "name=missing", 0},
			"an unknown namespace": {"team-7", "", 0},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				list, err := client.CoreV1().Pods(tc.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: tc.labels})
				if err != nil || len(list.Items) != tc.want || list.ResourceVersion == "" {
					t.Errorf("%d pods at version %q, %v; want %d", len(list.Items), list.ResourceVersion, err, tc.want)
				}
			})
		}
		namespaces, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: "opted=in"})
		if err != nil || len(namespaces.Items) != 1 || namespaces.Items[0].Name != "team-0" {
			t.Errorf("opted in: %v, %v", namespaces, err)
		}
	}
}

// next returns the next wanted event of a watch.
func next(t *testing.T, events watch.Interface, wanted func(watch.Event) bool) watch.Event {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if wanted(e) {
				return e
			}
		case <-late:
			t.Fatal("the watch is silent")
		}
	}
}

func isBookmark(e watch.Event) bool { return e.Type == watch.Bookmark }

func readyPod(e watch.Event, name, revision string) bool {
	pod, ok := e.Object.(*corev1.Pod)
	return ok && pod.Name == name && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision && pod.Status.Phase == corev1.PodRunning
}

func TestWatchSendsInitialEventsThenChanges(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			server, client := start(t, format)
			pods, err := client.CoreV1().Pods("team-0").Watch(t.Context(), metav1.ListOptions{
				SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer pods.Stop()
			seen := 0
			mark := next(t, pods, func(e watch.Event) bool {
				if e.Type == watch.Added {
					seen++
				}
				return isBookmark(e)
			})
			if end, ok := mark.Object.(*corev1.Pod); !ok || seen != 12 || end.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
				t.Errorf("%d pods, then %v", seen, mark.Object)
			}
			g := server.Managed()[0]
			server.Change(g)
			set, err := client.AppsV1().StatefulSets(g.Namespace).Get(t.Context(), g.Name+"-zone-b", metav1.GetOptions{})
			if err != nil || set.Status.UpdateRevision == set.Status.CurrentRevision || set.Status.UpdatedReplicas != 0 || set.Status.ObservedGeneration != set.Generation {
				t.Fatalf("after a change: %+v, %v", set, err)
			}
			if err := client.CoreV1().Pods(g.Namespace).Delete(t.Context(), set.Name+"-1", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			next(t, pods, func(e watch.Event) bool { return e.Type == watch.Deleted })
			next(t, pods, func(e watch.Event) bool { return readyPod(e, set.Name+"-1", set.Status.UpdateRevision) })
			server.Wait()
			set, err = client.AppsV1().StatefulSets(g.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
			if err != nil || set.Status.UpdatedReplicas != 1 || set.Status.ReadyReplicas != 2 || server.IsUpdated(g) {
				t.Errorf("after one pod: %+v, %v, updated %t", set.Status, err, server.IsUpdated(g))
			}
		})
	}
}

func TestWatchContinuesAfterListVersion(t *testing.T) {
	server, client := start(t, runtime.ContentTypeProtobuf)
	sets := client.AppsV1().StatefulSets("")
	server.Change(server.Managed()[0])
	list, err := sets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server.Change(server.Managed()[1])
	events, err := sets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	first := next(t, events, func(watch.Event) bool { return true })
	if set, ok := first.Object.(*appsv1.StatefulSet); !ok || first.Type != watch.Modified || set.Name != "store-1-zone-a" {
		t.Errorf("first event: %s %v", first.Type, first.Object)
	}
}

func TestDeletePodChecksPreconditions(t *testing.T) {
	server, client := start(t, runtime.ContentTypeProtobuf)
	pods := client.CoreV1().Pods("team-0")
	pod, err := pods.Get(t.Context(), "store-0-zone-a-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	requiring := func(uid types.UID, version string) metav1.DeleteOptions {
		return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	}
	for name, options := range map[string]metav1.DeleteOptions{
		"another UID":     requiring("another", pod.ResourceVersion),
		"another version": requiring(pod.UID, "1"),
	} {
		if err := pods.Delete(t.Context(), pod.Name, options); !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := pods.Delete(t.Context(), pod.Name, requiring(pod.UID, pod.ResourceVersion)); err != nil {
		t.Fatal(err)
	}
	server.Wait()
	is, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil || is.UID == pod.UID || !server.IsUpdated(server.Managed()[0]) {
		t.Errorf("afterwards: %v, %v", is.UID, err)
	}
	if err := pods.Delete(t.Context(), "missing", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("of a missing pod: %v", err)
	}
}

func TestUpdateLeaseRequiresCurrentVersion(t *testing.T) {
	_, client := start(t, runtime.ContentTypeProtobuf)
	leases := client.CoordinationV1().Leases("team-0")
	made, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "hold"}}, metav1.CreateOptions{})
	if err != nil || made.UID == "" {
		t.Fatalf("created %v, %v", made, err)
	}
	if _, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "hold"}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created again: %v", err)
	}
	made.Spec.HolderIdentity = new("one")
	if _, err := leases.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	made.Spec.HolderIdentity = new("other")
	if _, err := leases.Update(t.Context(), made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("by an old version: %v", err)
	}
	is, err := leases.Get(t.Context(), "hold", metav1.GetOptions{})
	if err != nil || *is.Spec.HolderIdentity != "one" {
		t.Errorf("holder: got %v, %v", is.Spec.HolderIdentity, err)
	}
}

func TestPatchStatusAdoptsRevision(t *testing.T) {
	server, client := start(t, runtime.ContentTypeProtobuf)
	g := server.Managed()[0]
	server.Change(g)
	sets := client.AppsV1().StatefulSets(g.Namespace)
	set, err := sets.Get(t.Context(), g.Name+"-zone-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"uid":"` + string(set.UID) + `","resourceVersion":"` + set.ResourceVersion + `"},"status":{"currentRevision":"` + set.Status.UpdateRevision + `"}}`)
	is, err := sets.Patch(t.Context(), set.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil || is.Status.CurrentRevision != set.Status.UpdateRevision {
		t.Errorf("adopted: %+v, %v", is.Status, err)
	}
	if _, err := sets.Patch(t.Context(), set.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); !apierrors.IsConflict(err) {
		t.Errorf("by an old version: %v", err)
	}
}

func TestAccessIsAllowedAndNoDefinitionsExist(t *testing.T) {
	_, c := config(t, runtime.ContentTypeProtobuf)
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Errorf("reviewed %v, %v", review, err)
	}
	plain, err := metadata.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	definitions := plain.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if list, err := definitions.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("installed: %v, %v", list, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	events, err := definitions.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	next(t, events, isBookmark)
	groups := plain.Resource(schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "rolloutgroups"})
	if _, err := groups.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("custom resources: %v", err)
	}
}

func TestFirstWrite(t *testing.T) {
	server, client := start(t, runtime.ContentTypeProtobuf)
	began := time.Now()
	_, _ = client.CoreV1().Pods("team-0").List(t.Context(), metav1.ListOptions{})
	_ = client.CoreV1().Pods("bystanders").Delete(t.Context(), "store-0-zone-a-0", metav1.DeleteOptions{})
	if w, some := server.FirstWrite("team-0", began); some {
		t.Errorf("found %v", w)
	}
	for _, name := range []string{"store-0-zone-a-0", "store-0-zone-a-1"} {
		_ = client.CoreV1().Pods("team-0").Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	w, some := server.FirstWrite("team-0", began)
	if got := []string{w.Verb, w.Resource, w.Namespace, w.Name}; !some || !slices.Equal(got, []string{"DELETE", "pods", "team-0", "store-0-zone-a-0"}) {
		t.Errorf("found %v", got)
	}
	if w, some := server.FirstWrite("team-0", time.Now()); some {
		t.Errorf("later: %v", w)
	}
}
