package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// withPool runs a test in a cluster with the StatefulCluster db.
func withPool(t *testing.T, play func(*scene)) {
	t.Helper()
	inScene(t, nil, func(s *scene) {
		s.server.showStatefulCluster("db")
		play(s)
	})
}

// pool returns the StatefulCluster db as it is stored.
func (s *scene) pool() object { return s.server.get(clusterPath + "db") }

// merges changes an object.
func (s *scene) merges(path string, change object) {
	o := s.server.get(path)
	merge(o, change)
	s.server.put(path, o)
}

const podsPath = "/api/v1/namespaces/team/pods/"

func TestOutputAboutAStatefulCluster(t *testing.T) {
	for name, line := range map[string]string{
		"stc-why-pod":          "why db-b",
		"stc-why-starting-pod": "why pod/db-c",
		"stc-why-pod.yaml":     "why db-a -o yaml",
		"stc-plan":             "plan stc/db",
		"stc-plan.json":        "plan stc/db -o json",
		"stc-history":          "history stc/db",
		"stc-claims":           "claims stc/db",
		"stc-claims-spent":     "claims stc/db --spent",
		"stc-claims.json":      "claims stc/db --spent -o json",
	} {
		t.Run(name, func(t *testing.T) {
			withPool(t, func(s *scene) {
				s.hasHistory()
				_, out, errs := s.types(strings.Fields(line)...)
				golden(s.T, strings.ReplaceAll(name, ".", "-")+".plain.golden", out+errs)
			})
		})
	}
}

// hasHistory records two rollouts in the Lease of the StatefulCluster.
func (s *scene) hasHistory() {
	s.merges(leasePath+"lockstep-statefulcluster-db", object{"metadata": object{"annotations": object{
		contract.RolloutsAnnotation: `{"version":1,"current":{"since":"1999-12-31T23:58:00Z","zones":[{"name":"db","from":"db-1","to":"db-2","since":"1999-12-31T23:58:00Z","replaced":2}]},` +
			`"finished":[{"since":"1999-12-31T20:00:00Z","until":"1999-12-31T20:05:00Z","zones":[{"name":"db","from":"db-0","to":"db-1","since":"1999-12-31T20:00:00Z","until":"1999-12-31T20:05:00Z","replaced":3}]}]}`,
	}}})
}

func TestPauseAndResumeOfAStatefulCluster(t *testing.T) {
	withPool(t, func(s *scene) {
		if out := s.succeeds("pause", "stc/db"); out != "statefulcluster.lockstep.dev/db paused; missing pods are still created\n" || at(s.pool(), "spec", "paused") != true {
			s.Errorf("it says %q, and the object is %v", out, s.pool()["spec"])
		}
		if out := s.succeeds("pause", "stc/db"); !strings.Contains(out, "db is paused already") {
			s.Errorf("it says %q", out)
		}
		s.merges(clusterPath+"db", object{"spec": object{"updateStrategy": object{"rollingUpdate": object{"paused": true, "maxUnavailable": 2}}}})
		if out := s.succeeds("resume", "stc/db"); !strings.Contains(out, "db resumed") {
			s.Errorf("it says %q", out)
		}
		rolling, _ := at(s.pool(), "spec", "updateStrategy", "rollingUpdate").(object)
		if at(s.pool(), "spec", "paused") != nil || rolling["paused"] != nil || rolling["maxUnavailable"] != 2.0 {
			s.Errorf("the object is %v", s.pool()["spec"])
		}
		if out := s.succeeds("resume", "stc/db"); !strings.Contains(out, "was not paused") {
			s.Errorf("it says %q", out)
		}
	})
}

// pauseOfPool returns the pause of the StatefulCluster db: true|reason|until.
func (s *scene) pauseOfPool() string {
	parts := []string{""}
	if at(s.pool(), "spec", "paused") == true {
		parts[0] = "true"
	}
	for _, key := range []string{contract.PausedReasonAnnotation, contract.PausedUntilAnnotation} {
		text, _ := at(s.pool(), "metadata", "annotations", key).(string)
		parts = append(parts, text)
	}
	return strings.Join(parts, "|")
}

func TestAPauseOfAStatefulClusterHasAReasonAndAnEnd(t *testing.T) {
	withPool(t, func(s *scene) {
		want := func(pause string) {
			s.Helper()
			if got := s.pauseOfPool(); got != pause {
				s.Errorf("the pause is %q, want %q", got, pause)
			}
		}
		if out := s.succeeds("pause", "stc/db", "--for", "2h", "--reason", "INC-1"); !strings.Contains(out, "db paused until ") {
			s.Errorf("it says %q", out)
		}
		want("true|INC-1|" + inTwoHours())
		for _, command := range []string{"status", "why"} {
			_, out, _ := s.types(command, "stc/db")
			if !strings.Contains(out, "db is paused until ") || !strings.Contains(out, ", for 2h") || !strings.Contains(out, ": INC-1") {
				s.Errorf("%s shows no pause:\n%s", command, out)
			}
		}
		if out := s.ends(exitWaits, "pause", "stc/db"); !strings.Contains(out, "stays paused until ") || !strings.Contains(out, "--overwrite") {
			s.Errorf("it says %q", out)
		}
		if out := s.ends(exitWaits, "resume", "stc/db", "--reason", "other"); !strings.Contains(out, "--reason 'INC-1'") {
			s.Errorf("it says %q", out)
		}
		want("true|INC-1|" + inTwoHours())
		s.succeeds("pause", "stc/db", "--for", "1h", "--reason", "INC-1")
		s.succeeds("pause", "stc/db", "--reason", "INC-2", "--overwrite")
		want("true|INC-2|")
		s.succeeds("resume", "stc/db", "--reason", "INC-2")
		want("||")
		s.succeeds("pause", "stc/db", "--for", "1h")
		time.Sleep(2 * time.Hour) // the pause is over
		_, out, _ := s.types("status", "stc/db")
		if !strings.Contains(out, "which is over") || !strings.Contains(out, "PauseExpired") {
			s.Errorf("status does not say that the pause is over:\n%s", out)
		}
		s.succeeds("pause", "stc/db", "--for", "2h")
		want("true||" + inTwoHours())
		time.Sleep(3 * time.Hour)
		s.succeeds("resume", "stc/db")
		want("||")
	})
}

func TestAStatefulClusterHasOnePause(t *testing.T) {
	withPool(t, func(s *scene) {
		if out := s.ends(exitFailed, "resume", "stc/db", "--all"); !strings.Contains(out, "has one pause") {
			s.Errorf("it says %q", out)
		}
	})
}

func TestRestartOfAStatefulClusterChangesTheTemplate(t *testing.T) {
	withPool(t, func(s *scene) {
		const restarted = clusterPath + "db spec template metadata annotations " + contract.RestartedAtAnnotation
		if got := s.changes("restart stc/db"); len(got) != 1 || got[0] != restarted {
			s.Errorf("changed: %q", got)
		}
		first := at(s.pool(), "spec", "template", "metadata", "annotations", contract.RestartedAtAnnotation)
		time.Sleep(time.Millisecond)
		s.succeeds("restart", "stc/db")
		if second := at(s.pool(), "spec", "template", "metadata", "annotations", contract.RestartedAtAnnotation); first == nil || second == first {
			s.Errorf("restarted at %v and %v", first, second)
		}
	})
}

func TestRestartOfAStatefulClusterSaysWhatItDoes(t *testing.T) {
	rolling := func(fields object) object {
		return object{"updateStrategy": object{"rollingUpdate": fields}}
	}
	for sentence, tc := range map[string]struct {
		spec object
		code int
		says string
	}{
		"pods are only updated by hand":   {object{"updateStrategy": object{"type": "OnDelete"}}, exitFailed, "accepted: RollingUpdate"},
		"pods are only updated in place":  {rolling(object{"podUpdatePolicy": "InPlaceOnly"}), exitFailed, "accepted: InPlaceIfPossible or RecreateKeepIdentity"},
		"pods get new identities":         {rolling(object{"podUpdatePolicy": "Recreate"}), exitOK, "new identity with new claims"},
		"some pods keep their revision":   {rolling(object{"partition": 2}), exitOK, "because partition is 2"},
		"a partition of 0% keeps no pod":  {rolling(object{"partition": "0%"}), exitOK, "db restarted\n"},
		"the StatefulCluster is paused":   {object{"paused": true}, exitOK, "once it is resumed"},
		"updates are paused":              {rolling(object{"paused": true}), exitOK, "once it is resumed"},
		"nothing stands against it":       {object{}, exitOK, "statefulcluster.lockstep.dev/db restarted\n"},
		"the object has unknown fields":   {object{"later": object{"x": 1}}, exitOK, "db restarted\n"},
		"the template is from the future": {object{"template": object{"spec": []string{"x"}}}, exitOK, "db restarted\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			withPool(t, func(s *scene) {
				s.merges(clusterPath+"db", object{"spec": tc.spec})
				code, out, errs := s.types("restart", "stc/db")
				if code != tc.code || !strings.Contains(out+errs, tc.says) {
					s.Errorf("exit code %d: %s%s", code, out, errs)
				}
				if restarted := at(s.pool(), "spec", "template", "metadata") != nil; restarted != (code == exitOK) {
					s.Errorf("restarted: %t", restarted)
				}
			})
		})
	}
}

func TestAStatefulClusterIsChangedAtTheVersionThatWasRead(t *testing.T) {
	withPool(t, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch {
				s.server.refuse = nil
				s.merges(clusterPath+"db", object{"spec": object{"updateStrategy": object{"type": "OnDelete"}}})
			}
			return nil
		}
		if code, _, errs := s.types("restart", "stc/db"); code != exitFailed || !strings.Contains(errs, "OnDelete") {
			s.Errorf("exit code %d: %s", code, errs)
		}
	})
}

func TestHoldAndReleaseOfAStatefulCluster(t *testing.T) {
	const lease = leasePath + "lockstep-statefulcluster-db"
	withPool(t, func(s *scene) {
		if code, out, _ := s.types("hold", "stc/db", "--reason", "backup"); code != exitWaits || !strings.Contains(out, "team/db cannot be held now: GroupHeld (statefulcluster/db)") {
			s.Errorf("exit code %d: %s", code, out)
		}
		held := s.server.get(lease)
		merge(held, object{"metadata": object{"annotations": object{contract.IntentsAnnotation: nil}}, "spec": object{"holderIdentity": nil}})
		s.server.put(lease, held)
		if out := s.succeeds("hold", "stc/db", "--reason", "backup"); !strings.HasPrefix(out, "team/db held by manual/backup until ") {
			s.Errorf("it says %q", out)
		}
		if held := s.server.get(lease); at(held, "spec", "holderIdentity") != "manual/backup" || at(held, "metadata", "labels", contract.HoldLabel) != contract.HoldLabelOf(plan.KindStatefulCluster) {
			s.Errorf("the Lease is %v", held)
		}
		if out := s.succeeds("release", "stc/db", "--reason", "backup"); out != "team/db released from manual/backup\n" {
			s.Errorf("it says %q", out)
		}
		for _, line := range []string{"hold stc/other --reason x", "release stc/other"} {
			if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, "accepted: db") {
				s.Errorf("%s: exit code %d: %s", line, code, errs)
			}
		}
	})
}

func TestExitCodesForStatefulClusters(t *testing.T) {
	for line, want := range map[string]int{
		"pause stc/db --for 1h":            exitOK,
		"pause stc/db --reason x":          exitOK,
		"resume stc/db --all":              exitFailed,
		"restart stc/db --zone a":          exitFailed,
		"pause stc/other":                  exitFailed,
		"plan stc/other":                   exitFailed,
		"plan pod/db-a":                    exitFailed,
		"history stc/other":                exitFailed,
		"claims stc/other":                 exitFailed,
		"claims group/db":                  exitFailed,
		"claims stc/db --spent --delete":   exitFailed,
		"replace stc/db":                   exitFailed,
		"replace db-x":                     exitFailed,
		"replace db-a --timeout 1m":        exitFailed,
		"replace db-a --keep --timeout 0s": exitFailed,
		"why db-x":                         exitFailed,
		"why db-a":                         exitWaits,
		"why db-c":                         exitOK,
		"plan stc/db":                      exitOK,
		"history statefulcluster/db":       exitOK,
		"claims db":                        exitOK,
	} {
		t.Run(line, func(t *testing.T) {
			withPool(t, func(s *scene) {
				if code, _, errs := s.types(strings.Fields(line)...); code != want || (errs != "") != (want == exitFailed) {
					s.Errorf("exit code %d, want %d: %s", code, want, errs)
				}
			})
		})
	}
}

// Commands change only the documented fields of a StatefulCluster, its pods and its Lease.
func TestCommandsWriteOnlyDocumentedFieldsOfAStatefulCluster(t *testing.T) {
	for line, want := range map[string][]string{
		"status stc/db":            nil,
		"why stc/db":               nil,
		"why db-a":                 nil,
		"plan stc/db":              nil,
		"history stc/db":           nil,
		"claims stc/db":            nil,
		"claims stc/db --delete a": nil,
		"hold stc/db --reason x":   nil,
		"release stc/db --force":   nil,
		"resume stc/db":            nil,
		"pause stc/db":             {clusterPath + "db spec paused"},
		"pause stc/db --for 1h --reason disk": {
			clusterPath + "db metadata annotations " + contract.PausedReasonAnnotation, clusterPath + "db metadata annotations " + contract.PausedUntilAnnotation, clusterPath + "db spec paused",
		},
		"replace db-a": {podsPath + "db-a metadata annotations " + contract.SpecifiedDeleteLabel},
	} {
		t.Run(line, func(t *testing.T) {
			withPool(t, func(s *scene) {
				got := s.changes(line)
				if strings.Join(got, ",") != strings.Join(want, ",") {
					s.Errorf("changed %q, want %q", got, want)
				}
			})
		})
	}
}

func TestMaliciousTextsOfAStatefulClusterAreEscaped(t *testing.T) {
	const text = "x\x1b[2J\u202ey\r\nz"
	for where, style := range map[string]screen.Style{"plain": {}, "terminal": {Bars: true, Columns: 80}} {
		withPool(t, func(s *scene) {
			s.style = style
			s.merges(clusterPath+"db", object{"status": object{"waiting": object{"reason": text, "message": text, "pod": text}}})
			s.merges(clusterPath+"db", object{"metadata": object{"annotations": object{contract.PausedReasonAnnotation: text, contract.PausedUntilAnnotation: text}}, "spec": object{"paused": true}})
			s.merges(podsPath+"db-a", object{"metadata": object{"labels": object{contract.RevisionLabel: text}}, "spec": object{"nodeName": text}})
			s.merges(claimsOfAPool+"db-data-gone", object{"metadata": object{"labels": object{contract.InstanceIDLabel: text}, "annotations": object{contract.RetiredReasonAnnotation: text}}})
			s.merges(leasePath+"lockstep-statefulcluster-db", object{"spec": object{"holderIdentity": "manual/" + text}})
			s.in = text + "\n"
			for _, line := range []string{
				"status stc/db", "why stc/db", "pause stc/db --reason other", "resume stc/db --reason other", "why db-a", "why db-a -o yaml", "why db-a -o json", "plan stc/db", "claims stc/db", "claims stc/db -o yaml", "history stc/db", "release stc/db", "hold stc/db --reason x", "replace db-b",
			} {
				_, out, errs := s.types(strings.Fields(line)...)
				harmless(s, where+" "+line, out+errs)
			}
			_, out, errs := s.types("claims", "stc/db", "--delete", text)
			harmless(s, "the deletion of claims", out+errs)
			_, out, errs = s.types("replace", text)
			harmless(s, "the arguments", out+errs)
		})
	}
}
