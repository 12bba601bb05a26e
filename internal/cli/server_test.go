package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// apiServer is an API server that stores objects by path. It supports label selectors, some field
// selectors and merge patches. It answers in the goroutine of the
// client.
type apiServer struct {
	refuse func(*http.Request) *http.Response // answers in its place, unless it returns nil
	broken error                              // no request arrives
	slow   time.Duration                      // by how much its clock is behind the user's

	mu        sync.Mutex
	version   int
	objects   map[string]object
	watches   []watcher
	requested []string // the writes, as "METHOD path"
}

type watcher struct {
	folder string
	events chan metav1.WatchEvent
	end    context.CancelFunc
}

// hangUp ends every watch and sets the handler of further requests.
func (s *apiServer) hangUp(refuse func(*http.Request) *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
	for _, w := range s.watches {
		w.end()
	}
	s.watches = nil
}

func newServer() *apiServer {
	s := &apiServer{version: 999, objects: map[string]object{}}
	s.put(nodePath, nodeThat(corev1.ConditionTrue, time.Date(1999, 12, 24, 9, 0, 0, 0, time.UTC)))
	return s
}

func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// put stores an object at a path and sends events to watches.
func (s *apiServer) put(path string, o any) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var plain object
	if err := json.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(path, plain)
}

func (s *apiServer) keep(path string, o object) {
	s.version++
	meta, _ := o["metadata"].(object)
	if meta == nil {
		meta = object{}
		o["metadata"] = meta
	}
	if meta["resourceVersion"] == nil || s.objects[path] != nil {
		meta["resourceVersion"] = strconv.Itoa(s.version)
	}
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("uid-%d", s.version)
	}
	what := "ADDED"
	if s.objects[path] != nil {
		what = "MODIFIED"
	}
	s.objects[path] = o
	for _, w := range s.watches {
		if within(path, w.folder) {
			raw, _ := json.Marshal(o)
			event := metav1.WatchEvent{Type: what}
			event.Object.Raw = raw
			w.events <- event
		}
	}
}

// get returns an object.
func (s *apiServer) get(path string) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.objects[path])
}

// everything returns all objects by their paths.
func (s *apiServer) everything() map[string]object {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]object{}
	for path, o := range s.objects {
		all[path] = clone(o)
	}
	return all
}

func (s *apiServer) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requested)
}

func clone(o object) object {
	text, _ := json.Marshal(o)
	var c object
	_ = json.Unmarshal(text, &c)
	return c
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.answer(r)
	if answer != nil && answer.Header.Get("Date") == "" {
		answer.Header.Set("Date", time.Now().Add(-s.slow).UTC().Format(http.TimeFormat))
	}
	return answer, err
}

func (s *apiServer) answer(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	refuse, broken := s.refuse, s.broken
	s.mu.Unlock()
	if broken != nil {
		return nil, broken
	}
	if refuse != nil {
		if answer := refuse(r); answer != nil {
			return answer, nil
		}
	}
	return s.answerTo(r)
}

func (s *apiServer) answerTo(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		s.requested = append(s.requested, r.Method+" "+r.URL.Path)
	}
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		return s.watch(r), nil
	case r.Method == http.MethodGet && s.objects[path] != nil:
		return apitest.Answer(http.StatusOK, s.objects[path]), nil
	case r.Method == http.MethodGet && lists[folderOf(path)].Kind != "":
		return s.list(r), nil
	case r.Method == http.MethodPost:
		return s.create(path, body), nil
	case s.objects[path] == nil:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case r.Method == http.MethodPatch:
		return s.patch(path, body), nil
	case r.Method == http.MethodPut:
		return s.replace(path, body), nil
	case r.Method == http.MethodDelete:
		return s.remove(path, body), nil
	}
	return apitest.Refusal(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed), nil
}

// lists maps the resources of the server to the kinds of their lists.
var lists = map[string]metav1.TypeMeta{
	"pods": {Kind: "PodList", APIVersion: "v1"}, "events": {Kind: "EventList", APIVersion: "v1"},
	"nodes": {Kind: "NodeList", APIVersion: "v1"}, "namespaces": {Kind: "NamespaceList", APIVersion: "v1"}, "configmaps": {Kind: "ConfigMapList", APIVersion: "v1"},
	"zoneawarepoddisruptionbudgets": {Kind: "ZoneAwarePodDisruptionBudgetList", APIVersion: "rollout-operator.grafana.com/v1"},
	"statefulsets":                  {Kind: "StatefulSetList", APIVersion: "apps/v1"}, "leases": {Kind: "LeaseList", APIVersion: "coordination.k8s.io/v1"},
	"statefulclusters": {Kind: "StatefulClusterList", APIVersion: "lockstep.dev/v1alpha1"}, "persistentvolumeclaims": {Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
	"controllerrevisions": {Kind: "ControllerRevisionList", APIVersion: "apps/v1"},
	"deployments":         {Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}, // clients request only their metadata
}

func folderOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (s *apiServer) list(r *http.Request) *http.Response {
	items := []object{}
	for _, path := range sortedPaths(s.objects) {
		if within(path, r.URL.Path) && selected(s.objects[path], r) {
			items = append(items, s.objects[path])
		}
	}
	return apitest.Answer(http.StatusOK, object{"kind": lists[folderOf(r.URL.Path)].Kind, "apiVersion": lists[folderOf(r.URL.Path)].APIVersion, "metadata": object{"resourceVersion": strconv.Itoa(s.version)}, "items": items})
}

func (s *apiServer) watch(r *http.Request) *http.Response {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
	ctx, end := context.WithCancel(r.Context())
	w := watcher{r.URL.Path, make(chan metav1.WatchEvent, 100), end}
	s.watches = append(s.watches, w)
	return apitest.Watch(ctx, w.events, end)
}

// within reports whether an object is listed in a folder, of one namespace or of all.
func within(path, folder string) bool {
	parent := path[:strings.LastIndexByte(path, '/')]
	if parent == folder {
		return true
	}
	group, rest, namespaced := strings.Cut(parent, "/namespaces/")
	_, resource, _ := strings.Cut(rest, "/")
	return namespaced && group+"/"+resource == folder
}

func selected(o object, r *http.Request) bool {
	meta, _ := o["metadata"].(object)
	had := labels.Set{}
	given, _ := meta["labels"].(object)
	for key, value := range given {
		had[key], _ = value.(string)
	}
	wanted, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil || !wanted.Matches(had) {
		return false
	}
	requested, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return false
	}
	about, _ := o["involvedObject"].(object)
	kind, _ := about["kind"].(string)
	of, _ := about["name"].(string)
	reason, _ := o["reason"].(string)
	name, _ := meta["name"].(string)
	return requested.Matches(fields.Set{"involvedObject.kind": kind, "involvedObject.name": of, "reason": reason, "metadata.name": name})
}

func (s *apiServer) create(folder string, body []byte) *http.Response {
	var o object
	_ = json.Unmarshal(body, &o)
	meta, _ := o["metadata"].(object)
	path := fmt.Sprintf("%s/%s", folder, meta["name"])
	if s.objects[path] != nil {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	}
	s.keep(path, o)
	return apitest.Answer(http.StatusCreated, o)
}

func (s *apiServer) replace(path string, body []byte) *http.Response {
	var o object
	_ = json.Unmarshal(body, &o)
	was, _ := s.objects[path]["metadata"].(object)
	is, _ := o["metadata"].(object)
	if was["resourceVersion"] != is["resourceVersion"] || was["uid"] != is["uid"] {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	s.keep(path, o)
	return apitest.Answer(http.StatusOK, o)
}

// remove deletes an object, if it has the UID and the version that the request requires.
func (s *apiServer) remove(path string, body []byte) *http.Response {
	var options metav1.DeleteOptions
	_ = json.Unmarshal(body, &options)
	is, _ := s.objects[path]["metadata"].(object)
	if p := options.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil || string(*p.UID) != is["uid"] || *p.ResourceVersion != is["resourceVersion"] {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	delete(s.objects, path)
	return apitest.Answer(http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

func (s *apiServer) patch(path string, body []byte) *http.Response {
	var change object
	_ = json.Unmarshal(body, &change)
	o := clone(s.objects[path])
	if requested := at(change, "metadata", "resourceVersion"); requested != nil && requested != at(o, "metadata", "resourceVersion") {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict)
	}
	merge(o, change)
	s.keep(path, o)
	return apitest.Answer(http.StatusOK, o)
}

func merge(into, change object) {
	for key, value := range change {
		switch v := value.(type) {
		case nil:
			delete(into, key)
		case object:
			below, _ := into[key].(object)
			if below == nil {
				below = object{}
				into[key] = below
			}
			merge(below, v)
		default:
			into[key] = v
		}
	}
}

func sortedPaths(objects map[string]object) []string {
	var all []string
	for path := range objects {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// show stores the objects of a snapshot.
func (s *apiServer) show(tb testing.TB, w group.Snapshot) {
	tb.Helper()
	namespace := w.Key.Namespace
	s.put("/api/v1/namespaces/"+namespace, corev1.Namespace{
		TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"lockstep.dev/enabled": "true"}},
	})
	for _, z := range w.Zones {
		s.put("/apis/apps/v1/namespaces/"+namespace+"/statefulsets/"+z.Name, setOf(w.Key, z))
		for _, p := range z.Pods {
			s.put("/api/v1/namespaces/"+namespace+"/pods/"+p.Name, podIn(namespace, z, p))
		}
	}
	if w.Hold.Exists {
		c, err := connect(s.config(), namespace, "test", func(string) {})
		if err != nil {
			tb.Fatal(err)
		}
		record := w.Hold
		record.UID = ""
		if err := lease.NewStore(c.client, namespace, "test").Write(tb.Context(), w.Key, record.Record()); err != nil {
			tb.Fatal(err)
		}
	}
	s.requested = nil
}

// nodeOfAll is the node of all pods.
const (
	nodeOfAll = "node-1"
	nodePath  = "/api/v1/nodes/" + nodeOfAll
)

// nodeThat returns the node as Ready, or not Ready, since a time.
func nodeThat(ready corev1.ConditionStatus, since time.Time) *corev1.Node {
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(since)}
	if ready != corev1.ConditionTrue {
		c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: nodeOfAll, Labels: map[string]string{corev1.LabelHostname: nodeOfAll}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{c}},
	}
}

func setOf(key plan.Key, z group.Zone) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{Kind: "StatefulSet", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: z.Name, UID: types.UID(z.UID), ResourceVersion: z.Version.String(), Generation: 1,
			Labels: map[string]string{contract.GroupLabel: key.Name}, Annotations: map[string]string{},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(z.Replicas)), MinReadySeconds: int32(z.MinReady / time.Second), ServiceName: z.Name,
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"zone": z.Name}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		},
		Status: appsv1.StatefulSetStatus{
			UpdateRevision: z.UpdateRevision, CurrentRevision: z.CurrentRevision, ObservedGeneration: 1,
			UpdatedReplicas: int32(z.Replicas), ReadyReplicas: int32(z.Replicas),
		},
	}
	if z.Paused {
		set.Annotations[contract.PausedAnnotation] = "true"
	}
	if !z.PausedUntil.Time.IsZero() {
		set.Annotations[contract.PausedUntilAnnotation] = contract.FormatPausedUntil(z.PausedUntil.Time)
	}
	if z.MaxUnavailable != (plan.Budget{}) {
		set.Annotations[contract.MaxUnavailableAnnotation] = z.MaxUnavailable.String()
	}
	if z.MaxUnavailable.Invalid != "" {
		set.Annotations[contract.MaxUnavailableAnnotation] = z.MaxUnavailable.Invalid
	}
	return set
}

func podIn(namespace string, z group.Zone, p plan.Pod) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.Version.String(),
			Labels:          map[string]string{"zone": z.Name, contract.RevisionLabel: p.Revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: z.Name, UID: types.UID(z.UID), Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: nodeOfAll},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: p.IP},
	}
	switch p.Phase {
	case plan.Ready:
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.ReadySince)}}
	case plan.Terminating:
		pod.DeletionTimestamp = new(metav1.Now())
	case plan.Failing:
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: p.Why}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "reading configuration\nfield replicas not found\n"}},
		}}
	case plan.Starting:
	}
	return pod
}

// event stores an Event about an object.
func (s *apiServer) event(kind, name, from, reason, note string, at time.Time) {
	s.put(fmt.Sprintf("/api/v1/namespaces/team/events/%s-%d", name, at.UnixNano()), corev1.Event{
		TypeMeta:   metav1.TypeMeta{Kind: "Event", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("%s-%d", name, at.UnixNano())},
		Type:       corev1.EventTypeWarning, InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "team", Name: name},
		Reason: reason, Message: note, ReportingController: from, LastTimestamp: metav1.NewTime(at),
	})
}
