package contract_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// byText compares regexes by their text.
var byText = cmp.Comparer(func(a, b *regexp.Regexp) bool {
	return (a == nil) == (b == nil) && (a == nil || a.String() == b.String())
})

// budget returns an object with a spec from JSON. Its numbers are float64; caches and webhooks decode whole
// numbers as int64.
func budget(tb testing.TB, spec string) map[string]any {
	tb.Helper()
	var object map[string]any
	text := `{"kind":"ZoneAwarePodDisruptionBudget","metadata":{"name":"ingester"},"spec":` + spec + `}`
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return object
}

const everything = `"selector":{"matchLabels":{}}`

func TestABudgetIsReadAsWritten(t *testing.T) {
	usual := group.DisruptionBudget{Name: "ingester", Limit: 1}
	but := func(change func(*group.DisruptionBudget)) group.DisruptionBudget {
		b := usual
		change(&b)
		return b
	}
	regex := func(text string, part int) func(*group.DisruptionBudget) {
		return func(b *group.DisruptionBudget) { b.Partition, b.Group = regexp.MustCompile(text), part }
	}
	for sentence, tc := range map[string]struct {
		spec string
		want group.DisruptionBudget
	}{
		"one pod is the default":          {`{` + everything + `}`, usual},
		"no limit":                        {`{` + everything + `,"maxUnavailable":0}`, but(func(b *group.DisruptionBudget) { b.Limit = 0 })},
		"a limit is a number":             {`{` + everything + `,"maxUnavailable":3}`, but(func(b *group.DisruptionBudget) { b.Limit = 3 })},
		"or a percentage":                 {`{` + everything + `,"maxUnavailablePercentage":100}`, but(func(b *group.DisruptionBudget) { b.Limit, b.Percentage = 0, 100 })},
		"more than any group has":         {`{` + everything + `,"maxUnavailable":9007199254740992}`, but(func(b *group.DisruptionBudget) { b.Limit = 1<<31 - 1 })},
		"the only group":                  {`{` + everything + `,"podNamePartitionRegex":"[a-z-]+-([0-9]+)"}`, but(regex(`^(?:[a-z-]+-([0-9]+))$`, 1))},
		"one group of two":                {`{` + everything + `,"podNamePartitionRegex":"([a-z-]+)-([0-9]+)","podNameRegexGroup":2}`, but(regex(`^(?:([a-z-]+)-([0-9]+))$`, 2))},
		"an empty regex counts as absent": {`{` + everything + `,"podNamePartitionRegex":"","podNameRegexGroup":7}`, usual},
		"an empty delay counts as absent": {`{` + everything + `,"crossZoneEvictionDelay":""}`, usual},
		"a delay of 0 has no effect":      {`{` + everything + `,"crossZoneEvictionDelay":"0s"}`, usual},
		"0% with partitions":              {`{` + everything + `,"maxUnavailablePercentage":0,"podNamePartitionRegex":"x-([0-9]+)"}`, but(func(b *group.DisruptionBudget) { b.Limit = 0; regex(`^(?:x-([0-9]+))$`, 1)(b) })},
		"a delay":                         {`{` + everything + `,"podNamePartitionRegex":"x-([0-9]+)","crossZoneEvictionDelay":"1.5h"}`, but(func(b *group.DisruptionBudget) { b.Delay = 90 * time.Minute; regex(`^(?:x-([0-9]+))$`, 1)(b) })},
		"the usual policy":                {`{` + everything + `,"unhealthyPodEvictionPolicy":"IfHealthyBudget"}`, but(func(b *group.DisruptionBudget) { b.Unhealthy = group.IfHealthyBudget })},
		"another policy":                  {`{` + everything + `,"unhealthyPodEvictionPolicy":"AlwaysAllow"}`, but(func(b *group.DisruptionBudget) { b.Unhealthy = group.AlwaysAllow })},
		"labels in a fixed order": {`{"selector":{"matchLabels":{"b":"2","a":"1"}}}`, but(func(b *group.DisruptionBudget) {
			b.Selector = group.Selector{demand("a", group.LabelIn, "1"), demand("b", group.LabelIn, "2")}
		})},
		"expressions alone": {`{"selector":{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"NotIn","values":["1","2"]}]}}`, but(func(b *group.DisruptionBudget) {
			b.Selector = group.Selector{demand("a", group.LabelExists), demand("b", group.LabelNotIn, "1", "2")}
		})},
		"labels with expressions": {`{"selector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"DoesNotExist"}]}}`, but(func(b *group.DisruptionBudget) {
			b.Selector = group.Selector{demand("a", group.LabelIn, "1"), demand("b", group.LabelAbsent)}
		})},
		"fields of later versions": {`{` + everything + `,"later":true}`, usual},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, wrong := contract.Budget(budget(t, tc.spec))
			if diff := cmp.Diff(tc.want, got, byText); diff != "" || len(wrong) > 0 {
				t.Errorf("wrong: %q (-want +got):\n%s", wrong, diff)
			}
		})
	}
}

func demand(key string, d group.Demand, values ...string) group.Requirement {
	return group.Requirement{Key: key, Demand: d, Values: values}
}

// violations are specs with all of their defects, in the predecessor's order.
var violations = map[string]struct {
	spec string
	want []string
}{
	"no spec":                               {`null`, []string{"spec is missing"}},
	"an invalid spec":                       {`[]`, []string{"spec is missing"}},
	"both limits":                           {`{` + everything + `,"maxUnavailable":0,"maxUnavailablePercentage":0}`, []string{"maxUnavailable and maxUnavailablePercentage are mutually exclusive: set one of them"}},
	"half a pod":                            {`{` + everything + `,"maxUnavailable":0.5}`, []string{"maxUnavailable must be a whole number"}},
	"a limit as text":                       {`{` + everything + `,"maxUnavailable":"25%"}`, []string{"maxUnavailable must be a whole number"}},
	"a limit below 0":                       {`{` + everything + `,"maxUnavailable":-1}`, []string{"maxUnavailable is -1: must be at least 0"}},
	"a percentage below 0":                  {`{` + everything + `,"maxUnavailablePercentage":-1}`, []string{"maxUnavailablePercentage is -1: must be from 0 to 100"}},
	"a percentage above 100":                {`{` + everything + `,"maxUnavailablePercentage":101}`, []string{"maxUnavailablePercentage is 101: must be from 0 to 100"}},
	"a regex that is no text":               {`{` + everything + `,"podNamePartitionRegex":5}`, []string{"podNamePartitionRegex must be a string"}},
	"a broken regex":                        {`{` + everything + `,"podNamePartitionRegex":"([0-9]+"}`, []string{`podNamePartitionRegex is not a regular expression: missing closing ) "([0-9]+"`}},
	"a regex with an unmatched parenthesis": {`{` + everything + `,"podNamePartitionRegex":"a)|(b"}`, []string{`podNamePartitionRegex is not a regular expression: unexpected ) "a)|(b"`}},
	"a regex without a group":               {`{` + everything + `,"podNamePartitionRegex":"x-[0-9]+"}`, []string{"podNamePartitionRegex has no capture group: one must match the partition"}},
	"a choice of groups":                    {`{` + everything + `,"podNamePartitionRegex":"(x)-([0-9]+)"}`, []string{"podNamePartitionRegex has 2 capture groups: podNameRegexGroup must be the number of the one that matches the partition"}},
	"a group too many":                      {`{` + everything + `,"podNamePartitionRegex":"x-([0-9]+)","podNameRegexGroup":2}`, []string{"podNameRegexGroup is 2: must be at most 1, the number of capture groups in podNamePartitionRegex"}},
	"group 0":                               {`{` + everything + `,"podNamePartitionRegex":"x-([0-9]+)","podNameRegexGroup":0}`, []string{"podNameRegexGroup is 0: must be at least 1"}},
	"a group as text":                       {`{` + everything + `,"podNamePartitionRegex":"x-([0-9]+)","podNameRegexGroup":"1"}`, []string{"podNameRegexGroup must be a whole number"}},
	"a regex too long":                      {`{` + everything + `,"podNamePartitionRegex":"(` + strings.Repeat("x", 1023) + `)"}`, []string{"podNamePartitionRegex has 1025 characters: at most 1024 are allowed"}},
	"a regex too costly":                    {`{` + everything + `,"podNamePartitionRegex":"(` + strings.Repeat("x{999}", 11) + `)"}`, []string{"podNamePartitionRegex is too complex: it has 10993 instructions, and at most 2000 are allowed"}},
	"no selector":                           {`{}`, []string{"selector must have matchLabels, which may be empty, or matchExpressions"}},
	"a selector that selects nothing":       {`{"selector":{}}`, []string{"selector must have matchLabels, which may be empty, or matchExpressions"}},
	"invalid labels":                        {`{"selector":{"matchLabels":[]}}`, []string{"selector.matchLabels must be a map of strings"}},
	"a label with a number":                 {`{"selector":{"matchLabels":{"a":1}}}`, []string{`selector.matchLabels must be a map of strings: the value of "a" is not a string`}},
	"invalid expressions":                   {`{"selector":{"matchExpressions":{}}}`, []string{"selector.matchExpressions must be a list"}},
	"an invalid expression":                 {`{"selector":{"matchExpressions":["a"]}}`, []string{"selector.matchExpressions[0]: must be an object"}},
	"an expression without a key":           {`{"selector":{"matchExpressions":[{"operator":"Exists"}]}}`, []string{"selector.matchExpressions[0]: key is missing"}},
	"an unknown operator":                   {`{"selector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}`, []string{`selector.matchExpressions[0]: operator is "Gt": must be In, NotIn, Exists or DoesNotExist`}},
	"an expression without values":          {`{"selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`, []string{"selector.matchExpressions[0]: values must be set with the operators In and NotIn, and only with these"}},
	"a value for Exists":                    {`{"selector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["1"]}]}}`, []string{"selector.matchExpressions[0]: values must be set with the operators In and NotIn, and only with these"}},
	"invalid values":                        {`{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[1]}]}}`, []string{"selector.matchExpressions[0]: values must be a list of strings"}},
	"a delay that is no text":               {`{` + everything + `,"crossZoneEvictionDelay":600}`, []string{"crossZoneEvictionDelay must be a string"}},
	"a delay in days":                       {`{` + everything + `,"crossZoneEvictionDelay":"1d"}`, []string{`crossZoneEvictionDelay must be a duration such as 10m or 1h30m, and not negative: it is "1d"`}},
	"a delay below 0":                       {`{` + everything + `,"crossZoneEvictionDelay":"-1s"}`, []string{`crossZoneEvictionDelay must be a duration such as 10m or 1h30m, and not negative: it is "-1s"`}},
	"a delay of zones":                      {`{` + everything + `,"crossZoneEvictionDelay":"10m"}`, []string{"crossZoneEvictionDelay requires podNamePartitionRegex: it delays evictions from a partition"}},
	"a percentage of partitions":            {`{` + everything + `,"maxUnavailablePercentage":1,"podNamePartitionRegex":"x-([0-9]+)"}`, []string{"maxUnavailablePercentage counts pods of a zone: it cannot be used with podNamePartitionRegex"}},
	"an unknown policy":                     {`{` + everything + `,"unhealthyPodEvictionPolicy":"Never"}`, []string{"unhealthyPodEvictionPolicy must be IfHealthyBudget or AlwaysAllow"}},
	"everything at once": {
		`{"maxUnavailable":-1,"maxUnavailablePercentage":50,"podNamePartitionRegex":"(","crossZoneEvictionDelay":"1d","unhealthyPodEvictionPolicy":"x"}`,
		[]string{
			"maxUnavailable and maxUnavailablePercentage are mutually exclusive: set one of them",
			"maxUnavailable is -1: must be at least 0",
			`podNamePartitionRegex is not a regular expression: missing closing ) "("`,
			"selector must have matchLabels, which may be empty, or matchExpressions",
			`crossZoneEvictionDelay must be a duration such as 10m or 1h30m, and not negative: it is "1d"`,
			"maxUnavailablePercentage counts pods of a zone: it cannot be used with podNamePartitionRegex",
			"unhealthyPodEvictionPolicy must be IfHealthyBudget or AlwaysAllow",
		},
	},
}

func TestProblemsOfABudgetAreReportedInThePredecessorsOrder(t *testing.T) {
	for sentence, tc := range violations {
		t.Run(sentence, func(t *testing.T) {
			got, wrong := contract.Budget(budget(t, tc.spec))
			if diff := cmp.Diff(prefixed(tc.want), wrong); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := group.DisruptionBudget{Name: "ingester", Invalid: strings.Join(prefixed(tc.want), "; ")}
			if diff := cmp.Diff(want, got, byText); diff != "" {
				t.Errorf("kept fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheReadableSelectorOfAnInvalidBudgetIsKept(t *testing.T) {
	for sentence, tc := range map[string]struct {
		spec string
		want group.Selector
	}{
		"all of it":                {`{"maxUnavailable":-1,"selector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]}}`, group.Selector{demand("a", group.LabelIn, "1"), demand("b", group.LabelExists)}},
		"the labels":               {`{"selector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b"}]}}`, group.Selector{demand("a", group.LabelIn, "1")}},
		"no regex: all pods count": {`{"selector":{"matchLabels":[]}}`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, wrong := contract.Budget(budget(t, tc.spec))
			want := group.DisruptionBudget{Name: "ingester", Invalid: strings.Join(wrong, "; "), Selector: tc.want}
			if diff := cmp.Diff(want, got, byText); diff != "" || len(wrong) == 0 {
				t.Errorf("wrong: %q (-want +got):\n%s", wrong, diff)
			}
		})
	}
}

func prefixed(texts []string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, "invalid value: "+text)
	}
	return all
}

func TestAnAbsentObjectIsNoBudget(t *testing.T) {
	if _, wrong := contract.Budget(nil); len(wrong) == 0 {
		t.Error("no violation")
	}
	other := budget(t, `{`+everything+`}`)
	other["kind"] = "PodDisruptionBudget"
	if _, wrong := contract.Budget(other); len(wrong) == 0 {
		t.Error("another kind is accepted")
	}
}

func TestEveryAlternativeMatchesTheEntireName(t *testing.T) {
	b, wrong := contract.Budget(budget(t, `{`+everything+`,"podNamePartitionRegex":"a-([0-9]+)|b-[0-9]+"}`))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for pod, want := range map[string]string{"a-1": "1", "a-1-b": "", "x-b-1": "", "b-1": ""} {
		if got, known := b.PartitionOf(pod); got != want || known != (want != "") {
			t.Errorf("%s is in partition %q, known %t, want %q", pod, got, known, want)
		}
	}
}

// The messages of the CRD's own validation are those of this package.
func TestTheCRDHasTheMessagesOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../../manifests/crds/rollout-operator.grafana.com_zoneawarepoddisruptionbudgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, tc := range violations {
		for _, violation := range tc.want {
			_, inList, _ := strings.Cut(violation, "]: ")
			known = append(known, "invalid value: "+violation, "invalid value: "+inList)
		}
	}
	found := rules(crd)
	if len(found) < 6 {
		t.Errorf("%d rules", len(found))
	}
	for _, message := range found {
		if !slices.ContainsFunc(known, func(violation string) bool { return strings.HasPrefix(violation, message) }) {
			t.Errorf("no violation contains %q", message)
		}
	}
}

// rules returns the messages of all validation rules in a schema.
func rules(tree any) (messages []string) {
	switch tree := tree.(type) {
	case []any:
		for _, branch := range tree {
			messages = append(messages, rules(branch)...)
		}
	case map[string]any:
		list, _ := tree["x-kubernetes-validations"].([]any)
		for _, rule := range list {
			if rule, is := rule.(map[string]any); is {
				message, _ := rule["message"].(string)
				messages = append(messages, message)
			}
		}
		for _, branch := range tree {
			messages = append(messages, rules(branch)...)
		}
	}
	return messages
}

// FuzzBudget checks that any object results either in a usable budget or in messages that name its defects.
func FuzzBudget(f *testing.F) {
	for _, tc := range violations {
		f.Add(tc.spec, "ingester-zone-a-1")
	}
	f.Add(`{`+everything+`,"podNamePartitionRegex":"a-([0-9]+)|(b)","podNameRegexGroup":2,"crossZoneEvictionDelay":"1h"}`, "b")
	f.Add(`{`+everything+`,"podNamePartitionRegex":"(a)\\Q"}`, "a")
	f.Fuzz(func(t *testing.T, spec, pod string) {
		var decoded any
		if json.Unmarshal([]byte(spec), &decoded) != nil {
			return
		}
		b, wrong := contract.Budget(map[string]any{"kind": "ZoneAwarePodDisruptionBudget", "spec": decoded})
		if len(wrong) > 0 {
			if slices.Contains(wrong, "") {
				t.Errorf("%q", wrong)
			}
			return
		}
		sound(t, b)
		partition, known := b.PartitionOf(pod)
		if known != (partition != "") || len(partition) > len(pod) {
			t.Errorf("%q is in partition %q, known %t", pod, partition, known)
		}
	})
}

func sound(t *testing.T, b group.DisruptionBudget) {
	t.Helper()
	switch {
	case b.Limit < 0, b.Percentage < 0, b.Percentage > 100, b.Limit > 0 && b.Percentage > 0, b.Delay < 0:
		t.Errorf("%+v has an invalid limit or delay", b)
	case b.ByPartition() && (b.Group < 1 || b.Group > b.Partition.NumSubexp() || b.Percentage > 0):
		t.Errorf("%+v counts partitions that it cannot determine", b)
	case !b.ByPartition() && b.Delay > 0:
		t.Errorf("%+v delays without partitions", b)
	case b.Unhealthy != "" && b.Unhealthy != group.IfHealthyBudget && b.Unhealthy != group.AlwaysAllow:
		t.Errorf("%+v has no policy", b)
	}
}
