package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

const listOfDB = `STATEFULCLUSTER  STATE        AVAILABLE  UPDATED  WAITS FOR
team/db          Reconciling  2/3        2/3      PodStarting db-c
`

func TestStatusWithoutANameShowsStatefulClusters(t *testing.T) {
	for line, wants := range map[string][]string{
		"status":            {"team/calm Settled", "\n\n" + listOfDB},
		"status -A":         {"team/calm Settled", "\n\n" + listOfDB},
		"status -o json":    {`"group": "calm"`, `"statefulCluster": "db"`, `"code": "PodStarting"`},
		"status calm":       {"team/calm Settled"},
		"status group/calm": {"team/calm Settled"},
	} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{settled}, func(s *scene) {
				s.server.showStatefulCluster("db")
				out := s.succeeds(strings.Fields(line)...)
				for _, want := range wants {
					if !strings.Contains(out, want) {
						s.Errorf("%q is not in\n%s", want, out)
					}
				}
				if all := len(wants) > 1; strings.Contains(out, "db") != all {
					s.Errorf("it shows the StatefulCluster although a group is named:\n%s", out)
				}
			})
		})
	}
}

func TestStatusOfStatefulClustersAlone(t *testing.T) {
	inScene(t, nil, func(s *scene) {
		if out := s.succeeds("status"); out != "There are no groups and no StatefulClusters in namespace team.\n" {
			s.Errorf("without any it says %q", out)
		}
		s.server.showStatefulCluster("db")
		if out := s.succeeds("status"); out != listOfDB {
			s.Errorf("it says\n%s", out)
		}
	})
}

// The kind is optional, and so is the permission to list it.
func TestStatusWithoutStatefulClustersIsNoError(t *testing.T) {
	for sentence, tc := range map[string]struct {
		code   int32
		reason metav1.StatusReason
		warns  bool
	}{
		"the kind does not exist":    {http.StatusNotFound, metav1.StatusReasonNotFound, false},
		"the user has no permission": {http.StatusForbidden, metav1.StatusReasonForbidden, false},
		"the API server has failed":  {http.StatusInternalServerError, metav1.StatusReasonInternalError, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			asked := 0
			refuse := func(r *http.Request) *http.Response {
				if !strings.HasSuffix(r.URL.Path, "/statefulclusters") {
					return nil
				}
				asked++
				return apitest.Refusal(tc.code, tc.reason)
			}
			inScene(t, []string{settled}, func(s *scene) {
				s.server.showStatefulCluster("db")
				s.server.refuse = refuse
				code, out, errs := s.types("status")
				if code != exitOK || strings.Contains(out, "db") || !strings.Contains(out, "team/calm") || (errs != "") != tc.warns {
					s.Errorf("exit code %d: %s\n%s", code, errs, out)
				}
				asked = 0
				s.watches("status", "-w")
				if time.Sleep(time.Minute); asked > 20 {
					s.Errorf("it has asked %d times", asked)
				}
			})
		})
	}
}

func TestWatchShowsChangesOfStatefulClusters(t *testing.T) {
	for where, bars := range map[string]bool{"on a terminal": true, "elsewhere": false} {
		t.Run(where, func(t *testing.T) {
			withPool(t, func(s *scene) {
				want := "StatefulCluster team/db Ready available 3/3 updated 3/3\n"
				if s.style.Bars = bars; bars {
					want = "team/db          Ready  3/3        ████████████ 3/3"
				}
				out := s.watches("status", "-w")
				if got := out.String(); !strings.Contains(got, "Reconciling") || !strings.Contains(got, "PodStarting db-c") {
					s.Errorf("at first it says\n%s", got)
				}
				o := s.pool()
				o["status"] = object{"availableReplicas": 3, "updatedReplicas": 3, "conditions": []object{{"type": "Ready", "status": "True"}}}
				s.server.put(clusterPath+"db", o)
				time.Sleep(2 * readAgain)
				if got := screenOf(out); !strings.Contains(got, want) {
					s.Errorf("after the change it does not say %q:\n%s", want, got)
				}
			})
		})
	}
}
