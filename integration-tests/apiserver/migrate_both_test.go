package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// Two operators work in one namespace, which is a mistake. These tests show its effects.

// rolls makes rollouts like the predecessor, concurrently with other operators, until end is
// called.
func (p *predecessor) rolls() (end func()) {
	over, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond): // the predecessor is slower by default
			}
			if pod := p.nextPod(); pod != "" {
				_ = p.client.CoreV1().Pods(p.name).Delete(p.t.Context(), pod, deleteOptions) // another operator may have deleted it first
			}
		}
	}()
	return func() { close(stop); <-over }
}

// nextPod returns the pod that the predecessor would delete next, according to the status of
// StatefulSets and the revisions of pods.
func (p *predecessor) nextPod() string {
	now := p.witness.now()
	var unready []string
	for _, name := range sortedKeys(now.sets) {
		if s := now.sets[name].Status; s.Replicas != s.ReadyReplicas {
			unready = append(unready, name)
		}
	}
	for _, name := range sortedKeys(now.sets) {
		set := now.sets[name]
		if len(unready) > 0 && !slices.Equal(unready, []string{name}) {
			continue
		}
		for _, pod := range judge.ZoneOf(set).Pods() {
			if known := now.pods[pod]; known != nil && known.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision {
				if len(unready) > 0 || known.DeletionTimestamp != nil {
					return "" // its budget is one pod
				}
				return pod
			}
		}
	}
	return ""
}

func TestPodsThatAnotherOperatorDeletesCountAndNoneIsDeletedTwice(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unordered, s.rules.contested = true, true // either operator may delete a pod first
	p := s.predecessor()
	s.create(zone("zone-a", 3, formerly), zone("zone-b", 3, formerly), zone("zone-c", 3, formerly))
	defer p.rolls()()
	for n := range 2 {
		before := len(s.deletions())
		s.changeAll(version(n+2), readyAfter(short))
		s.settled()
		ours := s.deletions()[before:]
		if once := slices.Compact(slices.Sorted(slices.Values(ours))); len(once) < len(ours) {
			t.Errorf("lockstep deleted %q, some of them twice", ours)
		}
		t.Logf("lockstep deleted %d of 9 pods", len(ours))
	}
}

// judges answers downscales of zones like the predecessor: it writes the time to the StatefulSet
// while the API server waits for the answer, and admits the downscale. The API server calls two
// webhooks in the order of the names of their configurations.
func (p *predecessor) judges(name string) {
	p.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if *review.Request.DryRun {
			review.Response.Warnings = []string{"asked"}
		} else if err := p.patch(review.Request.Name, stampOf(time.Now())); err != nil {
			review.Response.Allowed = false
		}
		_ = json.NewEncoder(w).Encode(review) // the API server may have closed the connection
	}))
	p.t.Cleanup(server.Close)
	where := strings.TrimPrefix(server.URL, "https://")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c := prepareDownscale(p.t, name, where, authority, p.here().MatchLabels)
	c.Webhooks[0].Name = formerMutating + p.name + ".grafana.com"
	hooks := p.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := hooks.Create(p.t.Context(), c, createOptions); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(p.t.Context()), name, deleteOptions); err != nil {
			p.t.Error(err)
		}
	})
	config := p.world.cluster.AdminConfig()
	warned := &evictor{scene: p.scene}
	config.WarningHandler = warned
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.eventually("it is called", func(present) error {
		_, err := client.AppsV1().StatefulSets(p.name).Patch(p.t.Context(), p.zones[0], types.MergePatchType,
			[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if len(warned.warned()) == 0 {
			return errors.New(fmt.Sprint("not yet: ", err))
		}
		return nil
	})
}

func TestADownscaleJudgedByTwoOperatorsIsSafe(t *testing.T) {
	t.Parallel()
	for order, name := range map[string]string{"the predecessor first": "former-", "lockstep first": "zone-"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			s := answering(t, nil)
			s.patience = longPatience
			p := s.predecessor()
			s.create(zone("zone-a", 6, formerly, prepares), zone("zone-b", 2, formerly, prepares))
			p.judges(name + s.name)
			for _, way := range waysToScale {
				s.scalesDownAtLast(way, "zone-a")
				s.settled()
			}
			s.noPreparedPodStays(s.allPods()...)
			s.wantSizes(map[string][]int{"zone-a": {6, 5, 4, 3}, "zone-b": {2}})
			for _, pod := range []string{"zone-a-3", "zone-a-4", "zone-a-5"} {
				s.removedPrepared(pod)
			}
		})
	}
}

func TestACAThatTwoOperatorsWriteIsWrittenMoreSlowly(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.predecessor()
	p.registers()
	s.withRole()
	s.withWebhooks()
	op := s.startWithWebhooks(1)[0]
	s.eventually("lockstep has written its CA once", func(present) error {
		for name, bundle := range p.bundles() {
			if bytes.Equal(bundle, p.ca) {
				return fmt.Errorf("%s has the predecessor's", name)
			}
		}
		return nil
	})
	began := time.Now()
	s.eventually("the log reports another operator", func(present) error {
		if err := p.publishes(); err != nil && !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		if time.Since(began) < 5*time.Second || !strings.Contains(op.Logs(), "another writer keeps replacing the CA") {
			return errors.New("not yet")
		}
		return nil
	})
	rests := int(time.Since(began) / (30 * time.Second)) // the operator writes once more after each of them
	if n := len(s.injections(op.user)); n > 4*(8+rests) {
		t.Errorf("lockstep wrote its CA %d times into four configurations", n)
	}
}

// The predecessor's webhooks were not removed, and no server answers them.
func TestARemainingWebhookOfThePredecessorIsNamedInTheReason(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.patience = longPatience
	p := s.predecessor()
	s.template("web", 3)
	s.create(zone("zone-a", 3, formerly, mirrors("web")), zone("zone-b", 2, formerly))
	p.registers()
	p.isAway()
	s.setsReplicas("web", 2)
	s.eventually("it is named", func(present) error {
		_, record := s.operator.get("/debug/groups/" + s.name + "/" + defaultGroup)
		if !strings.Contains(record, formerMutating+s.name+".grafana.com") {
			return errors.New("not yet")
		}
		return nil
	})
	p.unregister()
	s.sized(map[string]int32{"zone-a": 2})
}
