package podcalls

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

// FuzzPod checks that a pod with arbitrary data is either not called, or is called at an ordinary address of
// its own and by a valid DNS name.
func FuzzPod(f *testing.F) {
	for _, ip := range []string{
		"10.244.0.1", "fd00::1", "::ffff:10.244.0.1", "::ffff:127.0.0.1", "127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1%lo",
		"224.0.0.1", "ff02::1", "255.255.255.255", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "192.0.2.1", "010.0.0.1", "0x7f.1", "1", "",
	} {
		f.Add(ip, "zone-a-0", "ingester", "team")
	}
	f.Add("10.244.0.1", "zone.a-0", "a.b", "team")
	f.Add("fd00::1", "a\r\nb", "a/b", "@")
	f.Fuzz(func(t *testing.T, ip, name, service, namespace string) {
		p := Pod{IP: ip, Name: name, Service: service, Namespace: namespace}
		if address, why := addressOf(p); why == "" {
			std := net.ParseIP(ip) // its rules are independent of addressOf
			if std == nil || !std.IsGlobalUnicast() || !std.Equal(address.AsSlice()) || address.Is4In6() {
				t.Errorf("%q is called at %s, which is %s", ip, address, std)
			}
		}
		if host := nameOf(p, "cluster.local"); host != "" {
			u, err := url.Parse("http://" + host + ":80/")
			if err != nil || u.Host != host+":80" || u.User != nil || len(host) > 253 || host != strings.ToLower(host) || !strings.HasSuffix(host, ".svc.cluster.local") {
				t.Errorf("%+v is called %q (%v)", p, host, err)
			}
		}
	})
}
