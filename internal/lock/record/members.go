package record

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// member is one zone in the annotation lockstep.dev/zones.
type member struct {
	Zone string `json:"zone"`
	UID  string `json:"uid"`
}

type members struct {
	Version int      `json:"version"`
	Zones   []member `json:"zones"`
}

// FormatMembers returns the value of the annotation lockstep.dev/zones: the zones of the group, or "" for
// none.
func FormatMembers(zones []group.Member) string {
	if len(zones) == 0 {
		return ""
	}
	doc := members{Version: formatVersion}
	for _, m := range zones {
		doc.Zones = append(doc.Zones, member(m))
	}
	return encoded(doc)
}

// ParseMembers parses the annotation. The error names the defect. After an error, the hold must be respected
// and not be changed.
func ParseMembers(text string) ([]group.Member, error) {
	if text == "" {
		return nil, nil
	}
	var doc members
	if err := decode(text, &doc); err != nil {
		return nil, fmt.Errorf("read zones: %w", err)
	}
	if len(doc.Zones) > group.MostMembers {
		return nil, fmt.Errorf("read zones: there are %d, and at most %d are remembered", len(doc.Zones), group.MostMembers)
	}
	var zones []group.Member
	for n, m := range doc.Zones {
		if m.Zone == "" || m.UID == "" {
			return nil, fmt.Errorf("read zones: entry %d needs zone and uid", n)
		}
		if wrong := validation.IsDNS1123Subdomain(m.Zone); len(wrong) > 0 {
			return nil, fmt.Errorf("read zones: %q is no name of a StatefulSet: %s", m.Zone, wrong[0])
		}
		zones = append(zones, group.Member(m))
	}
	return zones, nil
}

// RememberedZones returns the names of the zones that a Lease records.
func RememberedZones(annotations map[string]string) ([]string, error) {
	members, err := ParseMembers(annotations[contract.ZonesAnnotation])
	if err != nil {
		return nil, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Zone
	}
	return names, nil
}
