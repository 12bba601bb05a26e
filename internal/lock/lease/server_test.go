package lease_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// apiServer is an API server for Leases only, with real compare-and-swap. It answers in the goroutine of the
// request, so that it works in a bubble of testing/synctest.
type apiServer struct {
	// deaf makes the server carry out requests whose context has ended.
	deaf bool
	// interfere runs before the server handles a request. It may return a response in the server's place, let
	// time pass, or change the stored Leases.
	interfere func(*http.Request) *http.Response
	// wrote is called with the holder after each write, while the server is locked.
	wrote func(holder string)

	mu       sync.Mutex
	version  int
	leases   map[string]*coordinationv1.Lease
	requests []request
}

// request is one recorded request.
type request struct {
	method string
	path   string
	lease  *coordinationv1.Lease // the body of a write
	delete metav1.DeleteOptions
}

func newServer() *apiServer {
	return &apiServer{version: 100, leases: map[string]*coordinationv1.Lease{}}
}

func (a *apiServer) client(tb testing.TB) kubernetes.Interface {
	tb.Helper()
	return apitest.Client(tb, a)
}

// meddle calls interfere for each request from now on; nil ends that.
func (a *apiServer) meddle(interfere func(*http.Request) *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interfere = interfere
}

// change makes another client write a Lease, or delete it if how returns false.
func (a *apiServer) change(name string, how func(*coordinationv1.Lease) bool) *coordinationv1.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.leases[name]
	if !ok {
		l = &coordinationv1.Lease{}
		l.Namespace, l.Name, _ = strings.Cut(name, "/")
		l.UID = types.UID(fmt.Sprintf("uid-%d", a.version))
		l.Labels = map[string]string{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)}
	}
	l = l.DeepCopy()
	keep := how(l)
	a.version++
	l.ResourceVersion = strconv.Itoa(a.version)
	a.leases[name] = l
	if !keep {
		delete(a.leases, name)
	}
	return l.DeepCopy()
}

// stored returns the current Lease, or nil.
func (a *apiServer) stored(name string) *coordinationv1.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leases[name].DeepCopy()
}

// sent returns the requests so far as "METHOD path".
func (a *apiServer) sent() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]string, len(a.requests))
	for i, r := range a.requests {
		all[i] = r.method
	}
	return all
}

// last returns the last request of a method.
func (a *apiServer) last(method string) request {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range slices.Backward(a.requests) {
		if r.method == method {
			return r
		}
	}
	return request{}
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	seen := request{method: r.Method, path: r.URL.Path}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		into := any(&seen.lease)
		if r.Method == http.MethodDelete {
			into = &seen.delete
		}
		if err := json.Unmarshal(body, into); err != nil {
			return nil, fmt.Errorf("%s: %w", body, err)
		}
	}
	a.mu.Lock()
	a.requests = append(a.requests, seen)
	interfere := a.interfere
	a.mu.Unlock()
	if interfere != nil {
		if answer := interfere(r); answer != nil {
			return answer, nil
		}
	}
	if err := r.Context().Err(); err != nil && !a.deaf {
		return nil, err
	}
	if !strings.Contains(seen.path, "/leases") {
		return refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answer(seen), nil
}

func (a *apiServer) answer(r request) *http.Response {
	// /apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases[/NAME]
	parts := strings.Split(strings.Trim(r.path, "/"), "/")
	name := parts[4] + "/"
	if len(parts) > 6 {
		name += parts[6]
	} else {
		name += r.lease.Name
	}
	current, exists := a.leases[name]
	switch {
	case r.method == http.MethodPost && exists:
		return refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.method != http.MethodPost && !exists:
		return refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.method == http.MethodGet:
		return apitest.Answer(http.StatusOK, current)
	case r.method == http.MethodDelete:
		if p := r.delete.Preconditions; p != nil && (*p.UID != current.UID || *p.ResourceVersion != current.ResourceVersion) {
			return refusal(http.StatusConflict, metav1.StatusReasonConflict)
		}
		delete(a.leases, name)
		a.version++
		return apitest.Answer(http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess})
	case r.method == http.MethodPut && (r.lease.ResourceVersion != current.ResourceVersion || r.lease.UID != current.UID):
		return refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	next := r.lease.DeepCopy()
	a.version++
	next.ResourceVersion = strconv.Itoa(a.version)
	if !exists {
		next.UID = types.UID(fmt.Sprintf("uid-%d", a.version))
	}
	a.leases[name] = next
	if a.wrote != nil {
		a.wrote(*next.Spec.HolderIdentity)
	}
	return apitest.Answer(http.StatusOK, next)
}

func refusal(code int32, why metav1.StatusReason) *http.Response { return apitest.Refusal(code, why) }
