package cli

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func contextOf(s *scene) (context.Context, context.CancelFunc) {
	return context.WithCancel(s.Context())
}

func forbid(*http.Request) *http.Response {
	return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
}

func countInto(n *int) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response { *n++; return nil }
}

// at returns the value of an object at a path of keys.
func at(o object, keys ...string) any {
	var value any = o
	for _, key := range keys {
		below, _ := value.(object)
		value = below[key]
	}
	return value
}

const zonePath = "/apis/apps/v1/namespaces/team/statefulsets/"

func TestPauseAndResume(t *testing.T) {
	inScene(t, []string{rolling, settled}, func(s *scene) {
		out := s.succeeds("pause", "store", "--for", "2h", "--reason", "INC-1 \x1b[2J", "--overwrite")
		if strings.Count(out, "paused until") != 3 || strings.Contains(out, "\x1b") {
			s.Errorf("it says:\n%s", out)
		}
		for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
			set := s.server.get(zonePath + zone)
			for key, want := range map[string]string{
				contract.PausedAnnotation: "true", contract.PausedReasonAnnotation: "INC-1 \x1b[2J",
				contract.PausedUntilAnnotation: contract.FormatPausedUntil(time.Now().Add(2 * time.Hour)),
			} {
				if got := at(set, "metadata", "annotations", key); got != want {
					s.Errorf("%s has %s %q, want %q", zone, key, got, want)
				}
			}
		}
		if _, why, _ := s.types("why", "store"); !strings.Contains(why, `zone-a is paused until`) || !strings.Contains(why, `INC-1 \x1b[2J`) {
			s.Errorf("why says:\n%s", why)
		}
		s.succeeds("resume", "zone-a")
		for zone, want := range map[string]any{"zone-a": nil, "zone-b": "true"} {
			for _, key := range []string{contract.PausedAnnotation} {
				if got := at(s.server.get(zonePath+zone), "metadata", "annotations", key); got != want {
					s.Errorf("%s has %s %v, want %v", zone, key, got, want)
				}
			}
		}
		s.succeeds("pause", "zone/zone-x")
		if got := at(s.server.get(zonePath+"zone-x"), "metadata", "annotations", contract.PausedUntilAnnotation); got != nil {
			s.Errorf("a pause without an end has one: %v", got)
		}
	})
}

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/team/leases/"

func TestHoldAndRelease(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		out := s.succeeds("hold", "calm", "--reason", "Node upgrade!", "--for", "90m")
		if want := "team/calm held by manual/node-upgrade until " + time.Now().Add(90*time.Minute).UTC().Format(time.RFC3339) + "\n"; out != want {
			s.Errorf("it says %q, want %q", out, want)
		}
		held := s.server.get(leasePath + "lockstep-group-calm")
		if at(held, "spec", "holderIdentity") != "manual/node-upgrade" || at(held, "spec", "leaseDurationSeconds") != 5400.0 ||
			at(held, "metadata", "labels", contract.HoldLabel) != contract.HoldLabelOf(plan.KindGroup) {
			s.Errorf("the Lease is %v", held)
		}
		if code, _, _ := s.types("hold", "calm", "--reason", "other"); code != exitWaits {
			s.Errorf("held by another: exit code %d", code)
		}
		if out := s.succeeds("status", "calm"); !strings.Contains(out, "held by manual/node-upgrade for 0s until 2000-01-01T01:30:00Z") {
			s.Errorf("status says:\n%s", out)
		}
		time.Sleep(time.Hour)
		s.succeeds("hold", "calm", "--reason", "node upgrade", "--renew") // prolonged
		time.Sleep(59 * time.Minute)
		if code, _, _ := s.types("hold", "calm", "--reason", "other"); code != exitWaits {
			s.Errorf("prolonged: exit code %d", code)
		}
		time.Sleep(2 * time.Minute)
		s.succeeds("hold", "calm", "--reason", "other") // the former hold has expired
		if out := s.succeeds("release", "calm"); out != "team/calm released from manual/other\n" {
			s.Errorf("it says %q", out)
		}
		if out := s.succeeds("release", "calm"); out != "team/calm is not held\n" {
			s.Errorf("it says %q", out)
		}
	})
}

func TestHoldDoesNotReplaceAnotherHolder(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		before := s.server.get(leasePath + "lockstep-group-store")
		if code, out, _ := s.types("hold", "store", "--reason", "x"); code != exitWaits || !strings.Contains(out, "rollout/zone-a") {
			s.Errorf("exit code %d: %s", code, out)
		}
		for _, line := range []string{"release store", "release store --force"} {
			if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, "rollout/zone-a") {
				s.Errorf("%s: exit code %d: %s", line, code, errs)
			}
		}
		if after := s.server.get(leasePath + "lockstep-group-store"); at(after, "metadata", "resourceVersion") != at(before, "metadata", "resourceVersion") {
			s.Error("the Lease was written")
		}
	})
	inScene(t, []string{"hold backup/weekly\nzone-a rev=1\n zone-a-0 ready@1\n"}, func(s *scene) {
		if code, _, errs := s.types("release", "store"); code != exitFailed || !strings.Contains(errs, "accepted with --force") {
			s.Errorf("exit code %d: %s", code, errs)
		}
		s.succeeds("release", "store", "--force")
	})
}

func TestConcurrentHoldIsKept(t *testing.T) {
	inScene(t, []string{settled, "hold free\nzone-a rev=1\n zone-a-0 ready@1\n"}, func(s *scene) {
		meddled := false
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPut && !meddled {
				meddled = true
				o := s.server.get(leasePath + "lockstep-group-store")
				spec, _ := at(o, "spec").(object)
				spec["holderIdentity"] = "rollout/zone-a"
				s.server.put(leasePath+"lockstep-group-store", o)
			}
			return nil
		}
		if code, out, errs := s.types("hold", "store", "--reason", "x"); code != exitWaits || !strings.Contains(out, "rollout/zone-a") {
			s.Errorf("exit code %d: %s%s", code, out, errs)
		}
	})
}
