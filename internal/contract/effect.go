package contract

import (
	"fmt"
	"strings"
)

// WithoutEffect says which labels and annotations of a StatefulSet ask for something in a
// form that nobody hears: switches that are neither on nor off, and one half of what
// only works together. Empty where there is none.
func WithoutEffect(annotations, labels map[string]string) string {
	var found []string
	for _, key := range []string{PausedAnnotation, AfterLeaderAnnotation} {
		found = append(found, neitherOnNorOff("annotation", key, annotations[key])...)
	}
	for _, key := range []string{NoDownscaleLabel, PrepareDownscaleLabel} {
		found = append(found, neitherOnNorOff("label", key, labels[key])...)
	}
	found = append(found, alone(annotations, DelayAnnotation, DelayURLAnnotation)...)
	found = append(found, alone(annotations, DelayURLAnnotation, DelayAnnotation)...)
	return strings.Join(found, "; ")
}

func neitherOnNorOff(kind, key, value string) []string {
	switch value {
	case "", "true", "false":
		return nil
	}
	return []string{fmt.Sprintf("%s %s is %s, and only true has an effect", kind, key, shorten(value))}
}

// alone tells of an annotation that is there without the other one.
func alone(annotations map[string]string, key, other string) []string {
	if annotations[key] == "" || annotations[key] == "0" || annotations[other] != "" {
		return nil
	}
	return []string{fmt.Sprintf("annotation %s has no effect without %s", key, other)}
}
