package certs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer is an API server that has one Secret and nothing else, with real
// compare-and-swap, watches and a clock of its own. It answers in the goroutine
// that asks, so that it can live in a bubble of testing/synctest.
type apiServer struct {
	// ahead is by how much its clock is ahead of this machine's.
	ahead time.Duration
	// interfere may answer a request in the server's place, or change what is there,
	// before the server sees the request.
	interfere func(*http.Request) *http.Response

	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	writes  int
	watches map[chan watched]bool
}

func newServer() *apiServer {
	return &apiServer{version: 100, watches: map[chan watched]bool{}}
}

const (
	home = "lockstep-system"
	name = "lockstep-webhook-certificate"
)

// client returns a client through a transport that may be wrapped.
func (a *apiServer) client(tb testing.TB, wrap func(http.RoundTripper) http.RoundTripper) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "http://api", Transport: a, WrapTransport: wrap, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// now is the server's time.
func (a *apiServer) now() time.Time { return time.Now().Add(a.ahead) }

// change lets somebody else write the Secret, or delete it by returning nil.
func (a *apiServer) change(how func(*corev1.Secret) *corev1.Secret) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(how(a.secret.DeepCopy()))
}

// stored returns the Secret as it is, or nil, and how often it was written.
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
	for told := range a.watches {
		told <- event(before, next)
	}
}

// event is what a watch tells of a change.
func event(before, after *corev1.Secret) watched {
	if after == nil {
		return watched{"DELETED", typed(before)}
	}
	return watched{"MODIFIED", typed(after)} // to a cache the same as ADDED
}

type watched struct {
	Type   string         `json:"type"`
	Object *corev1.Secret `json:"object"`
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

// meddle lets interfere meet every request from now on; nil ends that.
func (a *apiServer) meddle(interfere func(*http.Request) *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interfere = interfere
}

func (a *apiServer) answer(r *http.Request, sent *corev1.Secret) *http.Response {
	query := r.URL.Query()
	named := strings.HasSuffix(r.URL.Path, "/secrets/"+name)
	switch {
	case !strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"+home+"/secrets"):
		return refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodGet && !named && query.Get("fieldSelector") != "metadata.name="+name:
		return refusal(http.StatusForbidden, metav1.StatusReasonForbidden) // RBAC would not allow more
	case query.Has("sendInitialEvents"): // so that it is asked for a list first
		return refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Has("watch"):
		return a.watch(r)
	case r.Method == http.MethodGet && !named:
		list := corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
		if a.secret != nil {
			list.Items = append(list.Items, *a.secret)
		}
		return reply(http.StatusOK, list)
	case r.Method == http.MethodPost && a.secret != nil:
		return refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && a.secret == nil:
		return refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodGet:
		return reply(http.StatusOK, typed(a.secret))
	case r.Method == http.MethodPut && (sent.ResourceVersion != a.secret.ResourceVersion || sent.UID != a.secret.UID):
		return refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	a.store(sent)
	return reply(http.StatusOK, typed(a.secret))
}

// watch tells what becomes of the Secret until the request ends.
func (a *apiServer) watch(r *http.Request) *http.Response {
	told := make(chan watched, 1000)
	a.watches[told] = true
	if a.secret != nil && r.URL.Query().Get("resourceVersion") != strconv.Itoa(a.version) {
		told <- event(nil, a.secret)
	}
	body, pen := io.Pipe()
	go func() {
		defer func() { _ = pen.Close() }() // never fails
		for {
			select {
			case w := <-told:
				text, err := json.Marshal(w)
				if err != nil {
					panic(err)
				}
				_, _ = pen.Write(append(text, '\n')) // the reader may have gone
			case <-r.Context().Done():
				a.mu.Lock()
				delete(a.watches, told)
				a.mu.Unlock()
				return
			}
		}
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: body,
	}
}

func typed(secret *corev1.Secret) *corev1.Secret {
	secret = secret.DeepCopy()
	secret.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	return secret
}

func refusal(code int32, why metav1.StatusReason) *http.Response {
	return reply(int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: why, Code: code, Message: string(why),
	})
}

func reply(code int, object any) *http.Response {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)),
	}
}
