package cabundle_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// apiServer is an API server with webhook configurations and nothing else. It supports list, watch and
// the expected JSON patches. It answers in the goroutine of the client, so that it can run in a bubble
// of testing/synctest.
type apiServer struct {
	mu       sync.Mutex
	version  int
	objects  map[string]*configuration // by resource and name
	patched  []string
	refuses  func(*http.Request) *http.Response
	watchers apitest.Watchers[named]
}

// configuration is a configuration of either kind. The fields that these tests use are the same.
type configuration = admissionregistrationv1.MutatingWebhookConfiguration

// named identifies a configuration.
type named struct{ resource, name string }

const (
	validating = "validatingwebhookconfigurations"
	mutating   = "mutatingwebhookconfigurations"
)

func newRegistry() *apiServer {
	return &apiServer{version: 100, objects: map[string]*configuration{}}
}

// change writes a configuration as another client, or deletes it if the function returns false.
func (g *apiServer) change(resource, name string, how func(*configuration) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	object := g.objects[resource+"/"+name].DeepCopy()
	if object == nil {
		object = &configuration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	keep := how(object)
	g.store(resource, object, keep)
}

func (g *apiServer) store(resource string, object *configuration, keep bool) {
	g.version++
	object.ResourceVersion = strconv.Itoa(g.version)
	kind := watch.Modified
	g.objects[resource+"/"+object.Name] = object
	if !keep {
		kind = watch.Deleted
		delete(g.objects, resource+"/"+object.Name)
	}
	g.watchers.Tell(named{resource, object.Name}, apitest.Event(kind, typed(resource, object)))
}

// bundles returns the bundles of a configuration, webhook by webhook.
func (g *apiServer) bundles(resource, name string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for _, hook := range g.objects[resource+"/"+name].Webhooks {
		all = append(all, string(hook.ClientConfig.CABundle))
	}
	return all
}

// patches returns the names of the configurations that were patched, in order.
func (g *apiServer) patches() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.patched)
}

// intercept calls refuses for every patch from now on; nil ends that.
func (g *apiServer) intercept(refuses func(*http.Request) *http.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = refuses
}

// RoundTrip implements http.RoundTripper.
func (g *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	refuses := g.refuses
	g.mu.Unlock()
	if r.Method == http.MethodPatch && refuses != nil {
		if answer := refuses(r); answer != nil {
			return answer, nil
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	resource := path.Base(r.URL.Path)
	if r.Method == http.MethodPatch {
		return g.patch(path.Base(path.Dir(r.URL.Path)), resource, sent), nil
	}
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || resource != validating && resource != mutating:
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, r.URL.Path), nil
	case query.Has("sendInitialEvents"): // so that the client lists first
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no streams"), nil
	case query.Has("watch"):
		return g.watch(r, resource, query.Get("fieldSelector")), nil
	}
	var items []any
	for key, object := range g.objects {
		if strings.HasPrefix(key, resource+"/") && selects(query.Get("fieldSelector"), object.Name) {
			items = append(items, object)
		}
	}
	return apitest.Answer(http.StatusOK, map[string]any{"metadata": map[string]string{"resourceVersion": strconv.Itoa(g.version)}, "items": items}), nil
}

func selects(selector, name string) bool { return selector == "" || selector == "metadata.name="+name }

// patch accepts a test of the version, then bundles, and nothing else.
func (g *apiServer) patch(resource, name string, sent []byte) *http.Response {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(sent, &operations); err != nil {
		return apitest.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	object := g.objects[resource+"/"+name].DeepCopy()
	if object == nil {
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound, name)
	}
	for i, o := range operations {
		var text string
		var hook int
		if i == 0 {
			if err := json.Unmarshal(o.Value, &text); err != nil || o.Op != "test" || o.Path != "/metadata/resourceVersion" {
				return apitest.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the version is not tested first")
			}
			if text != object.ResourceVersion {
				return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "test failed")
			}
			continue
		}
		if _, err := fmt.Sscanf(o.Path, "/webhooks/%d/clientConfig/caBundle", &hook); err != nil || o.Op != "add" || hook >= len(object.Webhooks) {
			return apitest.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, "no patch of a bundle: "+o.Path)
		}
		if err := json.Unmarshal(o.Value, &object.Webhooks[hook].ClientConfig.CABundle); err != nil {
			return apitest.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		}
	}
	g.patched = append(g.patched, name)
	g.store(resource, object, true)
	return apitest.Answer(http.StatusOK, typed(resource, object))
}

func (g *apiServer) watch(r *http.Request, resource, selector string) *http.Response {
	var first []metav1.WatchEvent
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for key, object := range g.objects { // changes since the list
		if version, _ := strconv.Atoi(object.ResourceVersion); version > from && strings.HasPrefix(key, resource+"/") && selects(selector, object.Name) {
			first = append(first, apitest.Event(watch.Modified, typed(resource, object)))
		}
	}
	return g.watchers.Watch(r, resource, func(n named) bool { return n.resource == resource && selects(selector, n.name) }, first...)
}

func typed(resource string, object *configuration) *configuration {
	object = object.DeepCopy()
	kind := "MutatingWebhookConfiguration"
	if resource == validating {
		kind = "ValidatingWebhookConfiguration"
	}
	object.TypeMeta = metav1.TypeMeta{Kind: kind, APIVersion: "admissionregistration.k8s.io/v1"}
	return object
}
