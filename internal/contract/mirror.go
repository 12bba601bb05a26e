package contract

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Mirror reads the annotations that say whose replicas a zone takes over: none
// without a name and a kind. What is wrong with them is said on one line, and
// then nothing is taken over.
//
// Kind, group and name become part of requests to the API server, so they are
// what such names can be and nothing else.
func Mirror(annotations map[string]string) plan.Mirror {
	name, kind := annotations[MirrorNameAnnotation], annotations[MirrorKindAnnotation]
	if name == "" && kind == "" {
		return plan.Mirror{}
	}
	group, wrongGroup := groupOf(annotations[MirrorAPIVersionAnnotation])
	var wrong []string
	for _, one := range []struct {
		annotation string
		err        error
		accepted   string
	}{
		{MirrorNameAnnotation, wrongName(name), "the name of an object, such as web"},
		{MirrorKindAnnotation, wrongKind(kind), "a kind, such as ReplicaTemplate"},
		{MirrorAPIVersionAnnotation, wrongGroup, "an API version, such as rollout-operator.grafana.com/v1"},
	} {
		if one.err != nil {
			wrong = append(wrong, fmt.Sprintf("annotation %s %v: must be %s", one.annotation, one.err, one.accepted))
		}
	}
	if len(wrong) > 0 {
		return plan.Mirror{Invalid: strings.Join(wrong, "; ")}
	}
	return plan.Mirror{
		Reference: plan.Reference{APIGroup: group, Kind: kind, Name: name},
		WriteBack: writeBack(annotations) && !builtIn(group),
	}
}

// writeBack reports whether the resource is told how many replicas a zone has.
func writeBack(annotations map[string]string) bool {
	text, present := annotations[MirrorWriteBackAnnotation]
	if !present {
		return true
	}
	wanted, err := strconv.ParseBool(text)
	return err == nil && wanted
}

// builtIn reports whether an API group is one of Kubernetes' own. What stands in the
// status of its kinds is for their controllers to say.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

var (
	kinds      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	subdomains = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	versions   = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	ofGroups   = regexp.MustCompile(`^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$`) // a CRD may call its versions anything like a label
)

// longestSubdomain is how long a name of an object or of an API group may be.
const longestSubdomain = 253

func isSubdomain(text string) bool {
	return len(text) <= longestSubdomain && subdomains.MatchString(text)
}

func wrongName(name string) error {
	switch {
	case name == "":
		return errMissing
	case !isSubdomain(name):
		return fmt.Errorf("is %s, which is not a name of an object", shorten(name))
	}
	return nil
}

func wrongKind(kind string) error {
	switch {
	case kind == "":
		return errMissing
	case !kinds.MatchString(kind):
		return fmt.Errorf("is %s, which is not a kind", shorten(kind))
	}
	return nil
}

// groupOf returns the API group of a version: none is that of Kubernetes' core,
// and so is what stands before the slash of /v1.
func groupOf(apiVersion string) (string, error) {
	group, version, grouped := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "":
		return "", nil
	case !grouped && !versions.MatchString(apiVersion), strings.Count(apiVersion, "/") > 1:
		return "", fmt.Errorf("is %s, which is not a group and version", shorten(apiVersion))
	case !grouped:
		return "", nil
	case group != "" && !isSubdomain(group):
		return "", fmt.Errorf("is %s, which has no API group", shorten(apiVersion))
	case !ofGroups.MatchString(version):
		return "", fmt.Errorf("is %s, which has no version", shorten(apiVersion))
	}
	return group, nil // which is nearly all that it keeps in memory
}
