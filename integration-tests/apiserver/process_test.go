package apiserver_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// impatient makes leadership change faster than by default, for tests that lose it.
var impatient = []string{
	"-leader-election.lease-duration=3s", "-leader-election.renew-deadline=2s", "-leader-election.retry-period=300ms",
}

// enduring keeps leadership for a minute unless it is released. retry-period also limits how long
// the release may take. A replica that waits for leadership tries more often: expectant.
var (
	enduring = []string{
		"-leader-election.lease-duration=60s", "-leader-election.renew-deadline=40s", "-leader-election.retry-period=10s",
	}
	expectant = append(slices.Clone(enduring), "-leader-election.retry-period=1s")
)

func TestAnOperatorKilledMidRolloutContinuesAfterItsRestart(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.withRole()
	op := s.startOperator(impatient...)
	s.changeAll(version(2), readyAfter(short))
	s.awaitDeletion("zone-a-0")
	op.Kill()
	if free(s.witness.now()) == nil {
		t.Error("the group's Lease was free mid-rollout")
	}
	s.comesUp("zone-a-0")
	s.startOperator(impatient...)
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2", "zone-b-0", "zone-b-1")
}

func TestAnOperatorMayBeKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := unmanaged(t)
	s.rules.unordered = true // two pods may be recorded together, and only one of them may have been deleted
	s.create(zone("zone-a", 3, maxUnavailable("2")), zone("zone-b", 3), zone("zone-c", 2))
	s.withRole()
	op := s.startOperator("-leader-election.enabled=false")
	s.changeAll(version(2), readyAfter(150*time.Millisecond))
	for range 6 {
		s.writesAgain(op)
		time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond))))
		op.Kill()
		op = s.startOperator("-leader-election.enabled=false")
	}
	s.settled()
	s.wantEachOnce()
}

// writesAgain waits until an operator has written something, or has finished.
func (s *scene) writesAgain(op *operator) {
	s.t.Helper()
	since := time.Now()
	s.eventually("the operator writes", func(now present) error {
		if len(s.writesOf(op.user, since)) > 0 {
			return nil
		}
		for _, name := range s.zones {
			if finished(now, name) != nil {
				return errors.New("not yet")
			}
		}
		return nil
	})
}

func TestTheNextReplicaTakesOverFromOneThatIsStopped(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.withRole()
	first := s.startOperator(enduring...)
	s.awaitLeadership(first)
	second := s.startOperator(expectant...)
	s.changeAll(version(2), readyAfter(short))
	s.awaitDeletion("zone-a-0")
	stopped := time.Now()
	if code := stopGently(t, first); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0:\n%s", code, lastLines(first.Logs(), "", 20))
	}
	s.awaitLeadership(second)
	if took := time.Since(stopped); took > 30*time.Second {
		t.Errorf("handing over took %s: the Lease has probably expired", took)
	}
	s.settled()
	s.wantEachOnce()
}

func TestSIGTERMEndsCleanlyAndFreesTheLeaderLease(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2))
	s.withRole()
	op := s.startOperator(enduring...)
	s.awaitLeadership(op)
	if s.leader() == "" {
		t.Error("it leads without the Lease")
	}
	s.endsCleanly(op)
}

func TestSIGTERMInTheMomentOfTakingLeadershipFreesTheLeaderLeaseToo(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRole()
	for range 10 {
		op := s.startOperator(enduring...)
		for s.leader() == "" { // no pause, because the moment is short
			if t.Context().Err() != nil {
				t.Fatal("no process becomes leader")
			}
		}
		s.endsCleanly(op)
		if t.Failed() {
			return
		}
	}
}

// leader returns the holder of the leader Lease in the scene's namespace.
func (s *scene) leader() string {
	s.t.Helper()
	l, err := s.world.admin.CoordinationV1().Leases(s.name).Get(s.t.Context(), "lockstep-leader", getOptions)
	switch {
	case apierrors.IsNotFound(err):
		return ""
	case err != nil:
		s.t.Fatal(err)
	case l.Spec.HolderIdentity == nil:
		return ""
	}
	return *l.Spec.HolderIdentity
}

// endsCleanly stops an operator, and checks its exit code, the end of its log, and that the leader
// Lease is free.
func (s *scene) endsCleanly(op *operator) {
	s.t.Helper()
	if code := stopGently(s.t, op); code != 0 {
		s.t.Errorf("exit code %d, want 0:\n%s", code, lastLines(op.Logs(), "", 20))
	}
	if !strings.Contains(op.Logs(), "lockstep has stopped") {
		s.t.Errorf("the log does not end well:\n%s", lastLines(op.Logs(), "", 5))
	}
	if h := s.leader(); h != "" {
		s.t.Errorf("after its end %s still leads:\n%s", h, lastLines(op.Logs(), "", 20))
	}
}

func TestUnusableFlagsAreAllNamedAtOnce(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	command := exec.CommandContext(t.Context(), w.program,
		"-server.port=99999", "-log.level=loud", "-kubernetes.namespace=Not_A_Name", "-workers=0",
		"-leader-election.renew-deadline=1h", "-namespaces.selector=a in (", "-no-such.flag=1")
	command.Env = []string{"LOCKSTEP_LOG_FORMAT=xml"}
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2", err)
	}
	for _, named := range []string{
		"server.port", "99999", "log.level", "loud", "kubernetes.namespace", "Not_A_Name", "workers",
		"renew-deadline", "namespaces.selector", "no-such.flag", "LOCKSTEP_LOG_FORMAT", "xml",
	} {
		if !strings.Contains(out.String(), named) {
			t.Errorf("%s is not named in:\n%s", named, out.String())
		}
	}
}

func TestAnOperatorWithoutAnAPIServerIsAliveAndNotReady(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	command := exec.CommandContext(t.Context(), w.program, "-kubernetes.api-url=http://127.0.0.1:1",
		"-leader-election.enabled=false", "-server.port=0", "-log.format=json")
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	address := listens(t, log)
	for path, want := range map[string]int{"/ready": 500, "/healthz": 200} {
		if code, body := get(address + path); code != want {
			t.Errorf("%s answers %d, want %d: %s", path, code, want, body)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("ended with %v after SIGTERM, want exit code 0", err)
	}
}

// listens reads a log until it contains the address of the operator.
func listens(t *testing.T, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), `"address":"`); found {
			address, _, _ := strings.Cut(after, `"`)
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return "http://" + address
		}
	}
	t.Fatalf("the log ended before it contained the address: %v", lines.Err())
	return ""
}

func TestTheOperationsListenerShowsGroupsAndForgetsThem(t *testing.T) {
	t.Parallel()
	s := managed(t)
	for path, want := range map[string]int{
		"/ready": 200, "/healthz": 200, "/metrics": 200, "/debug/groups": 200, "/debug/config": 200,
		"/debug/groups/nowhere/nothing": 404, "/": 200,
	} {
		if code, body := s.operator.get(path); code != want {
			t.Errorf("%s answers %d, want %d: %.200s", path, code, want, body)
		}
	}
	s.create(zone("zone-a", 2))
	s.changeAll(version(2))
	s.settled()
	series := []struct{ name, label string }{
		{"lockstep_group_zone_pods", `state="ready"`},
		{"lockstep_group_zone_budget", `zone="zone-a"`},
		{"lockstep_group_pods_deleted_total", `reason="OutdatedRevision"`},
		{"lockstep_group_reconciles_total", `result="done"`},
		{"lockstep_group_last_success_timestamp_seconds", `group="store"`},
	}
	s.eventually("the group has its metrics", func(present) error {
		_, metrics := s.operator.get("/metrics")
		for _, want := range series {
			if !hasSeries(metrics, want.name, s.name, want.label) {
				return fmt.Errorf("%s with %s is missing", want.name, want.label)
			}
		}
		return nil
	})
	if code, body := s.operator.get("/debug/groups/" + s.name + "/" + defaultGroup); code != 200 || !strings.Contains(body, `"zone-a-0"`) {
		t.Errorf("the group's record is answered with %d: %s", code, body)
	}
	s.remove("zone-a")
	s.eventually("the group is not shown any more", func(present) error {
		if _, metrics := s.operator.get("/metrics"); hasSeries(metrics, "lockstep_group_", s.name) {
			return errors.New("there are metrics of it")
		}
		if code, _ := s.operator.get("/debug/groups/" + s.name + "/" + defaultGroup); code != 404 {
			return fmt.Errorf("its record is answered with %d", code)
		}
		return nil
	})
}

func TestMetricsOfANamespaceGoWithItsOptIn(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2))
	s.changeAll(version(2))
	s.settled()
	if _, metrics := s.operator.get("/metrics"); !hasSeries(metrics, "lockstep_group_zone_pods", s.name) {
		t.Error("the group has no metrics")
	}
	s.optsIn(false)
	s.eventually("the group's metrics are deleted", func(present) error {
		if _, metrics := s.operator.get("/metrics"); hasSeries(metrics, "lockstep_group_", s.name) {
			return errors.New("they are there")
		}
		return nil
	})
}

// hasSeries reports whether metrics contain a series of a namespace with these labels.
func hasSeries(metrics, name, namespace string, labels ...string) bool {
	wanted := append([]string{fmt.Sprintf("namespace=%q", namespace)}, labels...)
	for line := range strings.Lines(metrics) {
		found := strings.HasPrefix(line, name)
		for _, label := range wanted {
			found = found && strings.Contains(line, label)
		}
		if found {
			return true
		}
	}
	return false
}

func TestAnIdleNamespaceIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.withRole()
	op := s.startOperator()
	s.changeAll(version(2))
	s.settled()
	s.awaitEvent("Normal", "RevisionComplete", "zone-b")
	s.showsGroup("store", "Settled, 4/4, Ready, Current")
	const idle = 3 * time.Second
	began := time.Now() // a status and Events may still be written
	s.eventually("for a while it only renews its leadership", func(present) error {
		requests, err := s.world.audit.Requests()
		if err != nil {
			t.Fatal(err)
		}
		busy, renewals, requestKind := began, 0, "no request"
		for _, r := range requests {
			switch {
			case r.User != op.user || r.At.Before(began):
			case r.Verb == "update" && r.Resource == "leases" && r.Name == "lockstep-leader":
				renewals++
			case r.Verb == "watch" || (r.Verb == "get" && r.Name == "lockstep-leader"):
			default:
				busy, renewals, requestKind = r.At, 0, r.String()
			}
		}
		if quiet := time.Since(busy); quiet < idle || renewals == 0 {
			return fmt.Errorf("%s ago: %s, and then %d renewals", quiet, requestKind, renewals)
		}
		return nil
	})
}

func TestDryRunDecidesAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.withRole()
	op := s.startOperator("-dry-run")
	s.changeAll(version(2))
	s.nothingIsDeleted("in a dry run")
	s.eventually("the plan is shown", func(present) error {
		if _, record := op.get("/debug/groups/" + s.name + "/" + defaultGroup); !strings.Contains(record, "delete zone-a-0") {
			return fmt.Errorf("the record is %s", record)
		}
		return nil
	})
	for _, r := range s.writesOf(op.user, time.Time{}) {
		if r.Name != "lockstep-leader" && r.Resource != "events" && (r.Resource != "leases" || r.Verb != "create") {
			t.Errorf("a dry run wrote: %s", r)
		}
	}
	if l := s.witness.now().leases; len(l) > 0 {
		t.Errorf("a dry run took the Lease %q", sortedKeys(l))
	}
}
