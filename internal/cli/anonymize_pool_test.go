package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestASnapshotOfAStatefulClusterGivesTheSamePlan(t *testing.T) {
	for name, prepare := range map[string]func(*scene){
		"one pod waits": func(*scene) {},
		"all are up":    (*scene).isUp,
		"fewer are asked for": func(s *scene) {
			s.isUp()
			s.merges(clusterPath+"db", object{"spec": object{"replicas": 1}})
		},
		"a pod has another owner": func(s *scene) {
			s.merges(podsPath+"db-a", object{"metadata": object{"ownerReferences": nil}})
		},
		"more are asked for": func(s *scene) {
			s.merges(clusterPath+"db", object{"spec": object{"replicas": 5}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withPool(t, func(s *scene) {
				prepare(s)
				want := s.succeeds("plan", "stc/db")
				s.in = s.succeeds("snapshot", "stc/db")
				if got := s.succeeds("plan", "-f", "-"); got != want {
					s.Errorf("got\n%swant\n%s", got, want)
				}
				s.in = s.succeeds("snapshot", "stc/db", "--hash-names", "-o", "json")
				if strings.Contains(s.in, "another one") {
					s.Errorf("the plan with hashes differs:\n%s", s.in)
				}
				hashed := s.succeeds("plan", "-f", "-")
				if strings.Count(hashed, " LS-") != strings.Count(want, " LS-") || strings.Contains(hashed, "db") || strings.Contains(hashed, "team") {
					s.Errorf("got\n%sinstead of\n%s", hashed, want)
				}
			})
		})
	}
}

func TestASnapshotContainsNothingOfATemplate(t *testing.T) {
	withPool(t, func(s *scene) {
		s.merges(clusterPath+"db", object{"spec": object{"template": object{"spec": object{"containers": []object{{"name": "db", "env": []object{{"name": "PASSWORD", "value": "hunter2"}}}}}}}})
		if out := s.succeeds("snapshot", "stc/db"); strings.Contains(out, "hunter2") || !strings.Contains(out, "db-a") {
			s.Errorf("it prints\n%s", out)
		}
	})
}

// fill sets every text below a value to a secret, but for codes and words of the planner.
func fill(v reflect.Value, n *int) {
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case kind == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case kind == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case kind == reflect.String:
		words := []reflect.Type{reflect.TypeFor[reason.Code](), reflect.TypeFor[plan.Kind](), reflect.TypeFor[plan.Operation](), reflect.TypeFor[pool.PodUpdatePolicy]()}
		if !slices.Contains(words, v.Type()) {
			*n++
			v.SetString(fmt.Sprintf("secret-%d", *n))
		}
	}
}

func TestAnAnonymizedStatefulClusterContainsNoNames(t *testing.T) {
	var s pool.Snapshot
	n := 0
	fill(reflect.ValueOf(&s).Elem(), &n)
	const fields = 50 // at least
	if n < fields {
		t.Fatalf("only %d texts are set", n)
	}
	s.Key.Kind, s.Draw, s.Now = plan.KindStatefulCluster, newIdentity, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	text, err := encoded(formJSON, recordOfPool(anonymizePool(s)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "secret") {
			t.Errorf("it contains %s", strings.TrimSpace(line))
		}
	}
	if _, is := parsePoolSnapshot([]byte(text)); !is {
		t.Errorf("it cannot be read again:\n%s", text)
	}
}

func TestAnAnonymizedIdentityKeepsItsForm(t *testing.T) {
	m := poolAnonymizer{anonymizer{key: []byte("key"), zones: map[string]string{"db": "stc-x"}}, "db"}
	if id := m.id("0123456789abcdef"); !id.Drawn() || id == "0123456789abcdef" || m.podName("db-0123456789abcdef") != "stc-x-"+string(id) {
		t.Errorf("got %s", id)
	}
	if id := m.id("0"); id.Drawn() || m.podName("db-0") != "stc-x-"+string(id) {
		t.Errorf("got %s", id)
	}
}
