package telemetry_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// description is the static part of a metric.
type description struct {
	name, kind, help string
	labels           []string
}

// described returns all metrics of lockstep's own, sorted by name.
func described(t *testing.T) []description {
	t.Helper()
	kinds := kindsShown(t)
	var all []description
	for _, c := range telemetry.NewMetrics("").Own() {
		descs := make(chan *prometheus.Desc, 1)
		go func() {
			defer close(descs)
			c.Describe(descs)
		}()
		for d := range descs {
			all = append(all, describe(d, kinds))
		}
	}
	slices.SortFunc(all, func(a, b description) int { return cmp.Compare(a.name, b.name) })
	return all
}

// kindsShown returns the types of metrics as a scrape shows them.
func kindsShown(t *testing.T) map[string]string {
	t.Helper()
	kinds := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(page(t, everyMetric(t), "text/plain"), -1) {
		kinds[found[1]] = found[2]
	}
	return kinds
}

// written matches the text form of a Desc, which has no other accessor.
var written = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

func describe(d *prometheus.Desc, kinds map[string]string) description {
	parts := written.FindStringSubmatch(d.String())
	if parts == nil {
		return description{name: d.String()}
	}
	name := unquote(parts[1])
	found := description{name: name, kind: kinds[name], help: unquote(parts[2])}
	if parts[3] != "" {
		found.labels = strings.Split(parts[3], ",")
	}
	return found
}

func unquote(text string) string {
	plain, err := strconv.Unquote(text)
	if err != nil {
		return text
	}
	return plain
}

// table returns the generated part of docs/metrics.md.
func table(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range described(t) {
		var labels []string
		for _, l := range d.labels {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.name, d.kind, strings.Join(labels, ", "), strings.ReplaceAll(d.help, "|", "\\|"))
	}
	return b.String()
}

var update = flag.Bool("update", false, "write the generated files anew")

func TestTheTableOfMetricsIsUpToDate(t *testing.T) {
	const file, begins = "../../../docs/metrics.md", "<!-- from internal/show/telemetry by make generate -->\n\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	is, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no line %s, or no text after the table", file, begins)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begins+table(t)+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is+"\n" != table(t) {
		t.Errorf("%s is out of date, run make generate", file)
	}
}

func TestCountersAndNothingElseAreNamedTotal(t *testing.T) {
	for _, d := range described(t) {
		if strings.HasSuffix(d.name, "_total") != (d.kind == "counter") {
			t.Errorf("%s is a %s", d.name, d.kind)
		}
	}
}

// A help text is a sentence: it begins with a capital letter or a number, and ends with a full
// stop.
func TestHelpTextsAreSentences(t *testing.T) {
	for _, d := range described(t) {
		if !regexp.MustCompile(`^[A-Z0-9].*\.$`).MatchString(d.help) {
			t.Errorf("%s: %q is no sentence", d.name, d.help)
		}
	}
}
