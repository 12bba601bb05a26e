package contract

import (
	"fmt"
	"strings"
)

// Metadata contains the labels and annotations of an object and of its pod template.
type Metadata struct {
	Kind           string // of the object; empty: StatefulSet
	Annotations    map[string]string
	Labels         map[string]string
	PodAnnotations map[string]string
	PodLabels      map[string]string
}

// WithoutEffect reports labels and annotations of a StatefulSet that have no effect, and what would have one.
// These are switches that are neither on nor off, names that require another one, names in the wrong place,
// and misspelled names. It returns "" if there are none.
func WithoutEffect(m Metadata) string {
	var found []string
	for _, key := range []string{IgnoreAnnotation, PausedAnnotation, AfterLeaderAnnotation} {
		found = append(found, neitherOnNorOff("annotation", key, m.Annotations[key])...)
	}
	for _, key := range []string{NoDownscaleLabel, PrepareDownscaleLabel} {
		found = append(found, neitherOnNorOff("label", key, m.Labels[key])...)
	}
	for _, h := range halves {
		found = append(found, alone(m.Annotations, h.key, h.other)...)
	}
	found = append(found, halfPreparation(m)...)
	found = append(found, misplaced(m)...)
	found = append(found, misspelled(m)...)
	return strings.Join(found, "; ")
}

// WithoutEffectOnPool reports labels and annotations of a StatefulCluster that have no effect, as WithoutEffect does. paused is
// whether its spec pauses updates.
func WithoutEffectOnPool(annotations, labels map[string]string, paused bool) string {
	m := Metadata{Kind: onStatefulCluster, Annotations: annotations, Labels: labels}
	found := neitherOnNorOff(asAnnotation, AdoptAnnotation, annotations[AdoptAnnotation])
	for _, key := range []string{PausedUntilAnnotation, PausedReasonAnnotation} {
		if !paused && !off(annotations[key]) {
			found = append(found, fmt.Sprintf("annotation %s has no effect without spec.paused", key))
		}
	}
	found = append(found, misplaced(m)...)
	found = append(found, misspelled(m)...)
	return strings.Join(found, "; ")
}

func neitherOnNorOff(kind, key, value string) []string {
	switch value {
	case "", "true", "false":
		return nil
	}
	return []string{fmt.Sprintf("%s %s is %s: only true has an effect", kind, key, shorten(value))}
}

// halves are annotations that have no effect without another one.
var halves = []struct{ key, other string }{
	{DelayAnnotation, DelayURLAnnotation},
	{DelayURLAnnotation, DelayAnnotation},
	{AfterLeaderAnnotation, LeaderAnnotation},
	{PausedUntilAnnotation, PausedAnnotation},
	{PausedReasonAnnotation, PausedAnnotation},
	{MirrorAPIVersionAnnotation, MirrorNameAnnotation},
	{MirrorWriteBackAnnotation, MirrorNameAnnotation},
}

// alone reports an annotation that is set without the other one.
func alone(annotations map[string]string, key, other string) []string {
	if off(annotations[key]) || annotations[other] != "" {
		return nil
	}
	return []string{fmt.Sprintf("annotation %s has no effect without %s", key, other)}
}

// off reports whether a value disables a setting.
func off(value string) bool { return value == "" || value == "0" || value == "false" }

// halfPreparation reports which part of a prepare call is missing: the label that enables it, its port or its
// path. If the label is off, both annotations may remain.
func halfPreparation(m Metadata) []string {
	asks := m.Labels[PrepareDownscaleLabel]
	var given, absent []string
	for _, key := range []string{PreparePortAnnotation, PreparePathAnnotation} {
		if m.Annotations[key] != "" {
			given = append(given, key)
		} else {
			absent = append(absent, key)
		}
	}
	var found []string
	switch {
	case asks == "":
		for _, key := range given {
			found = append(found, fmt.Sprintf("annotation %s has no effect without label %s", key, PrepareDownscaleLabel))
		}
	case asks == "true":
		for _, key := range absent {
			found = append(found, fmt.Sprintf("label %s requires annotation %s: lockstep refuses downscales without it", PrepareDownscaleLabel, key))
		}
	}
	return found
}
