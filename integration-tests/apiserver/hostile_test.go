package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// The longest names of a group and a StatefulSet. A pod's revision is a label, and consists of the
// name and a hash.
const (
	longGroup = "Group_of.the-longest-name-that-a-label-may-have_that-is-63.char"
	longZone  = "a-statefulset-whose-pods-and-revisions-still-get-nm" // a digit follows
)

// hostileText has terminal control sequences, ends of lines, fields and quotes, and characters of
// all sizes.
const hostileText = "\x1b[2J\x1b]0;owned\x07\u009b2J\u202e\u200b\"'`$(reboot)\r\n{\"level\":\"error\"}\t%s{{.}} 日本語 👩\u200d👦"

// A client with write access to a namespace can write any text there.
func TestHostileTextsAndTheLongestNamesBreakNoOutput(t *testing.T) {
	t.Parallel()
	s := managed(t)
	p := s.person()
	zones := []string{longZone + "0", longZone + "1"}
	s.create(zone(zones[0], 1, inGroup(longGroup)), zone(zones[1], 1, inGroup(longGroup)))
	s.changeAll(version(9))
	s.settled() // so that there is a Lease
	s.poisonsLease()
	s.changeAll(version(2), maxUnavailable(hostileText), paused(true), setAnnotated("lockstep.dev/paused-until", hostileText),
		setAnnotated(forceAnnotation, hostileText), setAnnotated("lockstep.dev/paused-reason", strings.Repeat(hostileText, (200<<10)/len(hostileText))))
	s.change(zones[1], paused(false), follows(hostileText))
	s.awaitWaiting("GroupHeld", zones[1])
	for _, reason := range []string{"InvalidMaxUnavailable", "InvalidPausedUntil", "InvalidForceReplicas"} {
		s.awaitEvent("Warning", reason, zones[0])
	}
	s.awaitEvent("Normal", "GroupHeld", zones[1])
	s.metricsArePlain()
	s.logsArePlain()
	s.eventsArePlain()
	s.objectIsPlain()
	p.readsPlainly(zones)
}

// poisonsLease writes a holder with an unprintable name into the group's Lease, and rollouts, one
// of them with an invalid zone.
func (s *scene) poisonsLease() {
	s.t.Helper()
	text, err := json.Marshal(hostileText)
	if err != nil {
		s.t.Fatal(err)
	}
	leases := s.world.admin.CoordinationV1().Leases(s.name)
	err = retry.RetryOnConflict(oftenAndSoon, func() error {
		all, err := leases.List(s.t.Context(), listOptions)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all.Items, func(l coordinationv1.Lease) bool { return l.Annotations["lockstep.dev/group"] == longGroup })
		if i < 0 {
			return errors.New("the group has no Lease")
		}
		l := &all.Items[i]
		l.Spec.HolderIdentity = new("manual/" + strings.Repeat(hostileText, (100<<10)/len(hostileText)))
		l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &metav1.MicroTime{Time: time.Now()}, new(int32(3600))
		const at = `"2026-01-05T12:00:00Z"`
		rollout := func(trace, name string) string {
			return fmt.Sprintf(`{"trace":%s,"since":%s,"until":%s,"zones":[{"name":%s,"uid":%s,"from":%s,"to":%s,"since":%s,"until":%s}]}`,
				trace, at, at, name, name, name, name, at, at)
		}
		l.Annotations[rolloutsAnnotation] = `{"version":1,"finished":[` + rollout(string(text), string(text)) + "," + rollout(`""`, `"`+longZone+`"`) + `]}`
		_, err = leases.Update(s.t.Context(), l, updateOptions)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// plainly fails the test if text contains characters that control a terminal or change the order of
// the text.
func (s *scene) plainly(where, text string) {
	s.t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); i >= 0 {
		s.t.Errorf("%s has %q in: %q", where, text[i:min(i+4, len(text))], text[max(0, i-100):min(i+100, len(text))])
	}
}

var seriesOfGroup = regexp.MustCompile(`^lockstep_group_[a-z_]+\{([a-z]+="[-+./A-Za-z0-9_]*",?)+\} [-+.0-9e]+$`)

func (s *scene) metricsArePlain() {
	s.t.Helper()
	_, metrics := s.operator.get("/metrics")
	found := 0
	for line := range strings.Lines(metrics) {
		if !strings.Contains(line, `"`+s.name+`"`) {
			continue
		}
		found++
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "lockstep_group_") && !seriesOfGroup.MatchString(line) {
			s.t.Errorf("no series: %q", line)
		}
		s.plainly("a metric", line)
	}
	if found == 0 {
		s.t.Error("there are no metrics of the namespace")
	}
}

func (s *scene) logsArePlain() {
	s.t.Helper()
	found := 0
	for line := range strings.Lines(s.operator.Logs()) {
		if !strings.Contains(line, `"`+s.name+`"`) {
			continue
		}
		found++
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			s.t.Errorf("%v: %.200q", err, line)
		}
		if len(line) > 20<<10 {
			s.t.Errorf("a line of %d bytes: %.200q", len(line), line)
		}
		s.plainly("a line of log", line)
	}
	if found == 0 {
		s.t.Error("there are no lines about the namespace")
	}
}

func (s *scene) eventsArePlain() {
	s.t.Helper()
	list, err := s.world.admin.EventsV1().Events(s.name).List(s.t.Context(), listOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.ReportingController == "lockstep" {
			s.plainly("an Event "+e.Reason, e.Note)
		}
	}
}

func (s *scene) objectIsPlain() {
	s.t.Helper()
	var table string
	s.eventually("kubectl get rg shows the group and its holder", func(present) error {
		table = s.kubectl("get", "rg", "-o", "wide")
		for _, part := range []string{longGroup, "manual/?[2J", "日本語"} {
			if !strings.Contains(table, part) {
				return fmt.Errorf("no %q in:\n%s", part, table)
			}
		}
		return nil
	})
	s.plainly("kubectl get rg", table)
	s.plainly("kubectl describe rg", s.kubectl("describe", "rg"))
	_, record := s.operator.get("/debug/groups/" + s.name + "/" + longGroup)
	if !json.Valid([]byte(record)) {
		s.t.Errorf("the record is no JSON: %.200q", record)
	}
}

// readsPlainly runs every command that prints something.
func (p person) readsPlainly(zones []string) {
	p.scene.t.Helper()
	for line, names := range map[string][]string{
		"status":                  {longGroup, zones[0], zones[1]},
		"why " + longGroup:        {longGroup, zones[1] + " GroupHeld", "日本語"},
		"why " + zones[0] + "-0":  {longGroup, zones[0] + "-0"},
		"plan " + longGroup:       {longGroup, "wait " + zones[1] + " because GroupHeld"},
		"history " + longGroup:    {longZone, "done"},
		"snapshot " + longGroup:   {longGroup, zones[0]},
		"release x" + hostileText: nil,
	} {
		_, out, errs := p.types(strings.SplitN(line, " ", 2)...)
		p.scene.plainly("kubectl lockstep "+line, out+errs)
		for _, name := range names {
			if !strings.Contains(out, name) {
				p.scene.t.Errorf("the output of kubectl lockstep %s does not contain %q:\n%s%s", line, name, out, errs)
			}
		}
		for _, form := range []string{"json", "yaml"} {
			_, out, errs := p.types(append(strings.SplitN(line, " ", 2), "-o", form)...)
			p.scene.plainly("kubectl lockstep "+line+" -o "+form, out+errs)
			if form == "json" && len(names) > 0 && !json.Valid([]byte(out)) {
				p.scene.t.Errorf("the output of kubectl lockstep %s is not JSON: %.200q%s", line, out, errs)
			}
		}
	}
	_, out, errs := p.types("pause", longGroup, "--reason", strings.Repeat(hostileText, 500))
	p.scene.plainly("kubectl lockstep pause", out+errs)
}
