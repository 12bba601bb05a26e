package cli

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// differences returns the paths of keys at which two documents differ.
func differences(before, after any, path string) []string {
	was, wasObject := before.(object)
	is, isObject := after.(object)
	if !wasObject && !isObject {
		if reflect.DeepEqual(before, after) {
			return nil
		}
		return []string{path}
	}
	keys := maps.Clone(was)
	if keys == nil {
		keys = object{}
	}
	maps.Copy(keys, is)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		all = append(all, differences(was[key], is[key], path+" "+key)...)
	}
	return all
}

// changes runs a command line and returns the changed fields of objects: the path of the object, and
// the path of keys in it.
func (s *scene) changes(line string) []string {
	s.Helper()
	before := s.server.everything()
	s.types(strings.Fields(line)...)
	after := s.server.everything()
	var all []string
	for _, path := range slices.Sorted(maps.Keys(after)) {
		for _, difference := range differences(before[path], after[path], "") {
			if difference != " metadata resourceVersion" {
				all = append(all, path+difference)
			}
		}
	}
	for path := range before {
		if after[path] == nil {
			all = append(all, path+" is gone")
		}
	}
	return all
}

var (
	ofTemplate = []string{" spec template metadata annotations " + contract.RestartedAtAnnotation}
	ofPause    = []string{" metadata annotations " + contract.PausedAnnotation, " metadata annotations " + contract.PausedReasonAnnotation, " metadata annotations " + contract.PausedUntilAnnotation}
	ofHold     = []string{
		" metadata annotations " + contract.ActorAnnotation,
		" spec holderIdentity", " spec leaseDurationSeconds", " spec leaseTransitions", " spec renewTime", " spec acquireTime",
	}
)

// Commands write only pause annotations, pod templates and holders of Leases. They change nothing
// else and delete nothing.
func TestCommandsWriteOnlyDocumentedFields(t *testing.T) {
	const store, calm = leasePath + "lockstep-group-store", leasePath + "lockstep-group-calm"
	for sentence, tc := range map[string]struct {
		first  string // the command before
		line   string
		writes bool
		at     string   // the path below which the line writes
		what   []string // the changed fields there
	}{
		"to see all groups":                       {"", "status", false, "", nil},
		"to see all namespaces":                   {"", "status -A", false, "", nil},
		"to explain waits":                        {"", "why store", false, "", nil},
		"to explain a pod":                        {"", "why zone-a-1", false, "", nil},
		"to plan":                                 {"", "plan store", false, "", nil},
		"to show the history":                     {"", "history store", false, "", nil},
		"to report a bug":                         {"", "snapshot store", false, "", nil},
		"to explain a code":                       {"", "explain", false, "", nil},
		"to pause a group":                        {"", "pause store --for 1h --overwrite", true, zonePath, ofPause},
		"to pause a zone":                         {"", "pause zone/zone-x --reason disk", true, zonePath + "zone-x", ofPause},
		"to pause a paused group":                 {"pause calm", "pause calm --for 1h", false, "", nil},
		"to resume a group":                       {"pause calm", "resume calm", true, zonePath, ofPause},
		"to resume a group that is not paused":    {"", "resume calm", false, "", nil},
		"to restart a zone":                       {"", "restart store --zone zone-b", true, zonePath + "zone-b", ofTemplate},
		"to restart a group":                      {"", "restart store", true, zonePath, ofTemplate},
		"to hold a group during a rollout":        {"", "hold store --reason x", false, "", nil},
		"to release a group during a rollout":     {"", "release store --force", false, "", nil},
		"to hold a group":                         {"", "hold calm --reason x", true, calm, ofHold},
		"to hold it longer":                       {"hold calm --reason x", "hold calm --reason x --renew --for 2h", true, calm, ofHold},
		"to hold a group that another user holds": {"hold calm --reason x", "hold calm --reason y", false, "", nil},
		"to release a group":                      {"hold calm --reason x", "release calm", true, calm, ofHold},
		"to release a group without a holder":     {"", "release calm", false, "", nil},
		"to release a hold of another user":       {"hold calm --reason x", "release calm --reason y", false, "", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			inScene(t, []string{rolling, "group team calm\nhold free transitions=3\nzone-x rev=1\n zone-x-0 ready@1\n"}, func(s *scene) {
				s.remembered(calm)
				s.remembered(store)
				if tc.first != "" {
					s.succeeds(strings.Fields(tc.first)...)
				}
				changed := s.changes(tc.line)
				if (len(changed) > 0) != tc.writes {
					t.Errorf("changed %q, want something: %t", changed, tc.writes)
				}
				for _, one := range changed {
					path, key, _ := strings.Cut(one, " ")
					if !strings.HasPrefix(path, tc.at) || !slices.Contains(tc.what, " "+key) {
						t.Errorf("changed: %s", one)
					}
				}
				for _, request := range s.server.written() {
					method, path, _ := strings.Cut(request, " ")
					set := method == http.MethodPatch && strings.HasPrefix(path, zonePath)
					held := (method == http.MethodPut || method == http.MethodPost) && strings.HasPrefix(path+"/", leasePath)
					if !set && !held {
						t.Errorf("written: %s", request)
					}
				}
			})
		})
	}
}

// remembered adds records to a Lease that the plugin must not change.
func (s *scene) remembered(lease string) {
	held := s.server.get(lease)
	merge(held, object{"metadata": object{
		"labels":      object{"somebody": "else"},
		"annotations": object{contract.DownscalesAnnotation: `{"zone-x":"1999-12-31T00:00:00Z"}`, "somebody": "else"},
	}})
	s.server.put(lease, held)
}

func TestRestartChangesOnlyTheTemplate(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
			set := s.server.get(zonePath + zone)
			merge(set, object{"metadata": object{"annotations": object{"somebody": "else"}}, "spec": object{"template": object{
				"metadata": object{"annotations": object{"somebody": "else"}, "labels": object{"zone": zone}},
				"spec":     object{"containers": []any{object{"name": "web", "image": "web:1"}}, "terminationGracePeriodSeconds": 30.0},
			}}})
			s.server.put(zonePath+zone, set)
		}
		const restarted = " spec template metadata annotations " + contract.RestartedAtAnnotation
		if got := s.changes("restart store --zone zone-b"); !slices.Equal(got, []string{zonePath + "zone-b" + restarted}) {
			s.Errorf("changed: %q", got)
		}
		time.Sleep(time.Second)
		if got := s.changes("restart group/store"); !slices.Equal(got, []string{zonePath + "zone-a" + restarted, zonePath + "zone-b" + restarted, zonePath + "zone-c" + restarted}) {
			s.Errorf("changed: %q", got)
		}
		for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
			set := s.server.get(zonePath + zone)
			if got := at(set, "spec", "template", "metadata", "annotations", contract.RestartedAtAnnotation); got != time.Now().Format(time.RFC3339) {
				s.Errorf("%s was restarted at %v", zone, got)
			}
		}
	})
}
