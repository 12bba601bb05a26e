package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// thePlugin builds the plugin when the first test needs it.
var thePlugin = sync.OnceValues(func() (string, error) {
	return localcluster.BuildPlugin(context.Background(), os.Stderr)
})

// person runs kubectl lockstep with a service account that has only the roles of
// manifests/examples/kubectl in the scene's namespace.
type person struct {
	scene      *scene
	program    string
	kubeconfig string
	in         string // the standard input of commands
}

const personAccount = "person"

func (s *scene) person() person {
	s.t.Helper()
	program, err := thePlugin()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.world.cluster.Apply(s.t.Context(), manifest+"examples/kubectl/roles.yaml"); err != nil {
		s.t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: personAccount}}
	if _, err := s.world.admin.CoreV1().ServiceAccounts(s.name).Create(s.t.Context(), account, createOptions); err != nil {
		s.t.Fatal(err)
	}
	for _, role := range []string{"lockstep-look", "lockstep-steer", "lockstep-replace"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: personAccount, Namespace: s.name}},
		}
		if _, err := s.world.admin.RbacV1().RoleBindings(s.name).Create(s.t.Context(), binding, createOptions); err != nil {
			s.t.Fatal(err)
		}
	}
	kubeconfig, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), s.name, personAccount)
	if err != nil {
		s.t.Fatal(err)
	}
	p := person{scene: s, program: program, kubeconfig: kubeconfig}
	s.eventually("the roles count", func(present) error {
		if code, _, errs := p.types("status"); code != 0 {
			return errors.New(errs)
		}
		return nil
	})
	return p
}

// types runs kubectl lockstep and returns its output.
func (p person) types(args ...string) (code int, out, errs string) {
	p.scene.t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(p.scene.t.Context(), p.program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(p.in), &stdout, &stderr
	err := command.Run()
	exit := &exec.ExitError{}
	if err != nil && !errors.As(err, &exit) {
		p.scene.t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// ends runs a command that must end with that exit code, and without an error message.
func (p person) ends(want int, args ...string) string {
	p.scene.t.Helper()
	code, out, errs := p.types(args...)
	if code != want || errs != "" {
		p.scene.t.Fatalf("kubectl lockstep %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out
}

// reads decodes the JSON output of a command.
func (p person) reads(into any, want int, args ...string) {
	p.scene.t.Helper()
	out := p.ends(want, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		p.scene.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// said is a wait in the output of kubectl lockstep.
type reportedWait struct{ Zone, Code, Pod string }

func TestKubectlNamesTheReasonThatMetricAndEventName(t *testing.T) {
	t.Parallel()
	s := managed(t)
	p := s.person()
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), plays(localcluster.PlayCrashLoop))
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.awaitEvent("Warning", "PodFailing", "zone-a")
	s.eventually("the metric shows it", func(present) error {
		if _, metrics := s.operator.get("/metrics"); !hasSeries(metrics, "lockstep_group_zone_waiting", s.name, `zone="zone-a"`, `reason="PodFailing"`) {
			return errors.New("it does not")
		}
		return nil
	})
	var why struct {
		Holder string
		Waits  []reportedWait
		Events []struct{ Reason, About string }
	}
	p.reads(&why, 2, "why", defaultGroup)
	if want := (reportedWait{"zone-a", "PodFailing", "zone-a-0"}); len(why.Waits) == 0 || why.Waits[0] != want || why.Holder != "rollout/zone-a" {
		t.Errorf("why: %+v, want first of all %+v", why, want)
	}
	if !slices.ContainsFunc(why.Events, func(e struct{ Reason, About string }) bool {
		return e.Reason == "PodFailing" && e.About == "StatefulSet/zone-a"
	}) {
		t.Errorf("why does not show the Event: %+v", why.Events)
	}
	var status struct {
		Activity string
		Zones    []struct {
			Name  string
			Waits reportedWait
		}
	}
	p.reads(&status, 0, "status", defaultGroup)
	if len(status.Zones) != 2 || status.Zones[0].Waits.Code != "PodFailing" || status.Activity != "Rolling" {
		t.Errorf("status: %+v", status)
	}
	var plan struct{ Steps []struct{ Step, Code string } }
	p.reads(&plan, 0, "plan", defaultGroup)
	if len(plan.Steps) == 0 || plan.Steps[0].Code != "PodFailing" || !strings.Contains(plan.Steps[0].Step, "zone-a-0") {
		t.Errorf("plan: %+v", plan)
	}
	var pod struct {
		Eviction struct {
			Allowed bool
			Because reportedWait
		}
	}
	p.reads(&pod, 2, "why", "zone-b-1")
	if pod.Eviction.Allowed || pod.Eviction.Because.Code != "GroupHeld" {
		t.Errorf("why zone-b-1: %+v", pod)
	}
	if out := p.ends(0, "status"); !strings.Contains(out, "PodFailing zone-a-0") {
		t.Errorf("output of status:\n%s", out)
	}
	s.changeAll(version(3), plays(""))
	s.settledSoon()
	if out := p.ends(0, "why", defaultGroup); !strings.Contains(out, "Nothing waits") {
		t.Errorf("output of why:\n%s", out)
	}
}

func TestAPauseByKubectlEndsByItself(t *testing.T) {
	t.Parallel()
	s := managed(t)
	p := s.person()
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	p.pausesFor(time.Hour)
	s.changeAll(version(2))
	s.awaitEvent("Normal", "Paused", "zone-a")
	if out := p.ends(2, "why", defaultGroup); !strings.Contains(out, "zone-a is paused until") || !strings.Contains(out, ": a test") {
		t.Errorf("output of why:\n%s", out)
	}
	until := p.pausesFor(10 * time.Second) // starts now, independently of the time until here
	s.settled()
	if first := s.disruptions()[0]; first.At.Before(until) || first.At.After(until.Add(byTimer)) {
		t.Errorf("%s was deleted at %s, the pause was over at %s", first.Pod, first.At, until)
	}
	s.wantEachOnce()
	p.ends(0, "resume", defaultGroup)
}

// pausesFor pauses the group and returns the end of the pause in the annotation of a zone, in whole
// seconds.
func (p person) pausesFor(d time.Duration) time.Time {
	p.scene.t.Helper()
	before := time.Now()
	p.ends(0, "pause", defaultGroup, "--for", d.String(), "--reason", "a test")
	until := p.scene.pausedUntil("zone-a")
	if until.Before(before.Add(d-2*time.Second)) || until.After(time.Now().Add(d)) {
		p.scene.t.Errorf("a pause of %s that began after %s lasts until %s", d, before, until)
	}
	return until
}

// pausedUntil returns the end of the pause of a zone.
func (s *scene) pausedUntil(name string) time.Time {
	s.t.Helper()
	set, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(s.t.Context(), name, getOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339, set.Annotations["lockstep.dev/paused-until"])
	if err != nil {
		s.t.Fatal(err)
	}
	return until
}

func TestAHoldByKubectlKeepsARolloutFromBeginning(t *testing.T) {
	t.Parallel()
	s := managed(t)
	p := s.person()
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	p.ends(0, "hold", defaultGroup, "--reason", "Node upgrade")
	s.changeAll(version(2))
	s.awaitEvent("Normal", "GroupHeld", "zone-a")
	s.nothingIsDeleted("while a person holds the group")
	if out := p.ends(0, "status", defaultGroup); !strings.Contains(out, "held by manual/node-upgrade") {
		t.Errorf("output of status:\n%s", out)
	}
	p.ends(2, "hold", defaultGroup, "--reason", "another one")
	p.ends(0, "release", defaultGroup)
	s.settledSoon()
	s.wantEachOnce()
}

func TestARestartByKubectlRollsZoneByZone(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unordered = true // the second zone is restarted first
	p := s.person()
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	p.restarts([]string{"zone-b"}, "--zone", "zone-b")
	s.settledSoon()
	s.wantDeletions("zone-b-0", "zone-b-1")
	p.restarts(s.zones)
	s.settledSoon()
	s.wantDeletions("zone-b-0", "zone-b-1", "zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	report := p.ends(0, "snapshot", defaultGroup, "--hash-names")
	if strings.Contains(report, "zone-a") || strings.Contains(report, s.name) || !strings.Contains(report, "nothing\n") {
		t.Errorf("the report of a settled group:\n%s", report)
	}
}

// restarts restarts a group, or one zone of it, and waits until the observer has received the
// changed zones.
func (p person) restarts(zones []string, args ...string) {
	p.scene.t.Helper()
	before := p.scene.witness.now().sets
	p.ends(0, append([]string{"restart", defaultGroup}, args...)...)
	p.scene.eventually("the observer receives the restart", func(now present) error {
		for _, name := range zones {
			if now.sets[name].Generation == before[name].Generation {
				return errors.New("not yet of " + name)
			}
		}
		return nil
	})
}
