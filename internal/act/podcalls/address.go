package podcalls

import (
	"net/netip"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Pod is a pod to call. The caller guarantees that the address belongs to a pod with that name in that
// namespace, owned by the expected StatefulSet.
type Pod struct {
	Group       plan.Key // the group for which it is called
	Namespace   string
	Name        string
	Service     string // spec.serviceName of its StatefulSet
	IP          string // status.podIP
	HostNetwork bool   // the pod uses the address of its node
}

// addressOf returns the address at which a pod may be called, or why it may not be called.
func addressOf(p Pod) (netip.Addr, Why) {
	if p.IP == "" {
		return netip.Addr{}, NoAddress
	}
	address, err := netip.ParseAddr(p.IP)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, BadAddress
	}
	address = address.Unmap()
	if why := refused(address); why != "" {
		return netip.Addr{}, why
	}
	if p.HostNetwork {
		return netip.Addr{}, NodeAddress
	}
	return address, ""
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.AddrFrom4([4]byte{255, 255, 255, 255})
	compatible  = netip.MustParsePrefix("::/96")
	translated  = netip.MustParsePrefix("64:ff9b::/96")
	tunnelled   = netip.MustParsePrefix("2002::/16")
)

// refused returns why an unmapped address may not be called, or "". It checks an IPv4 address inside an IPv6
// address like any other.
func refused(a netip.Addr) Why {
	switch {
	case a.IsUnspecified(), thisNetwork.Contains(a):
		return Unspecified
	case a.IsLoopback():
		return Loopback
	case a.IsLinkLocalUnicast():
		return LinkLocal
	case a.IsMulticast(), a == broadcast:
		return Multicast
	case compatible.Contains(a):
		return BadAddress // such addresses have been obsolete since 2006
	case translated.Contains(a):
		return refused(embedded(a, 12))
	case tunnelled.Contains(a):
		return refused(embedded(a, 2))
	}
	return ""
}

// embedded returns the IPv4 address at that byte of an IPv6 address.
func embedded(a netip.Addr, at int) netip.Addr {
	all := a.As16()
	return netip.AddrFrom4([4]byte(all[at : at+4]))
}

// mostName is the maximum length of a DNS name.
const mostName = 253

// nameOf returns the pod's DNS name, or "" if it is invalid. The name of the Service comes from a tenant, and
// Kubernetes has not always validated it.
func nameOf(p Pod, domain string) string {
	for _, part := range []string{p.Name, p.Service, p.Namespace} {
		if !isName(part) {
			return ""
		}
	}
	name := strings.Join([]string{p.Name, p.Service, p.Namespace, "svc", domain}, ".")
	if len(name) > mostName {
		return ""
	}
	return name
}

// isName reports whether a text consists of DNS labels.
func isName(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}
