package contract

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Mirror parses the annotations that name the resource from which a zone takes its replicas. Without a name
// and a kind there is none. Defects are reported on one line, and then the zone takes no replicas.
//
// Kind, group and name become part of requests to the API server, so they must match the grammar of such
// names exactly.
func Mirror(annotations map[string]string) group.Mirror {
	name, kind := annotations[MirrorNameAnnotation], annotations[MirrorKindAnnotation]
	if name == "" && kind == "" {
		return group.Mirror{}
	}
	apiGroup, wrongGroup := groupOf(annotations[MirrorAPIVersionAnnotation])
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
		return group.Mirror{Invalid: strings.Join(wrong, "; ")}
	}
	return group.Mirror{
		Reference: group.Reference{APIGroup: apiGroup, Kind: kind, Name: name},
		WriteBack: writeBack(annotations) && !builtIn(apiGroup),
	}
}

// writeBack reports whether lockstep writes the number of replicas into the status of the resource.
func writeBack(annotations map[string]string) bool {
	text, present := annotations[MirrorWriteBackAnnotation]
	if !present {
		return true
	}
	wanted, err := strconv.ParseBool(text)
	return err == nil && wanted
}

// builtIn reports whether an API group belongs to Kubernetes. The status of its kinds is written only by
// their own controllers.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

var (
	kinds      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	subdomains = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	versions   = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	ofGroups   = regexp.MustCompile(`^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$`) // the version of a CRD may be any DNS label
)

// longestSubdomain is the maximum length of the name of an object or API group.
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

// groupOf returns the API group of an API version. An empty version, v1 and /v1 belong to the core group.
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
	return group, nil // group keeps the memory of the text, which is only a little longer
}
