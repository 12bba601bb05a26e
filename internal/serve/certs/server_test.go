package certs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// apiServer is an API server with one Secret and nothing else. It has real
// compare-and-swap, watches and its own clock. It answers in the goroutine of the
// client, so that it can run in a bubble of testing/synctest.
type apiServer struct {
	// ahead is the duration by which its clock is ahead of this machine's.
	ahead time.Duration
	// interfere can answer a request in place of the server. It can also change the
	// Secret before the server handles the request.
	interfere func(*http.Request) *http.Response

	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	writes  int
	watches apitest.Watchers[*corev1.Secret]
}

func newServer() *apiServer {
	return &apiServer{version: 100}
}

const (
	home = "lockstep-system"
	name = "lockstep-webhook-certificate"
)

// now is the server's time.
func (a *apiServer) now() time.Time { return time.Now().Add(a.ahead) }

// change writes the Secret as another client, or deletes it if how returns nil.
func (a *apiServer) change(how func(*corev1.Secret) *corev1.Secret) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(how(a.secret.DeepCopy()))
}

// stored returns the Secret, or nil, and the number of writes.
func (a *apiServer) stored() (*corev1.Secret, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret.DeepCopy(), a.writes
}

func (a *apiServer) store(next *corev1.Secret) {
	a.version++
	if next != nil {
		next.ResourceVersion = strconv.Itoa(a.version)
		if next.UID == "" {
			next.UID = types.UID(fmt.Sprintf("uid-%d", a.version))
		}
	}
	a.writes++
	before := a.secret
	a.secret = next
	a.watches.Tell(next, event(before, next))
}

// event returns the watch event of a change.
func event(before, after *corev1.Secret) metav1.WatchEvent {
	if after == nil {
		return apitest.Event(watch.Deleted, before)
	}
	return apitest.Event(watch.Modified, after) // a cache handles it like ADDED
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent *corev1.Secret
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	interfere := a.interfere
	a.mu.Unlock()
	if interfere != nil {
		if answer := interfere(r); answer != nil {
			return answer, nil
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.answer(r, sent)
	answer.Header.Set("Date", a.now().UTC().Format(http.TimeFormat))
	return answer, nil
}

// intercept calls interfere for every request from now on; nil ends that.
func (a *apiServer) intercept(interfere func(*http.Request) *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interfere = interfere
}

func (a *apiServer) answer(r *http.Request, sent *corev1.Secret) *http.Response {
	query := r.URL.Query()
	named := strings.HasSuffix(r.URL.Path, "/secrets/"+name)
	switch {
	case !strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"+home+"/secrets"):
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodGet && !named && query.Get("fieldSelector") != "metadata.name="+name:
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden) // RBAC would not allow another request
	case query.Has("sendInitialEvents"): // so that clients list first
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Has("watch"):
		return a.watch(r)
	case r.Method == http.MethodGet && !named:
		list := corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
		if a.secret != nil {
			list.Items = append(list.Items, *a.secret)
		}
		return apitest.Answer(http.StatusOK, list)
	case r.Method == http.MethodPost && a.secret != nil:
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && a.secret == nil:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodGet:
		return apitest.Answer(http.StatusOK, a.secret)
	case r.Method == http.MethodPut && (sent.ResourceVersion != a.secret.ResourceVersion || sent.UID != a.secret.UID):
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	a.store(sent)
	return apitest.Answer(http.StatusOK, a.secret)
}

// watch sends the changes of the Secret until the request ends.
func (a *apiServer) watch(r *http.Request) *http.Response {
	var first []metav1.WatchEvent
	if a.secret != nil && r.URL.Query().Get("resourceVersion") != strconv.Itoa(a.version) {
		first = append(first, event(nil, a.secret))
	}
	return a.watches.Watch(r, name, func(*corev1.Secret) bool { return true }, first...)
}
