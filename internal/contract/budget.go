package contract

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// budgetKind is the kind of object that Budget reads.
const budgetKind = "ZoneAwarePodDisruptionBudget"

// Budget parses a ZoneAwarePodDisruptionBudget as the API server returns it. It returns all defects, in the
// order in which the predecessor checked for them. A budget with a defect is Invalid and has only its name
// and the valid part of its selector, so that it covers too many pods rather than too few.
func Budget(object map[string]any) (group.DisruptionBudget, []string) {
	spec, hasSpec := object["spec"].(map[string]any)
	b := group.DisruptionBudget{Name: nameOf(object)}
	switch {
	case object == nil:
		return unusable(b, "invalid value: the object is missing")
	case !hasSpec:
		return unusable(b, "invalid value: spec is missing")
	case object["kind"] != budgetKind:
		return unusable(b, "invalid value: kind must be "+budgetKind)
	}
	r := budgetReader{spec: spec}
	b.Limit, b.Percentage = r.limit()
	b.Partition, b.Group = r.partition()
	b.Selector = r.selector()
	b.Delay = r.delay()
	r.fit(b)
	b.Unhealthy = r.unhealthy()
	if len(r.wrong) > 0 {
		return unusable(b, r.wrong...)
	}
	return b, nil
}

func unusable(b group.DisruptionBudget, wrong ...string) (group.DisruptionBudget, []string) {
	return group.DisruptionBudget{Name: b.Name, Invalid: strings.Join(wrong, "; "), Selector: b.Selector}, wrong
}

func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// budgetReader parses the fields of a spec and collects their defects.
type budgetReader struct {
	spec  map[string]any
	wrong []string
}

func (r *budgetReader) objects(format string, args ...any) {
	r.wrong = append(r.wrong, "invalid value: "+fmt.Sprintf(format, args...))
}

// text returns a text field. A missing field is the same as an empty one.
func (r *budgetReader) text(field string) string {
	value, given := r.spec[field]
	text, is := value.(string)
	if given && !is {
		r.objects("%s must be a string", field)
	}
	return text
}

// number returns a field that is a whole number, and whether it is set.
func (r *budgetReader) number(field string) (n int64, given bool) {
	value, given := r.spec[field]
	if !given {
		return 0, false
	}
	n, is := whole(value)
	if !is {
		r.objects("%s must be a whole number", field)
	}
	return n, is
}

// whole returns a number as JSON decoders represent it.
func whole(value any) (int64, bool) {
	const exact = 1 << 53
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) <= exact
	}
	return 0, false
}

// limit returns how many pods may be down, as a number or a percentage.
func (r *budgetReader) limit() (pods, percentage int) {
	_, absolute := r.spec["maxUnavailable"]
	_, relative := r.spec["maxUnavailablePercentage"]
	if absolute && relative {
		r.objects("maxUnavailable and maxUnavailablePercentage are mutually exclusive: set one of them")
	}
	n, given := r.number("maxUnavailable")
	if given && n < 0 {
		r.objects("maxUnavailable is %d: must be at least 0", n)
	}
	p, givenPercentage := r.number("maxUnavailablePercentage")
	if givenPercentage && (p < 0 || p > 100) {
		r.objects("maxUnavailablePercentage is %d: must be from 0 to 100", p)
	}
	switch {
	case relative:
		return 0, int(p)
	case absolute:
		return int(min(n, math.MaxInt32)), 0 // no group has more pods than that
	}
	return 1, 0
}

// partition returns the regex that finds the partition in a pod's name, and the number of its capture group.
func (r *budgetReader) partition() (*regexp.Regexp, int) {
	text := r.text("podNamePartitionRegex")
	if text == "" {
		return nil, 0 // podNameRegexGroup has no effect without a regex
	}
	before := len(r.wrong)
	group, given := r.number("podNameRegexGroup")
	if given && group < 1 {
		r.objects("podNameRegexGroup is %d: must be at least 1", group)
	}
	matcher, err := wholeName(text)
	if err != nil {
		r.objects("podNamePartitionRegex %v", err)
		return nil, 0
	}
	switch groups := matcher.NumSubexp(); {
	case groups == 0:
		r.objects("podNamePartitionRegex has no capture group: one must match the partition")
	case len(r.wrong) > before:
	case groups > 1 && !given:
		r.objects("podNamePartitionRegex has %d capture groups: podNameRegexGroup must be the number of the one that matches the partition", groups)
	case group > int64(groups):
		r.objects("podNameRegexGroup is %d: must be at most %d, the number of capture groups in podNamePartitionRegex", group, groups)
	}
	return matcher, max(1, int(min(group, math.MaxInt32)))
}

// selector returns the selector. A selector without any field is an error; an empty field selects everything.
func (r *budgetReader) selector() group.Selector {
	selector, is := r.spec["selector"].(map[string]any)
	labels, hasLabels := selector["matchLabels"]
	expressions, hasExpressions := selector["matchExpressions"]
	if !is || !hasLabels && !hasExpressions {
		r.objects("selector must have matchLabels, which may be empty, or matchExpressions")
		return nil
	}
	var all group.Selector
	if hasLabels {
		all = r.labels(labels)
	}
	if hasExpressions {
		all = append(all, r.expressions(expressions)...)
	}
	return all
}

func (r *budgetReader) labels(value any) group.Selector {
	labels, is := value.(map[string]any)
	if !is {
		r.objects("selector.matchLabels must be a map of strings")
		return nil
	}
	var all group.Selector
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		text, is := labels[key].(string)
		if !is {
			r.objects("selector.matchLabels must be a map of strings: the value of %s is not a string", shorten(key))
			return nil
		}
		all = append(all, group.Requirement{Key: key, Demand: group.LabelIn, Values: []string{text}})
	}
	return all
}

func (r *budgetReader) expressions(value any) group.Selector {
	list, is := value.([]any)
	if !is {
		r.objects("selector.matchExpressions must be a list")
		return nil
	}
	var all group.Selector
	for i, entry := range list {
		expression, err := requirement(entry)
		if err != nil {
			r.objects("selector.matchExpressions[%d]: %v", i, err)
			return nil
		}
		all = append(all, expression)
	}
	return all
}

func (r *budgetReader) delay() time.Duration {
	const field = "crossZoneEvictionDelay"
	text := r.text(field)
	if text == "" {
		return 0
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 {
		r.objects("%s must be a duration such as 10m or 1h30m, and not negative: it is %s", field, shorten(text))
		return 0
	}
	return delay
}

// fit reports fields that exclude each other. An invalid regex counts as set.
func (r *budgetReader) fit(b group.DisruptionBudget) {
	partitions := r.spec["podNamePartitionRegex"] != nil && r.spec["podNamePartitionRegex"] != ""
	if b.Delay > 0 && !partitions {
		r.objects("crossZoneEvictionDelay requires podNamePartitionRegex: it delays evictions from a partition")
	}
	if b.Percentage > 0 && partitions {
		r.objects("maxUnavailablePercentage counts pods of a zone: it cannot be used with podNamePartitionRegex")
	}
}

func (r *budgetReader) unhealthy() group.UnhealthyPolicy {
	switch policy := group.UnhealthyPolicy(r.text("unhealthyPodEvictionPolicy")); policy {
	case "", group.IfHealthyBudget, group.AlwaysAllow:
		return policy
	}
	r.objects("unhealthyPodEvictionPolicy must be IfHealthyBudget or AlwaysAllow")
	return ""
}
