package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// atOnce is the maximum time until a label of a namespace takes effect, even on a slow machine.
	atOnce = 20 * time.Second
	// underWay is how late a request may arrive that was sent earlier. The API server may stall for
	// that long.
	underWay = 10 * time.Second
)

func TestANamespaceThatDidNotOptInIsNeverWrittenTo(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.begin(zone("zone-a", 2), zone("zone-b", 2, inGroup("")))
	s.changeAll(version(2), maxUnavailable("nonsense"))
	s.nothingIsDeleted("without an opt-in")
	if leases := s.witness.now().leases; len(leases) > 0 {
		t.Errorf("there is %q", sortedKeys(leases))
	}
	if code, _ := s.operator.get("/debug/groups/" + s.name + "/" + defaultGroup); code != 404 {
		t.Errorf("the operator has a record of the group: %d", code)
	}
	s.isNotTimed()
}

func TestOptingInTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2))
	s.nothingIsDeleted("before the label is set")
	labelled := time.Now()
	s.optsIn(true)
	s.awaitDeletion("zone-a-0")
	if took := s.disruptions()[0].At.Sub(labelled); took > atOnce {
		t.Errorf("the first pod was deleted after %s, at most %s wanted", took, atOnce)
	}
	s.settled()
	s.wantEachOnce()
}

func TestOptingOutMidRolloutStopsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3))
	s.changeAll(version(2), gated())
	s.opensGates("zone-a-0")
	s.awaitDeletion("zone-a-1")
	out := time.Now()
	s.optsIn(false)
	s.awaitOptOut()
	if took := time.Since(out); took > atOnce {
		t.Errorf("the opt-out was noticed after %s, at most %s wanted", took, atOnce)
	}
	time.Sleep(underWay)
	noticed := time.Now()
	s.isBroken("zone-a-1")
	s.gate("zone-a-1", corev1.ConditionTrue)
	s.comesUp("zone-a-1")
	s.nothingIsDeleted("after the opt-out")
	for _, r := range s.writesOf(s.operator.user, noticed) {
		t.Errorf("%s after the opt-out: %s", r.At.Sub(out), r)
	}
	if free(s.witness.now()) == nil {
		t.Error("the Lease was released, although no write is allowed")
	}
	s.countsEveryOptOut()
	s.isNotTimed()
	s.optsIn(true)
	s.opensGatesAsTheyClose()
	s.settled()
	s.wantEachOnce()
}

// isNotTimed fails the test if a metric shows how long groups of the namespace wait for a worker.
func (s *scene) isNotTimed() {
	s.t.Helper()
	if _, metrics := s.operator.get("/metrics"); hasSeries(metrics, "lockstep_namespace_queue_duration_seconds_count", s.name) {
		s.t.Error("waits of groups of an unmanaged namespace are shown")
	}
}

// letBe is the log message about a namespace that opted out.
const letBe = "namespace is no longer managed"

// awaitOptOut waits until the log contains the opt-out of the namespace.
func (s *scene) awaitOptOut() {
	s.t.Helper()
	s.eventually("the log contains the opt-out", func(present) error {
		if said := lastLines(s.operator.Logs(), `"`+s.name+`"`, 1000); !strings.Contains(said, letBe) {
			return errors.New("it does not")
		}
		return nil
	})
}

// countsEveryOptOut waits until the metric equals the number of opt-outs in the log. Both count all
// scenes, because they share the operator.
func (s *scene) countsEveryOptOut() {
	s.t.Helper()
	s.eventually("the metric counts every opt-out in the log", func(present) error {
		logged := strings.Count(s.operator.Logs(), letBe)
		code, metrics := s.operator.get("/metrics")
		if want := fmt.Sprintf("\nlockstep_opt_outs_total %d\n", logged); logged == 0 || code != http.StatusOK || !strings.Contains(metrics, want) {
			return fmt.Errorf("the log contains %d; answered with %d: %s", logged, code, lastLines(metrics, "lockstep_opt_outs_total", 3))
		}
		return nil
	})
}

func TestAChangedSelectorValueIsAnOptOut(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2))
	namespace, err := s.world.admin.CoreV1().Namespaces().Get(t.Context(), s.name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	namespace.Labels[optIn] = "false"
	if _, err := s.world.admin.CoreV1().Namespaces().Update(t.Context(), namespace, updateOptions); err != nil {
		t.Fatal(err)
	}
	s.awaitOptOut()
	s.changeAll(version(2))
	s.nothingIsDeleted("after the opt-out")
}

func TestOneNamespaceIsManagedWithARoleAlone(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.withRole()
	op := s.startOperator()
	s.changeAll(version(2))
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	s.awaitEvent("Normal", "OutdatedRevision", "zone-a")
	requests, err := s.world.audit.Requests()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.User == op.user && r.Namespace != s.name && r.Resource != "selfsubjectaccessreviews" {
			t.Errorf("requests outside of its namespace: %s", r)
		}
		if byOperator(r.User) && r.User != op.user && r.Namespace == s.name && r.Writes() {
			t.Errorf("another operator wrote here: %s", r)
		}
	}
}

func TestTheLeaseOfADeletedGroupIsDeletedWhileAnotherGroupExists(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("x-a", 2, inGroup("x")), zone("y-a", 2, inGroup("y")))
	s.changeAll(version(2))
	s.settled()
	s.remove("x-a")
	s.eventually("the Lease of x is deleted", func(now present) error {
		if now.leases["lockstep-group-x"] != nil {
			return errors.New("it exists")
		}
		return nil
	})
	s.stays("the Lease of y exists", aWhile/2, func(now present) error {
		if now.leases["lockstep-group-y"] == nil {
			return fmt.Errorf("there is %q", sortedKeys(now.leases))
		}
		return nil
	})
}
