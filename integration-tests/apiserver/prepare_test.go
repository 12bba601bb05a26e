package apiserver_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// podPort is the port at which simulated pods answer.
const podPort = "8080"

// prepares makes lockstep call the pods of a zone before a downscale deletes them.
func prepares(s *appsv1.StatefulSet) {
	set(&s.Labels, "grafana.com/prepare-downscale", "true")
	set(&s.Annotations, "grafana.com/prepare-downscale-http-path", "prepare")
	set(&s.Annotations, "grafana.com/prepare-downscale-http-port", podPort)
	s.Spec.ServiceName = "pods"
}

// call is a request that a pod received.
type call struct {
	at     time.Time
	path   string
	method string
	pod    string
	status int
}

// The paths of calls to pods.
const (
	toPrepare = "/prepare"
	toLeave   = "/leave" // after a delay
)

// voices answers for all pods of the suite.
type voices struct {
	mu      sync.Mutex
	calls   map[string][]call                       // by namespace
	answers map[string]func(method, pod string) int // by namespace
	behind  map[string]time.Duration                // how slow the clocks of a namespace's pods are
	leaving map[string]time.Time                    // since when a pod is ready to be removed, by namespace/name
}

var theVoices = sync.OnceValues(func() (*voices, error) {
	v := &voices{
		calls: map[string][]call{}, answers: map[string]func(string, string) int{},
		behind: map[string]time.Duration{}, leaving: map[string]time.Time{},
	}
	listener, err := net.Listen("tcp", ":"+podPort)
	if err != nil {
		return nil, err
	}
	go func() { _ = http.Serve(listener, v) }()
	return v, nil
})

// ServeHTTP answers for the pod in the Host header, if the called address is the pod's.
func (v *voices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := net.SplitHostPort(r.Host)
	parts := strings.Split(name, ".")
	if len(parts) < 3 || (r.URL.Path != toPrepare && r.URL.Path != toLeave) {
		http.Error(w, "this is no pod", http.StatusTeapot)
		return
	}
	pod, namespace := parts[0], parts[2]
	v.mu.Lock()
	answer := v.answers[namespace]
	v.mu.Unlock()
	status := http.StatusOK
	if answer != nil {
		status = answer(r.Method, pod)
	}
	v.mu.Lock()
	v.calls[namespace] = append(v.calls[namespace], call{time.Now(), r.URL.Path, r.Method, pod, status})
	since := v.ready(namespace, pod, r.Method)
	v.mu.Unlock()
	w.WriteHeader(status)
	if r.URL.Path == toLeave && r.Method == http.MethodPost {
		fmt.Fprintf(w, `{"timestamp":%d}`, since.Unix())
	}
}

// ready returns since when a pod is ready to be removed, by its own clock. It is ready from
// the first call that announces its removal until a call to stay.
func (v *voices) ready(namespace, pod, method string) time.Time {
	key := namespace + "/" + pod
	if method == http.MethodDelete {
		delete(v.leaving, key)
	} else if v.leaving[key].IsZero() {
		v.leaving[key] = time.Now().Add(-v.behind[namespace])
	}
	return v.leaving[key]
}

// answering returns a guarded scene whose pods answer with this function; nil: always 200.
func answering(t *testing.T, answer func(method, pod string) int) *scene {
	t.Helper()
	needsNetwork(t)
	s := guarded(t)
	s.answersLike(answer)
	return s
}

// answersLike makes the pods of a scene answer with this function; nil: always 200.
func (s *scene) answersLike(answer func(method, pod string) int) {
	s.t.Helper()
	needsNetwork(s.t)
	s.withVoices(func(v *voices) { v.answers[s.name] = answer })
}

// declines makes a pod decline its preparation until agrees is called.
func (s *scene) declines(name string) (agrees func()) {
	s.t.Helper()
	var agreed atomic.Bool
	s.answersLike(func(method, pod string) int {
		if method == http.MethodPost && pod == name && !agreed.Load() {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	return func() { agreed.Store(true) }
}

// withVoices calls a function with the state of the pods' answers.
func (s *scene) withVoices(do func(*voices)) {
	s.t.Helper()
	v, err := theVoices()
	if err != nil {
		s.t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	do(v)
}

// calls returns the calls to pods of the scene so far.
func (s *scene) calls() []call {
	s.t.Helper()
	var all []call
	s.withVoices(func(v *voices) { all = slices.Clone(v.calls[s.name]) })
	return all
}

// callsTo returns the calls to a pod about preparation: "POST 200, DELETE 200".
func (s *scene) callsTo(pod string) string { s.t.Helper(); return s.callsAbout(toPrepare, pod) }

// callsAbout returns the calls to a pod at a path.
func (s *scene) callsAbout(path, pod string) string {
	s.t.Helper()
	var words []string
	for _, c := range s.calls() {
		if c.pod == pod && c.path == path {
			words = append(words, fmt.Sprintf("%s %d", c.method, c.status))
		}
	}
	return strings.Join(words, ", ")
}

// noPreparedPodStays waits until no pod that stays has a call to prepare as its last one:
// guarantee 7.
func (s *scene) noPreparedPodStays(pods ...string) {
	s.t.Helper()
	for _, pod := range pods {
		s.eventually(pod+" was notified that it stays", func(present) error {
			if all := s.callsTo(pod); all != "" && !strings.HasSuffix(all, "DELETE 200") {
				return errors.New(all)
			}
			return nil
		})
	}
}

func TestOnlyPodsThatAreRemovedArePreparedBefore(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("zone-a", 4, prepares), zone("zone-b", 2, prepares))
	for _, way := range waysToScale {
		began := aNewSecond()
		if err := s.scaleBy(way, "zone-a", -1); err != nil {
			t.Fatal(err)
		}
		s.settled()
		s.recordsItsTime("zone-a", began)
	}
	var got []string
	for _, c := range s.calls() {
		got = append(got, c.method+" "+c.pod)
	}
	if want := []string{"POST zone-a-3", "POST zone-a-2", "POST zone-a-1"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// lockstep also prepares the pods of a StatefulSet without a group.
func TestAStatefulSetWithoutAGroupIsPreparedAndNeverRolled(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("lonely", 3, prepares, alone))
	pods := s.witness.now().pods
	s.change("lonely", version(2))
	s.observed("lonely")
	s.awaitScalable("lonely")
	if err := s.scaleBy(scaled, "lonely", -1); err != nil {
		t.Fatal(err)
	}
	s.lease("lockstep-statefulset-lonely")
	s.eventually("one pod was removed, and the group has no holder", func(now present) error {
		if now.pods["lonely-2"] != nil {
			return errors.New("lonely-2 is still there")
		}
		return free(now)
	})
	if all := s.callsTo("lonely-2"); all != "POST 200" {
		t.Errorf("lonely-2 received %q", all)
	}
	s.nothingIsDeleted("of a StatefulSet without a group")
	for _, name := range []string{"lonely-0", "lonely-1"} {
		if now := s.witness.now().pods[name]; now == nil || now.UID != pods[name].UID {
			t.Errorf("%s is not the pod it was", name)
		}
	}
}

// alone removes a StatefulSet from its group.
func alone(s *appsv1.StatefulSet) { delete(s.Labels, groupLabel) }

func TestAPodThatDeclinesKeepsItsZoneAndTheOthersAreNotifiedToStay(t *testing.T) {
	t.Parallel()
	s := answering(t, func(method, pod string) int {
		if method == http.MethodPost && pod == "zone-a-2" {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	s.create(zone("zone-a", 3, prepares), zone("zone-b", 1))
	s.awaitScalable("zone-a")
	err := s.scaleBy(scaled, "zone-a", -2)
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "zone-a-2") {
		t.Errorf("got %v, want a 429 that names the pod", err)
	}
	s.settled()
	s.noPreparedPodStays("zone-a-1", "zone-a-2")
	if all := s.callsTo("zone-a-0"); all != "" {
		t.Errorf("zone-a-0, which was to stay, was called: %s", all)
	}
}

// An update can fail after its webhooks have admitted it. Here it also changes an immutable field.
func TestAnAdmittedDownscaleThatNeverTakesPlaceIsUndone(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("zone-a", 3, prepares), zone("zone-b", 1))
	s.awaitScalable("zone-a")
	set, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(t.Context(), "zone-a", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	set.Spec.Replicas, set.Spec.ServiceName = new(int32(1)), "another"
	if _, err := s.world.admin.AppsV1().StatefulSets(s.name).Update(t.Context(), set, updateOptions); !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want that it is invalid", err)
	}
	if all := s.callsTo("zone-a-2"); all != "POST 200" {
		t.Errorf("zone-a-2 received %q before the update failed", all)
	}
	s.settled()
	s.noPreparedPodStays("zone-a-1", "zone-a-2")
	s.scalesDownAtLast(scaled, "zone-a")
	s.settled()
}

func TestADryRunOfADownscaleCallsNoPodAndIsJudged(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("zone-a", 2, prepares), zone("zone-b", 1))
	s.awaitScalable("zone-a")
	try := func() error {
		set, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(t.Context(), "zone-a", getOptions)
		if err != nil {
			return err
		}
		set.Spec.Replicas = new(int32(1))
		dry := updateOptions
		dry.DryRun = []string{"All"}
		_, err = s.world.admin.AppsV1().StatefulSets(s.name).Update(t.Context(), set, dry)
		return err
	}
	if err := try(); err != nil {
		t.Errorf("got %v, want a yes", err)
	}
	s.change("zone-b", replicas(2), readyAfter(time.Hour))
	s.eventually("an unavailable zone refuses the dry run as well", func(present) error {
		if err := try(); !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if all := s.calls(); len(all) > 0 {
		t.Errorf("pods were called: %v", all)
	}
	if err := free(s.witness.now()); err != nil {
		t.Error(err)
	}
}

// The API server calls webhooks before it validates the number.
func TestADownscaleBelowZeroIsRefusedAndRecordsNothing(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("zone-a", 2, prepares), zone("zone-b", 1))
	if err := s.scaleBy(patched, "zone-a", -3); err == nil {
		t.Error("-1 replicas are accepted")
	}
	if all := s.calls(); len(all) > 0 {
		t.Errorf("pods were called: %v", all)
	}
	s.scalesDownAtLast(patched, "zone-a")
	s.settled()
}

// Pods that cannot be reached have received no call, so lockstep need not undo any.
func TestUnreachablePodsDelayNoOtherPod(t *testing.T) {
	t.Parallel()
	s := answering(t, nil)
	s.create(zone("zone-a", 2, prepares, answersNowhere), zone("zone-b", 1))
	s.awaitScalable("zone-a")
	if err := s.scaleBy(scaled, "zone-a", -1); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "zone-a-1 cannot be reached") {
		t.Errorf("got %v, want a 429 that names the pod", err)
	}
	s.changeAll(version(2))
	s.settled()
}

// answersNowhere makes lockstep call pods at a port on which no server listens.
func answersNowhere(s *appsv1.StatefulSet) {
	set(&s.Annotations, "grafana.com/prepare-downscale-http-port", "9")
}
