package house_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	monitoring = root + "manifests/monitoring"
	runbooks   = root + "docs/runbooks"
)

var update = flag.Bool("update", false, "write the generated files again")

// ruleFile is a PrometheusRule.
type ruleFile struct {
	Kind string
	Spec struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
}

type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

// alerts returns all alerts in their order.
func alerts(t *testing.T) []rule {
	t.Helper()
	var all []rule
	files, err := filepath.Glob(monitoring + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(read(t, file)), 4096)
		for {
			var found ruleFile
			err := decoder.Decode(&found)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, group := range found.Spec.Groups {
				all = append(all, group.Rules...)
			}
		}
	}
	all = slices.DeleteFunc(all, func(r rule) bool { return r.Alert == "" })
	if len(all) == 0 {
		t.Fatal("there are no alerts: was anything read?")
	}
	return all
}

// pages returns the names of all runbooks.
func pages(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		names[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	delete(names, "README")
	return names
}

func TestEveryAlertAndEveryReasonThatNeedsAPersonHasARunbook(t *testing.T) {
	left := pages(t)
	for _, a := range alerts(t) {
		if !left[a.Alert] {
			t.Errorf("the alert %s has no runbook", a.Alert)
		}
		if got, want := a.Annotations["runbook_url"], "docs/runbooks/"+a.Alert+".md"; got != want {
			t.Errorf("%s: runbook_url is %q, want %s", a.Alert, got, want)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", a.Alert)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s: severity is %q", a.Alert, a.Labels["severity"])
		}
		delete(left, a.Alert)
	}
	for _, e := range reason.All() {
		if e.Kind == reason.Attention && !left[string(e.Code)] {
			t.Errorf("the reason %s has no runbook", e.Code)
		}
		if e.Kind == reason.Attention {
			delete(left, string(e.Code))
		}
	}
	for name := range left {
		t.Errorf("%s/%s.md belongs to no alert and no reason", runbooks, name)
	}
}

func TestEveryRunbookHasMeaningDiagnosisAndActions(t *testing.T) {
	for name := range pages(t) {
		text := read(t, filepath.Join(runbooks, name+".md"))
		if !strings.HasPrefix(text, "# "+name+"\n") {
			t.Errorf("%s has another title", name)
		}
		for _, part := range []string{"**What it means.** ", "**Look.** ", "**Do.** "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no part %s", name, part)
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(runbooks, link[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// On-call engineers paste the commands of a runbook. Commands must run one after the
// other, query the process that has the data, and leave no process running.
func TestCommandsOfRunbooksCanBePasted(t *testing.T) {
	for name := range pages(t) {
		text := read(t, filepath.Join(runbooks, name+".md"))
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for _, wrong := range []string{" &", "port-forward", "deploy/lockstep"} {
				if strings.Contains(strings.ReplaceAll(block[1], " && ", " "), wrong) {
					t.Errorf("%s: a command has %q:\n%s", name, wrong, block[1])
				}
			}
			if strings.Contains(block[1], "/debug/") && !strings.Contains(block[1], "leader=") {
				t.Errorf("%s: only the leader can answer this request:\n%s", name, block[1])
			}
		}
	}
}

// noAlert maps the reasons that raise no alert to the explanation.
var noAlert = map[reason.Code]string{
	reason.ReplicasForced:   "a user sets it on purpose",
	reason.PauseExpired:     "every pause with an end ends this way",
	reason.GraceUnavailable: "a condition of the StatefulCluster; the next pods have the gate",
	reason.NoPodsCovered:    "a condition of the budget; no operation waits and lockstep refuses no request because of it",
	reason.SeveralGroups:    "a condition of the budget, which may be intended",
}

// raisedBy returns the alerts that a reason raises, by the metrics that contain the
// reason.
func raisedBy(t *testing.T, e reason.Entry) []string {
	t.Helper()
	var raised []string
	for _, a := range alerts(t) {
		matches := slices.ContainsFunc(selections(t, a.Expr), func(s selection) bool { return slices.Contains(e.Seen(), s.in) && s.takes(e.Code) })
		if matches || (e.Code == reason.BudgetInvalid && strings.Contains(a.Expr, "lockstep_budget_invalid")) {
			raised = append(raised, a.Alert)
		}
	}
	return raised
}

// selection is a part of an expression that selects the series of a metric by their
// reasons.
type selection struct {
	in      reason.Surface
	not     bool
	reasons *regexp.Regexp // nil: all
	named   []string
}

func (s selection) takes(code reason.Code) bool {
	return s.reasons == nil || s.reasons.MatchString(string(code)) != s.not
}

// selections returns the selections of metrics that have reasons. It omits the series
// that an alert excludes, and reviews that are selected by anything but a reason.
func selections(t *testing.T, expr string) []selection {
	t.Helper()
	var all []selection
	expr = regexp.MustCompile(`unless on .*`).ReplaceAllString(expr, "")
	for _, found := range regexp.MustCompile(`(lockstep_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1) {
		s := selection{in: reason.Surface(found[1])}
		if !slices.Contains([]reason.Surface{reason.InWaits, reason.InPools, reason.InRemarks, reason.InRefusals, reason.InReviews}, s.in) {
			continue
		}
		if by := regexp.MustCompile(`reason(=~|!~|=|!=)"([^"]*)"`).FindStringSubmatch(found[2]); by != nil {
			s.not, s.named = strings.HasPrefix(by[1], "!"), strings.Split(by[2], "|")
			s.reasons = regexp.MustCompile("^(" + by[2] + ")$")
		} else if s.in == reason.InReviews {
			continue
		}
		all = append(all, s)
	}
	return all
}

// If only a person can end a condition, its reason raises an alert, or noAlert explains why
// it does not.
func TestEveryReasonThatNeedsAPersonRaisesAnAlertWhereItIsSeen(t *testing.T) {
	for _, e := range reason.All() {
		raised := raisedBy(t, e)
		switch why, silent := noAlert[e.Code]; {
		case e.Kind != reason.Attention:
		case silent && len(raised) > 0:
			t.Errorf("%s raises %v, and is said to raise none: %s", e.Code, raised, why)
		case !silent && len(raised) == 0:
			t.Errorf("%s, which is seen in %v, raises no alert", e.Code, e.Seen())
		}
	}
}

// An alert that selects a reason in a metric that never has it can never fire.
func TestAlertsSelectReasonsOfTheirMetrics(t *testing.T) {
	for _, a := range alerts(t) {
		for _, s := range selections(t, a.Expr) {
			for _, code := range s.named {
				e, known := reason.Explain(reason.Code(code))
				if !known {
					t.Errorf("%s selects %s, which is no reason", a.Alert, code)
				} else if e.Kind == reason.Attention && !slices.Contains(e.Seen(), s.in) {
					t.Errorf("%s selects %s in %s; it is seen in %v", a.Alert, code, s.in, e.Seen())
				}
			}
		}
	}
}

func TestMonitoringUsesMetricsThatExist(t *testing.T) {
	exists := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+)").FindAllStringSubmatch(read(t, root+"docs/metrics.md"), -1) {
		exists[match[1]] = true
		switch match[2] {
		case "histogram":
			exists[match[1]+"_bucket"] = true
			fallthrough
		case "summary":
			exists[match[1]+"_sum"], exists[match[1]+"_count"] = true, true
		}
	}
	used := 0
	err := filepath.WalkDir(monitoring, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, name := range regexp.MustCompile(`\blockstep_[a-z0-9_]+`).FindAllString(read(t, file), -1) {
			if used++; !exists[name] {
				t.Errorf("%s uses %s, which docs/metrics.md does not have", file, name)
			}
		}
		return nil
	})
	if err != nil || used == 0 {
		t.Errorf("%d metrics are used, %v", used, err)
	}
}

func TestTheIndexOfRunbooksIsUpToDate(t *testing.T) {
	file := runbooks + "/README.md"
	if *update {
		if err := os.WriteFile(file, []byte(index(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, file) != index(t) {
		t.Errorf("%s is out of date, run make generate", file)
	}
}

func index(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Runbooks\n\nOne page for each alert of `manifests/monitoring`, and one for each [reason](../reasons.md) that needs a person. This\n" +
		"index is generated from both: `make generate` writes it. The pages themselves are written by hand.\n\n" +
		"If an alert names a group, start with `kubectl lockstep why GROUP -n NAMESPACE`: it shows the cause of the wait and what\n" +
		"to do. Replace words in capitals by your names. If lockstep runs in another namespace than `lockstep-system`, replace\n" +
		"that name in the commands. `-l rollout-group=GROUP` does not select a StatefulSet that an annotation puts into the\n" +
		"group; `kubectl lockstep status GROUP` names all of them.\n\n" +
		"Alerts name their runbook by its path in this repository. To turn the paths into links, insert the address of your copy:\n\n" +
		"```sh\nkustomize build ... | sed \"s|runbook_url: |&$REPOSITORY/|\" | kubectl apply -f -\n```\n\n" +
		"## Alerts\n\n| alert | severity | summary |\n|---|---|---|\n")
	for _, a := range alerts(t) {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", a.Alert, a.Alert, a.Labels["severity"], plain(a.Annotations["summary"]))
	}
	b.WriteString("\n## Reasons\n\n| reason | meaning | alerts |\n|---|---|---|\n")
	for _, e := range reason.All() {
		if e.Kind == reason.Attention {
			fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", e.Code, e.Code, e.Sentence, cmp.Or(strings.Join(raisedBy(t, e), ", "), "none: "+noAlert[e.Code]))
		}
	}
	return b.String()
}

// plain replaces the variables of a template by words in capitals.
func plain(template string) string {
	template = strings.NewReplacer("{{ $value | humanizeDuration }}", "TIME", "{{ $value }}", "NUMBER").Replace(template)
	return regexp.MustCompile(`\{\{ \$labels\.(\w+) \}\}`).ReplaceAllStringFunc(template, func(label string) string {
		return strings.ToUpper(strings.TrimSuffix(strings.TrimPrefix(label, "{{ $labels."), " }}"))
	})
}
