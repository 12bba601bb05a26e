package observe

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// catalogue is an API server that returns only metadata, and only of objects with the requested
// labels. It records requests.
type catalogue struct {
	objects map[string][]metav1.PartialObjectMetadata // by resource
	refuses string                                    // a resource that it refuses to return

	mu        sync.Mutex
	requested []string
	tell      map[string]chan metav1.WatchEvent // by resource
}

var (
	listTitle   = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}
	objectTitle = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
)

// newCatalogue returns a catalogue with a Deployment and a ReplicaSet of each relevant kind.
func newCatalogue() *catalogue {
	c := &catalogue{objects: map[string][]metav1.PartialObjectMetadata{}, tell: map[string]chan metav1.WatchEvent{}}
	for _, resource := range labelledResources {
		c.objects[resource] = []metav1.PartialObjectMetadata{
			entry("barred", "7", "true"), entry("allowed", "8", "false"), entry("unlabelled", "9", ""),
		}
	}
	return c
}

// entry returns the metadata of an object. If value is empty, it has no label.
func entry(name, version, value string) metav1.PartialObjectMetadata {
	e := metav1.PartialObjectMetadata{TypeMeta: objectTitle, ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: version, Labels: map[string]string{"app": name},
	}}
	if value != "" {
		e.Labels["grafana.com/no-downscale"] = value
	}
	return e
}

func (c *catalogue) client(t *testing.T) metadataclient.Interface {
	t.Helper()
	client, err := metadataclient.NewForConfig(&rest.Config{Host: "http://api", Transport: c, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// RoundTrip implements http.RoundTripper.
func (c *catalogue) RoundTrip(q *http.Request) (*http.Response, error) {
	_, resource, _ := parse(q.URL.Path)
	selector, err := labels.Parse(q.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	verb := "list"
	if q.URL.Query().Has("watch") {
		verb = "watch"
	}
	c.mu.Lock()
	c.requested = append(c.requested, strings.Join([]string{verb, q.URL.Path, selector.String(), asWhat(q.Header.Get("Accept"))}, " "))
	c.mu.Unlock()
	switch {
	case c.refuses == resource:
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden), nil
	case q.URL.Query().Has("sendInitialEvents"): // so that the client lists first
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case verb == "watch":
		return apitest.Watch(q.Context(), c.tell[resource], func() {}), nil
	}
	list := &metav1.PartialObjectMetadataList{TypeMeta: listTitle, ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
	for _, object := range c.objects[resource] {
		if selector.Matches(labels.Set(object.Labels)) {
			list.Items = append(list.Items, object)
		}
	}
	return apitest.Answer(http.StatusOK, list), nil
}

// asWhat returns the preferred form of an answer.
func asWhat(accept string) string {
	first, _, _ := strings.Cut(accept, ",")
	_, form, _ := strings.Cut(first, ";")
	return form
}

// questions returns all requests, without duplicates.
func (c *catalogue) questions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.requested)
	slices.Sort(all)
	return slices.Compact(all)
}

// open creates the channels of a catalogue in the current synctest bubble.
func (c *catalogue) open() {
	for resource := range c.objects {
		c.tell[resource] = make(chan metav1.WatchEvent)
	}
}

// lookout is a running observer.
type lookout struct {
	t *testing.T
	*Observer
}

// watching runs a test with a running observer of one namespace or of all. Without a catalogue,
// the observer does not watch labels.
func watching(t *testing.T, namespace string, c *catalogue, test func(lookout)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Namespace: namespace, Selector: labels.Everything()}
		if c != nil {
			c.open()
			o.Metadata = c.client(t)
		}
		client := newLibrary().client(t)
		observer, err := New(client, lease.NewStore(client, namespace, "test"), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { observer.Run(ctx) })
		synctest.Wait()
		test(lookout{t, observer})
		stop()
		running.Wait()
	})
}

func TestDeploymentsAndReplicaSetsAreCachedByTheLabel(t *testing.T) {
	c := newCatalogue()
	watching(t, "", c, func(o lookout) {
		if !o.Synced() {
			o.t.Fatal("the caches are not filled")
		}
		for _, resource := range labelledResources {
			o.wantScaled(resource, "barred", Scaled{UID: "uid-of-barred", Version: 7, NoDownscale: true})
			o.wantScaled(resource, "allowed", Scaled{UID: "uid-of-allowed", Version: 8})
			o.wantUnknown(resource, "unlabelled")

			tell := func(what watch.EventType, e metav1.PartialObjectMetadata) {
				c.tell[resource] <- apitest.Event(what, &e)
				synctest.Wait()
			}
			tell(watch.Modified, entry("barred", "101", "false"))
			o.wantScaled(resource, "barred", Scaled{UID: "uid-of-barred", Version: 101})
			tell(watch.Deleted, entry("barred", "102", "")) // the label was removed
			o.wantUnknown(resource, "barred")
			tell(watch.Added, entry("unlabelled", "103", "true"))
			o.wantScaled(resource, "unlabelled", Scaled{UID: "uid-of-unlabelled", Version: 103, NoDownscale: true})
		}
		o.wantUnknown("replicationcontrollers", "allowed")
	})
}

func (o lookout) wantScaled(resource, name string, want Scaled) {
	o.t.Helper()
	if got, known := o.Scaled(resource, "team", name); !known || got != want {
		o.t.Errorf("%s %s: got %+v, known %t, want %+v", resource, name, got, known, want)
	}
	if got, known := o.Scaled(resource, "other", name); known {
		o.t.Errorf("%s %s of another namespace: got %+v, want none", resource, name, got)
	}
}

func (o lookout) wantUnknown(resource, name string) {
	o.t.Helper()
	if got, known := o.Scaled(resource, "team", name); known {
		o.t.Errorf("%s %s: got %+v, want none", resource, name, got)
	}
}

func TestOnlyMetadataOfLabelledObjectsIsRequested(t *testing.T) {
	const list, object = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for namespace, path := range map[string]string{"": "/apis/apps/v1/", "team": "/apis/apps/v1/namespaces/team/"} {
		t.Run("in namespace "+namespace, func(t *testing.T) {
			c := newCatalogue()
			watching(t, namespace, c, func(o lookout) {
				want := []string{
					"list " + path + "deployments grafana.com/no-downscale " + list,
					"list " + path + "replicasets grafana.com/no-downscale " + list,
					"watch " + path + "deployments grafana.com/no-downscale " + object,
					"watch " + path + "replicasets grafana.com/no-downscale " + object,
				}
				if diff := cmp.Diff(want, c.questions()); diff != "" {
					o.t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

func TestWithoutPermissionToListDeploymentsTheyAreUnknown(t *testing.T) {
	c := newCatalogue()
	c.refuses = "deployments"
	watching(t, "", c, func(o lookout) {
		if !o.Synced() {
			o.t.Error("groups wait for a list that decides nothing about them")
		}
		o.wantUnknown("deployments", "barred")
		o.wantScaled("replicasets", "barred", Scaled{UID: "uid-of-barred", Version: 7, NoDownscale: true})
	})
}

func TestWithoutNoDownscaleWebhookOnlyStatefulSetsAreCached(t *testing.T) {
	watching(t, "", nil, func(o lookout) {
		show(o.Observer, newSet("zone-a", func(s *appsv1.StatefulSet) { s.Labels["grafana.com/no-downscale"] = "true" }))
		if !o.Synced() {
			o.t.Error("the caches are not filled")
		}
		o.wantScaled("statefulsets", "zone-a", Scaled{UID: "uid-of-zone-a", Version: 7, NoDownscale: true})
		o.wantUnknown("statefulsets", "zone-b")
		o.wantUnknown("deployments", "barred")
	})
}

func TestOnlyMetadataIsCached(t *testing.T) {
	if kept, err := trimLabelled(newSet("zone-a")); err == nil {
		t.Errorf("got %T, want an error", kept)
	}
	e := entry("barred", "7", "true")
	kept := must(trimLabelled(&e))
	for _, object := range []any{kept, cache.DeletedFinalStateUnknown{Key: "team/barred", Obj: kept}} {
		if again := must(trimLabelled(object)); again != object {
			t.Errorf("got %+v, want %+v unchanged", again, object)
		}
	}
	if key, err := cache.MetaNamespaceKeyFunc(kept); err != nil || key != "team/barred" {
		t.Errorf("kept under %q (%v), want team/barred", key, err)
	}
}
