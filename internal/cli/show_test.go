package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const rolling = `
hold rollout/zone-a renewed 5s ago trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
  intent zone-a-1 uid=before version=5 since=90s
zone-a rev=2 current=1
  zone-a-0 ready@2   zone-a-1 failing@2 why=CrashLoopBackOff   zone-a-2 ready@1
zone-b rev=2 current=1 paused until=2h
  zone-b-0 ready@1   zone-b-1 ready@1
zone-c rev=2
  zone-c-0 ready@2   zone-c-1 ready@2
`

const settled = "group team calm\nzone-x rev=1 budget=nonsense\n  zone-x-0 ready@1\n"

var onTerminal = screen.Style{Bars: true, Colours: true, Columns: 100}

func TestOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"status-of-one":  {"status", "store"},
		"status-of-all":  {"status"},
		"status-all-ns":  {"status", "-A"},
		"status.json":    {"status", "store", "-o", "json"},
		"status.yaml":    {"status", "-o", "yaml"},
		"why":            {"why", "store"},
		"why-settled":    {"why", "calm"},
		"why.json":       {"why", "store", "-o", "json"},
		"why-pod":        {"why", "zone-a-2"},
		"why-failing":    {"why", "pod/zone-a-1"},
		"why-pod.yaml":   {"why", "pod/zone-a-2", "-o", "yaml"},
		"plan":           {"plan", "store"},
		"plan-settled":   {"plan", "calm"},
		"plan.json":      {"plan", "store", "-o", "json"},
		"explain":        {"explain", "podfailing"},
		"explain.yaml":   {"explain", "LS-201", "-o", "yaml"},
		"snapshot":       {"snapshot", "store"},
		"snapshot-names": {"snapshot", "store", "--hash-names"},
		"history":        {"history", "store"},
	} {
		for where, style := range map[string]screen.Style{"plain": {}, "terminal": onTerminal} {
			if strings.Contains(name, ".") && style.Bars {
				continue // the same everywhere
			}
			t.Run(name+" "+where, func(t *testing.T) {
				inScene(t, []string{rolling, settled}, func(s *scene) {
					s.style = style
					s.server.event("StatefulSet", "zone-a", "lockstep", "PodFailing", "waits: a container of the pod cannot run", time.Now().Add(-time.Minute))
					s.server.event("Pod", "zone-a-1", "kubelet", "BackOff", "back-off restarting failed container", time.Now().Add(-time.Second))
					s.server.event("Pod", "zone-a-2", "kubelet", "Unrelated", "no client waits for this pod", time.Now())
					_, out, errs := s.types(args...)
					golden(s.T, strings.ReplaceAll(name, ".", "-")+"."+where+".golden", out+errs)
				})
			})
		}
	}
}

func TestExitCodes(t *testing.T) {
	for line, want := range map[string]int{
		"why store":                         exitWaits,
		"why calm":                          exitOK,
		"why zone-x-0":                      exitOK,
		"why zone-a-2":                      exitWaits,
		"why pod/zone-a-1":                  exitOK,
		"status store":                      exitOK,
		"plan store":                        exitOK,
		"status nobody":                     exitFailed,
		"why nobody":                        exitFailed,
		"why group/zone-a-1":                exitFailed,
		"plan":                              exitFailed,
		"plan store -f x":                   exitFailed,
		"status -o xml":                     exitFailed,
		"status -w -o json":                 exitFailed,
		"status a b":                        exitFailed,
		"status -A store":                   exitFailed,
		"explain Nonsense":                  exitFailed,
		"nonsense":                          exitFailed,
		"hold store":                        exitFailed,
		"hold store --reason ü":             exitFailed,
		"hold store --reason x":             exitWaits,
		"hold calm --reason x":              exitOK,
		"pause store --for -1h":             exitFailed,
		"restart store --zone x":            exitFailed,
		"restart nobody":                    exitFailed,
		"release calm":                      exitFailed,
		"release store":                     exitFailed,
		"pause pod/zone-a-0":                exitFailed,
		"status --help":                     exitOK,
		"history nobody":                    exitFailed,
		"why x --namespaces-selector a=b=c": exitFailed,
	} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{rolling, settled}, func(s *scene) {
				code, _, errs := s.types(strings.Fields(line)...)
				if code != want {
					s.Errorf("exit code %d, want %d: %s", code, want, errs)
				}
				if (errs != "") != (want == exitFailed) {
					s.Errorf("stderr says %q", errs)
				}
				if code == exitFailed && !strings.Contains(errs, "accepted") && !strings.Contains(errs, "required") &&
					!strings.Contains(errs, "unknown command") && !strings.Contains(errs, "lockstep's own") && !strings.Contains(errs, "has no hold") {
					s.Errorf("the error does not name the accepted values: %s", errs)
				}
			})
		})
	}
}

func TestWhyReportsANamespaceThatDidNotOptIn(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.server.put("/api/v1/namespaces/team", object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": "team"}})
		if _, out, _ := s.types("why", "calm"); !strings.Contains(out, "Namespace team does not match lockstep.dev/enabled=true") {
			s.Errorf("it says:\n%s", out)
		}
		if _, out, _ := s.types("why", "zone-x-0"); !strings.Contains(out, "Namespace team does not match lockstep.dev/enabled=true") {
			s.Errorf("of a pod it says:\n%s", out)
		}
		if out := s.succeeds("why", "calm", "--namespaces-selector", "!other"); strings.Contains(out, "does not match") {
			s.Errorf("it says:\n%s", out)
		}
	})
}

func TestWhyReportsANamespaceThatCannotBeRead(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.URL.Path != "/api/v1/namespaces/team" {
				return nil
			}
			return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		for _, what := range []string{"calm", "zone-x-0"} {
			if _, out, _ := s.types("why", what); !strings.Contains(out, "Whether namespace team matches lockstep.dev/enabled=true is not known") {
				s.Errorf("of %s it says:\n%s", what, out)
			}
		}
	})
}

func TestJSONOutputIsValid(t *testing.T) {
	for _, line := range []string{"status", "status store", "status -A", "why store", "why zone-a-1", "plan store", "explain", "explain Paused", "history store", "snapshot store", "snapshot store --hash-names"} {
		inScene(t, []string{rolling, settled}, func(s *scene) {
			_, out, errs := s.types(append(strings.Fields(line), "-o", "json")...)
			var document any
			if err := json.Unmarshal([]byte(out), &document); err != nil {
				s.Errorf("%s: %v: %s%s", line, err, out, errs)
			}
		})
	}
}

func TestWatchPrintsChanges(t *testing.T) {
	inScene(t, []string{rolling, settled}, func(s *scene) {
		ctx, stop := contextOf(s)
		var out, errs message
		ended := make(chan int, 1)
		go func() { ended <- s.begins(ctx, &out, &errs, "status", "store", "-w") }()
		settleDown()
		before := out.String()
		for _, part := range []string{"team/store Rolling rollout/zone-a", "team/store zone-a Rolling updated 1/3 ready 2/3", "team/store zone-c"} {
			if !strings.Contains(before, part) {
				s.Errorf("at first it does not say %q:\n%s%s", part, before, errs.String())
			}
		}
		w := fixture.At(fixture.MustParse(rolling), time.Now())
		pod := w.Zones[0].Pods[1]
		pod.Phase, pod.ReadySince, pod.Version = plan.Ready, time.Now(), 5000
		s.server.put("/api/v1/namespaces/team/pods/zone-a-1", podIn("team", w.Zones[0], pod))
		settleDown()
		news := strings.TrimPrefix(out.String(), before)
		if !strings.Contains(news, "team/store zone-a Rolling updated 2/3 ready 3/3") || strings.Contains(news, "zone-c") {
			s.Errorf("news of zone-a alone:\n%s", news)
		}
		stop()
		if code := <-ended; code != exitOK {
			s.Errorf("exit code %d: %s", code, errs.String())
		}
	})
}

// settleDown waits for a second and until all goroutines block.
func settleDown() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestPlanReadsEveryFormatOfASnapshot(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		want := s.succeeds("plan", "store", "-o", "json")
		for _, form := range [][]string{{"snapshot", "store"}, {"snapshot", "store", "-o", "json"}} {
			s.in = s.succeeds(form...)
			if got := s.succeeds("plan", "-f", "-", "-o", "json"); got != want {
				s.Errorf("%v leads to\n%swant\n%s", form, got, want)
			}
		}
	})
	inScene(t, nil, func(s *scene) {
		for text, want := range map[string]string{"": "it is empty", "{": "unexpected end", `{"colour":1}`: "unknown field", "zone-a size=3": "line 1"} {
			s.in = text
			if code, _, errs := s.types("plan", "-f", "-"); code != exitFailed || !strings.Contains(errs, want) || !strings.Contains(errs, "accepted: ") {
				s.Errorf("%q: exit code %d: %s", text, code, errs)
			}
		}
	})
}

func TestHashNamesKeepsThePlan(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		one, two := s.succeeds("snapshot", "store", "--hash-names"), s.succeeds("snapshot", "store", "--hash-names")
		if one != two {
			s.Error("the same names have other hashes the second time")
		}
		for _, secret := range []string{"store", "team", "zone-a", "CrashLoop", "4bf92f"} {
			if strings.Contains(one, secret) {
				s.Errorf("it prints %q:\n%s", secret, one)
			}
		}
		s.in = one
		var codes []string
		for line := range strings.Lines(s.succeeds("plan", "-f", "-")) {
			codes = append(codes, line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:])
		}
		plainly := s.succeeds("plan", "store")
		for i, line := range strings.Split(strings.TrimSpace(plainly), "\n")[1:3] {
			if !strings.HasSuffix(line, strings.TrimSpace(codes[i+1])) {
				s.Errorf("step %d is %s, want that of %s", i, codes[i+1], line)
			}
		}
	})
}

func TestForbiddenErrorNamesTheRequiredPermissions(t *testing.T) {
	for _, line := range []string{"status", "status -w", "status store", "why store", "why x", "plan store", "pause store", "hold store --reason x"} {
		inScene(t, []string{rolling}, func(s *scene) {
			s.server.refuse = forbid
			if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, "docs/kubectl.md has a role") {
				s.Errorf("%s: exit code %d: %s", line, code, errs)
			}
		})
	}
}

func TestStatusOfManyGroupsNeedsFewRequests(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("group team group-%d\nzone-%d-a rev=1\n zone-%d-a-0 ready@1\nzone-%d-b rev=1\n zone-%d-b-0 ready@1\n", i, i, i, i, i))
	}
	inScene(t, many, func(s *scene) {
		requests := 0
		s.server.refuse = countInto(&requests)
		if out := s.succeeds("status"); strings.Count(out, "Settled") != 3*30 {
			s.Errorf("not all groups are shown:\n%s", out)
		}
		if requests > 20 {
			s.Errorf("%d requests for 30 groups", requests)
		}
	})
}
