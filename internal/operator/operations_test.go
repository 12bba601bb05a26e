package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/show/report"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// silence discards Events.
type silence struct{}

// Eventf implements report.Recorder.
func (silence) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// newShown returns an operator that has only reconciled some groups.
func newShown(t *testing.T, groups ...plan.Key) *Operator {
	t.Helper()
	c, _, err := config.Parse([]string{"-workers=3"}, config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	log, _ := logtest.NewNullLogger()
	client := apitest.Client(t, http.DefaultTransport)
	observer, err := observe.New(client, lease.NewStore(client, "", "test"), observe.Options{Selector: labels.Everything()})
	if err != nil {
		t.Fatal(err)
	}
	o := &Operator{config: c, log: log, observer: observer, reporter: report.New(silence{}, telemetry.NewMetrics("test")), underway: &underway{}}
	s := fixture.MustParse("zone-a rev=2\n zone-a-0 starting@2\n")
	for _, key := range groups {
		s.Key = key
		o.reporter.Group(s, group.Plan(s), nil)
	}
	return o
}

func get(t *testing.T, h http.HandlerFunc, namespace, group string) *httptest.ResponseRecorder {
	t.Helper()
	q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug", nil)
	q.SetPathValue("namespace", namespace)
	q.SetPathValue("group", group)
	answer := httptest.NewRecorder()
	h(answer, q)
	return answer
}

func TestGroupsAreListedInOrder(t *testing.T) {
	o := newShown(t, plan.Key{Namespace: "b", Name: "y"}, plan.Key{Namespace: "b", Name: "x"}, plan.Key{Namespace: "a"})
	var got []plan.Key
	if err := json.Unmarshal(get(t, o.showGroups, "", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Namespace != "a" || got[1].Name != "x" || got[2].Name != "y" {
		t.Errorf("got %v", got)
	}
}

func TestAGroupIsShownWithItsPlan(t *testing.T) {
	o := newShown(t, plan.Key{Namespace: "team", Name: "store"}, plan.Key{Namespace: "team"}, plan.KeyOf("team", "statefulset/lone"))
	for sentence, tc := range map[string]struct {
		namespace, group string
		status           int
		want             string
	}{
		"its last plan":               {"team", "store", http.StatusOK, "wait zone-a because PodStarting zone-a-0"},
		"also without a name":         {"team", "", http.StatusOK, "wait zone-a because PodStarting zone-a-0"},
		"the caches of an idle group": {"team", "statefulset/lone", http.StatusOK, `"Kind": "statefulset"`},
		"but not as a group's":        {"team", "lone", http.StatusNotFound, ""},
		"the replica that knows a group without a reconcile here": {"team", "other", http.StatusNotFound, "ask the replica that leads"},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer := get(t, o.showGroups, tc.namespace, tc.group)
			if answer.Code != tc.status || !strings.Contains(answer.Body.String(), tc.want) {
				t.Errorf("got %d %s, want %d ...%s...", answer.Code, answer.Body, tc.status, tc.want)
			}
		})
	}
}

func TestTheConfigurationIsShown(t *testing.T) {
	var got []config.Setting
	if err := json.Unmarshal(get(t, newShown(t).showConfig, "", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, setting := range got {
		shown[setting.Name] = setting.Value
	}
	if shown["workers"] != "3" || shown["namespaces.selector"] != "lockstep.dev/enabled=true" {
		t.Errorf("got %v", shown)
	}
}

func TestAReconcileThatDoesNotEndIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u underway
		if err := u.check(); err != nil {
			t.Errorf("no reconcile is in progress: %v", err)
		}
		end := u.begin(plan.Key{Namespace: "team", Name: "store"})
		other := u.begin(plan.Key{Namespace: "team", Name: "other"})
		time.Sleep(tooLong)
		other()
		if err := u.check(); err != nil {
			t.Errorf("in time: %v", err)
		}
		time.Sleep(time.Second)
		want := "the reconcile of team/store is under way for 3m1s"
		if err := u.check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		end()
		if err := u.check(); err != nil {
			t.Errorf("it has ended: %v", err)
		}
	})
}
