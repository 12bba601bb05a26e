package config_test

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

// defaults returns the configuration for an empty command line in an empty environment.
func defaults(changes ...func(*config.Config)) config.Config {
	c := config.Config{
		Namespaces: config.Namespaces{Selector: "lockstep.dev/enabled=true"},
		Operator:   config.Operator{Namespace: "lockstep-system"},
		Server:     config.Server{Port: 8001},
		ServerTLS: config.ServerTLS{
			Port: 8443, RequestTimeout: 10 * time.Second,
			SelfSigned: config.SelfSigned{
				Enabled: true, SecretName: "lockstep-webhook-certificate", Organisation: "lockstep",
				Expiration: 365 * 24 * time.Hour, Propagation: 2 * time.Minute,
			},
		},
		Webhooks: config.Webhooks{UpdateCABundle: true, NoDownscaleOnError: "allow"},
		Pods:     config.Pods{ClusterDomain: "cluster.local.", Timeout: 5 * time.Second, StayEvery: 10 * time.Minute},
		LeaderElection: config.LeaderElection{
			Enabled: true, LeaseDuration: 10 * time.Second, RenewDeadline: 6 * time.Second, RetryPeriod: time.Second,
		},
		Log:     config.Log{Format: "logfmt", Level: "info"},
		Workers: 32,
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		env      []string
		account  string
		want     config.Config
		warnings []string
	}{
		"an empty command line means the defaults": {
			want: defaults(),
		},
		"one dash or two, with an equals sign or a space": {
			args: []string{"--server.port=0", "-log.level", "debug", "--log.format", "json"},
			want: defaults(func(c *config.Config) { c.Server.Port, c.Log = 0, config.Log{Format: "json", Level: "debug"} }),
		},
		"a switch needs no value": {
			args: []string{"-dry-run", "-leader-election.enabled=false"},
			want: defaults(func(c *config.Config) { c.DryRun, c.LeaderElection.Enabled = true, false }),
		},
		"a variable sets a flag": {
			env: []string{"LOCKSTEP_SERVER_PORT=9000", "LOCKSTEP_LEADER_ELECTION_LEASE_DURATION=30s", "LOCKSTEP_DRY_RUN=true"},
			want: defaults(func(c *config.Config) {
				c.Server.Port, c.DryRun, c.LeaderElection.LeaseDuration = 9000, true, 30*time.Second
			}),
		},
		"the flag wins over the variable, even if the variable is invalid": {
			args: []string{"-server.port=1"},
			env:  []string{"LOCKSTEP_SERVER_PORT=many"},
			want: defaults(func(c *config.Config) { c.Server.Port = 1 }),
		},
		"an empty variable counts as unset": {
			env:  []string{"LOCKSTEP_NAMESPACES_SELECTOR=", "KUBECONFIG=", "POD_NAMESPACE="},
			want: defaults(),
		},
		"KUBECONFIG and POD_NAMESPACE give defaults": {
			env:     []string{"KUBECONFIG=/a:/b", "POD_NAMESPACE=ours"},
			account: "theirs",
			want:    defaults(func(c *config.Config) { c.Kubernetes.ConfigFile, c.Operator.Namespace = "/a:/b", "ours" }),
		},
		"a flag wins over KUBECONFIG, even when empty": {
			args: []string{"-kubernetes.config-file="},
			env:  []string{"KUBECONFIG=/a"},
			want: defaults(),
		},
		"a variable of lockstep wins over POD_NAMESPACE": {
			env:  []string{"POD_NAMESPACE=theirs", "LOCKSTEP_OPERATOR_NAMESPACE=ours"},
			want: defaults(func(c *config.Config) { c.Operator.Namespace = "ours" }),
		},
		"without POD_NAMESPACE the service account knows the namespace": {
			account: "ours\n",
			want:    defaults(func(c *config.Config) { c.Operator.Namespace = "ours" }),
		},
		"flags of the predecessor are accepted with any value and one warning each": {
			args: []string{"-use-zone-tracker", "-reconcile.interval=5s", "-kubernetes.client-qps", "fast", "-use-zone-tracker=false", "-workers=2"},
			env:  []string{"LOCKSTEP_ZPDB_POD_READY_ANNOTATION_PATCH_TIMEOUT=5s"},
			want: defaults(func(c *config.Config) { c.Workers = 2 }),
			warnings: []string{
				"-reconcile.interval: accepted and ignored: lockstep reconciles a group when an event arrives or a timer ends, not at an interval",
				"-kubernetes.client-qps: accepted and ignored: lockstep does not limit its rate of requests; API Priority and Fairness protects the API server",
				"-use-zone-tracker: accepted and ignored: the times of downscales are in the Lease of the group; lockstep imports them only from the ConfigMap rollout-operator-zone-tracker",
				"LOCKSTEP_ZPDB_POD_READY_ANNOTATION_PATCH_TIMEOUT: accepted and ignored: lockstep reads readiness from the conditions of pods and does not annotate them",
			},
		},
		"flags of newer versions of the predecessor are accepted as well": {
			args: []string{"-kubernetes.pod-name=rollout-operator-0", "-leader-election.lease-name", "rollout-operator", "-leader-election.lease-duration=15500ms"},
			want: defaults(func(c *config.Config) { c.LeaderElection.LeaseDuration = 15 * time.Second }),
			warnings: []string{
				"-kubernetes.pod-name: accepted and ignored: every replica serves webhooks, so no traffic is routed to the leader, and each replica chooses its own identity",
				"-leader-election.lease-name: accepted and ignored: the leader Lease is always lockstep-leader, in the namespace -operator.namespace",
			},
		},
		"the predecessor's short certificates are renewed in shorter steps": {
			args: []string{"-server-tls.enabled", "-server-tls.self-signed-cert.expiration=45s"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.Enabled, c.ServerTLS.SelfSigned.Expiration, c.ServerTLS.SelfSigned.Propagation = true, 45*time.Second, 3*time.Second
			}),
			warnings: []string{
				"-server-tls.self-signed-cert.expiration: 45s is short: API servers have 3s to read a new CA (-server-tls.self-signed-cert.propagation); except in tests, set 1h0m0s or more",
			},
		},
		"a certificate of an hour needs no warning": {
			args: []string{"-server-tls.enabled", "-server-tls.self-signed-cert.expiration=1h"},
			want: defaults(func(c *config.Config) { c.ServerTLS.Enabled, c.ServerTLS.SelfSigned.Expiration = true, time.Hour }),
		},
		"a call to a pod is shorter than the review that waits for it": {
			args: []string{"-server-tls.enabled", "-server-tls.request-timeout=5s"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.Enabled, c.ServerTLS.RequestTimeout, c.Pods.Timeout = true, 5*time.Second, 4500*time.Millisecond
			}),
			warnings: []string{"-pods.client-timeout: 5s is shortened to 4.5s, 90% of -server-tls.request-timeout: no webhook waits longer for a pod"},
		},
		"a call to a pod always has a limit": {
			env:      []string{"LOCKSTEP_PODS_CLIENT_TIMEOUT=0"},
			want:     defaults(func(c *config.Config) { c.Pods.Timeout = 9 * time.Second }),
			warnings: []string{"LOCKSTEP_PODS_CLIENT_TIMEOUT: no limit is shortened to 9s, 90% of -server-tls.request-timeout: no webhook waits longer for a pod"},
		},
		"a long call to a pod is fine without webhooks": {
			args: []string{"-pods.client-timeout=1m"},
			want: defaults(func(c *config.Config) { c.Pods.Timeout = time.Minute }),
		},
		"an address needs no scheme": {
			args: []string{"-kubernetes.api-url=10.0.0.1:6443"},
			want: defaults(func(c *config.Config) { c.Kubernetes.APIURL = "10.0.0.1:6443" }),
		},
		"names in DNS may have capitals": {
			args: []string{"-kubernetes.cluster-domain=Cluster.Local.", "-server-tls.self-signed-cert.dns-name=Rollout-Operator.Mimir.svc"},
			want: defaults(func(c *config.Config) {
				c.Pods.ClusterDomain, c.ServerTLS.SelfSigned.Names = "Cluster.Local.", []string{"Rollout-Operator.Mimir.svc"}
			}),
		},
		"names of the certificate, and of configurations, are lists": {
			args: []string{"-server-tls.self-signed-cert.dns-name=a.example, 10.0.0.1,,fd00::1,a.example", "-webhooks.ca-bundle-names=x,y.z"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.SelfSigned.Names = []string{"a.example", "10.0.0.1", "fd00::1"}
				c.Webhooks.CABundleNames = []string{"x", "y.z"}
			}),
		},
		"the life of a certificate may be given in years, weeks and days": {
			args: []string{"-server-tls.self-signed-cert.expiration=1y2w3d4h"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.SelfSigned.Expiration = (365+14+3)*24*time.Hour + 4*time.Hour
			}),
		},
		"files of one's own need no second flag": {
			args: []string{"-server-tls.enabled", "-server-tls.cert-file=c", "-server-tls.key-file=k"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.Enabled, c.ServerTLS.CertFile, c.ServerTLS.KeyFile = true, "c", "k"
			}),
		},
		"an unknown variable of lockstep is named with the nearest one": {
			env:  []string{"LOCKSTEP_SERVR_PORT=1", "LOCKSTEP_COLOUR_OF_THE_SKY=blue", "OTHER=1"},
			want: defaults(),
			warnings: []string{
				"LOCKSTEP_COLOUR_OF_THE_SKY: unknown variable, ignored",
				"LOCKSTEP_SERVR_PORT: unknown variable, ignored; did you mean LOCKSTEP_SERVER_PORT?",
			},
		},
		"variables that Kubernetes sets for a Service named lockstep are ignored": {
			env: []string{
				"LOCKSTEP_SERVICE_HOST=10.0.0.1", "LOCKSTEP_SERVICE_PORT=8001", "LOCKSTEP_SERVICE_PORT_HTTP_METRICS=8001",
				"LOCKSTEP_PORT=tcp://10.0.0.1:8001", "LOCKSTEP_PORT_8001_TCP=tcp://10.0.0.1:8001",
				"LOCKSTEP_PORT_8001_TCP_PROTO=tcp", "LOCKSTEP_PORT_8001_TCP_PORT=8001", "LOCKSTEP_PORT_8001_TCP_ADDR=10.0.0.1",
			},
			want: defaults(),
		},
		"a Service named lockstep-server does not set the port": {
			env:      []string{"LOCKSTEP_SERVER_PORT=tcp://10.0.0.1:80"},
			want:     defaults(),
			warnings: []string{`LOCKSTEP_SERVER_PORT: ignored: "tcp://10.0.0.1:80" was set by Kubernetes for a Service; enableServiceLinks: false in the pod avoids that`},
		},
		"settings of a CA that is not injected have no effect": {
			args: []string{"-server-tls.enabled", "-server-tls.cert-file=c", "-server-tls.key-file=k", "-webhooks.ca-bundle-names=x", "-webhooks.update-ca-bundle"},
			want: defaults(func(c *config.Config) {
				c.ServerTLS.Enabled, c.ServerTLS.CertFile, c.ServerTLS.KeyFile, c.Webhooks.CABundleNames = true, "c", "k", []string{"x"}
			}),
			warnings: []string{
				"-webhooks.ca-bundle-names: has no effect because lockstep does not write the CA into webhook configurations",
				"-webhooks.update-ca-bundle: has no effect with -server-tls.cert-file and without -server-tls.ca-file",
			},
		},
		"a selector next to a single namespace has no effect": {
			args:     []string{"-kubernetes.namespace=mimir", "-namespaces.selector=a=b"},
			want:     defaults(func(c *config.Config) { c.Kubernetes.Namespace, c.Namespaces.Selector = "mimir", "a=b" }),
			warnings: []string{"-namespaces.selector: has no effect with -kubernetes.namespace"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := config.Parse(tc.args, config.Environment{Variables: tc.env, ServiceAccountNamespace: tc.account})
			if err != nil {
				t.Fatalf("parse %q: %v", tc.args, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, lines(warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  []string
		want []string
	}{
		"an invalid port": {
			args: []string{"-server.port=65536"},
			want: []string{`-server.port="65536": must be a whole number from 0 to 65535`},
		},
		"a value in a variable, by the variable's name": {
			env:  []string{"LOCKSTEP_WORKERS=0"},
			want: []string{`LOCKSTEP_WORKERS="0": must be a whole number from 1 to 1024`},
		},
		"a default of another variable, by that variable's name": {
			env:  []string{"POD_NAMESPACE=Kube_System"},
			want: []string{`POD_NAMESPACE="Kube_System": must be the name of a namespace: at most 63 lower case letters, digits and dashes, with a letter or digit at both ends`},
		},
		"a word that is no level": {
			args: []string{"-log.level=loud"},
			want: []string{`-log.level="loud": must be debug, info, warn or error`},
		},
		"an empty selector, which would select every namespace": {
			args: []string{"-namespaces.selector="},
			want: []string{`-namespaces.selector="": must be a label selector such as "team=a,stage in (test,prod)"; to select all namespaces, set "kubernetes.io/metadata.name"`},
		},
		"an address of another protocol": {
			args: []string{"-kubernetes.api-url=ftp://10.0.0.1:6443"},
			want: []string{`-kubernetes.api-url="ftp://10.0.0.1:6443": must be a URL such as https://10.0.0.1:6443, or a host and a port`},
		},
		"an address without a host": {
			args: []string{"-kubernetes.api-url=:6443"},
			want: []string{`-kubernetes.api-url=":6443": must be a URL such as https://10.0.0.1:6443, or a host and a port`},
		},
		"a call to a pod that ends before it begins": {
			args: []string{"-pods.client-timeout=-1s"},
			want: []string{`-pods.client-timeout="-1s": must be a duration such as 10s or 1m30s, in steps of 1ms, at least 1ms`},
		},
		"a lease that ends before its renewal": {
			args: []string{"-leader-election.lease-duration=6s"},
			want: []string{`-leader-election.lease-duration=6s: must be more than -leader-election.renew-deadline, which is 6s`},
		},
		"a renewal with no time for a retry": {
			args: []string{"-leader-election.retry-period=5s"},
			want: []string{`-leader-election.renew-deadline=6s: must be more than 1.2 times -leader-election.retry-period, which is 6s`},
		},
		"a lease of a fraction of a second": {
			args: []string{"-leader-election.lease-duration=999ms", "-leader-election.renew-deadline=500ms", "-leader-election.retry-period=100ms"},
			want: []string{`-leader-election.lease-duration="999ms": must be a duration such as 10s or 1m30s, at least 1s`},
		},
		"a lease that ends before its renewal, fractions of a second cut off": {
			args: []string{"-leader-election.lease-duration=6900ms"},
			want: []string{`-leader-election.lease-duration=6s: must be more than -leader-election.renew-deadline, which is 6s`},
		},
		"an unknown flag, and skips its value": {
			args: []string{"-servr.port", "9000", "-workers=4"},
			want: []string{`unknown flag -servr.port: did you mean -server.port? (-h lists all)`},
		},
		"an argument that is no flag": {
			args: []string{"-dry-run", "false"},
			want: []string{`unexpected argument "false": flags begin with a dash, and the value of a switch follows an equals sign`},
		},
		"a flag without its value": {
			args: []string{"-server.port"},
			want: []string{`argument "-server.port": flag needs an argument: -server.port`},
		},
		"malformed flags, and continues after them": {
			args: []string{"---x", "-=", "-workers=0"},
			want: []string{
				`argument "---x": bad flag syntax: ---x`,
				`argument "-=": bad flag syntax: -=`,
				`-workers="0": must be a whole number from 1 to 1024`,
			},
		},
		"a certificate without its key": {
			args: []string{"-server-tls.enabled", "-server-tls.cert-file=c"},
			want: []string{`-server-tls.cert-file and -server-tls.key-file: must be set together`},
		},
		"a CA without a certificate": {
			args: []string{"-server-tls.enabled", "-server-tls.ca-file=c"},
			want: []string{`-server-tls.ca-file: must be set with -server-tls.cert-file; a generated certificate has its own CA`},
		},
		"no certificate at all": {
			args: []string{"-server-tls.enabled", "-server-tls.self-signed-cert.enabled=false"},
			want: []string{`-server-tls.self-signed-cert.enabled=false: requires -server-tls.cert-file and -server-tls.key-file`},
		},
		"a name that no certificate can have": {
			args: []string{"-server-tls.self-signed-cert.dns-name=a.example,B_c", "-server-tls.self-signed-cert.secret-name=X"},
			want: []string{
				`-server-tls.self-signed-cert.dns-name="a.example,B_c": must be comma-separated DNS names and IP addresses, such as lockstep.example.com,10.0.0.1; "B_c" is not one`,
				`-server-tls.self-signed-cert.secret-name="X": must be the name of an object: at most 253 lower case letters, digits, dashes and dots, with a letter or digit at both ends`,
			},
		},
		"an address that is valid on one machine alone": {
			args: []string{"-server-tls.self-signed-cert.dns-name=fe80::1%eth0"},
			want: []string{`-server-tls.self-signed-cert.dns-name="fe80::1%eth0": must be comma-separated DNS names and IP addresses, such as lockstep.example.com,10.0.0.1; "fe80::1%eth0" is not one`},
		},
		"a lifetime that is too short, too long or invalid": {
			args: []string{"-server-tls.self-signed-cert.expiration=9s"},
			env:  []string{"LOCKSTEP_SERVER_TLS_PORT=x"},
			want: []string{
				`-server-tls.self-signed-cert.expiration="9s": must be a duration such as 365d, 4w or 36h, from 10s to 100y`,
				`LOCKSTEP_SERVER_TLS_PORT="x": must be a whole number from 0 to 65535`,
			},
		},
		"a rotation that takes up the life of a certificate": {
			args: []string{"-server-tls.enabled", "-server-tls.self-signed-cert.expiration=3h", "-server-tls.self-signed-cert.propagation=13m"},
			want: []string{`-server-tls.self-signed-cert.propagation=13m0s: must be at most a fifteenth of -server-tls.self-signed-cert.expiration, which is 12m0s`},
		},
		"all problems at once": {
			args: []string{"-nonsense", "-workers=x", "stray", "-server.port=y", "-leader-election.lease-duration=2s"},
			env:  []string{"LOCKSTEP_LOG_FORMAT=xml"},
			want: []string{
				`unknown flag -nonsense (-h lists all)`,
				`unexpected argument "stray": flags begin with a dash, and the value of a switch follows an equals sign`,
				`-workers="x": must be a whole number from 1 to 1024`,
				`-server.port="y": must be a whole number from 0 to 65535`,
				`LOCKSTEP_LOG_FORMAT="xml": must be logfmt or json`,
				`-leader-election.lease-duration=2s: must be more than -leader-election.renew-deadline, which is 6s`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := config.Parse(tc.args, config.Environment{Variables: tc.env})
			if err == nil {
				t.Fatal("no error")
			}
			want, got := sortedLines(tc.want), sortedLines(strings.Split(err.Error(), "\n"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefusesASelectorAsTheAPIServerWould(t *testing.T) {
	_, _, err := config.Parse([]string{"-namespaces.selector=a in b"}, config.Environment{})
	if err == nil || !strings.HasPrefix(err.Error(), `-namespaces.selector="a in b": must be a label selector`) {
		t.Errorf("got %v, want an objection to the selector", err)
	}
}

func TestWhereTheCAIsInjected(t *testing.T) {
	for sentence, tc := range map[string]struct {
		args []string
		want bool
	}{
		"where a certificate is generated":          {[]string{"-server-tls.enabled"}, true},
		"not without webhooks":                      {nil, false},
		"not if another program injects it":         {[]string{"-server-tls.enabled", "-webhooks.update-ca-bundle=false"}, false},
		"not with a certificate from files":         {[]string{"-server-tls.enabled", "-server-tls.cert-file=c", "-server-tls.key-file=k"}, false},
		"with a certificate from files with its CA": {[]string{"-server-tls.enabled", "-server-tls.cert-file=c", "-server-tls.key-file=k", "-server-tls.ca-file=a"}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, _, err := config.Parse(tc.args, config.Environment{})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.InjectsCA(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestNoLifeOfACertificateIsReadWrongly(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1d": 24 * time.Hour, "90m": 90 * time.Minute, "1y": 365 * 24 * time.Hour, "100y": 36500 * 24 * time.Hour, "2w1h": 337 * time.Hour,
		"": 0, "d": 0, "1": 0, "-1d": 0, "1d-1h": 0, "1d1w": 0, "1.5d": 0, "101y": 0, "99999999999y": 0, "1y1": 0, "1000000w": 0,
	} {
		c, _, err := config.Parse([]string{"-server-tls.self-signed-cert.expiration=" + text}, config.Environment{})
		if (err == nil) != (want > 0) || c.ServerTLS.SelfSigned.Expiration != want {
			t.Errorf("%q: got %v, %v; want %v", text, c.ServerTLS.SelfSigned.Expiration, err, want)
		}
	}
}

func TestHelpTakesPrecedence(t *testing.T) {
	for _, h := range []string{"-h", "--help"} {
		_, _, err := config.Parse([]string{"-nonsense", "-server.port=x", h}, config.Environment{})
		if !errors.Is(err, flag.ErrHelp) || err.Error() != flag.ErrHelp.Error() {
			t.Errorf("%s: got %v, want flag.ErrHelp alone", h, err)
		}
	}
}

func TestSettingsParseToTheSameConfig(t *testing.T) {
	want := defaults(func(c *config.Config) {
		c.Kubernetes = config.Kubernetes{APIURL: "https://a:1", ConfigFile: "/f", Namespace: "n"}
		c.DryRun, c.Workers, c.LeaderElection.RetryPeriod = true, 3, 1500*time.Millisecond
		c.ServerTLS.SelfSigned.Names, c.Webhooks.CABundleNames = []string{"a", "b"}, []string{"c"}
	})
	var args []string
	for _, s := range want.Settings() {
		args = append(args, "-"+s.Name+"="+s.Value)
	}
	got, _, err := config.Parse(args, config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func FuzzParseNeverPanicsNorLoops(f *testing.F) {
	f.Add("-server.port=1 -h", "LOCKSTEP_SERVER_PORT=1")
	f.Add("--- -= -- x -use-zone-tracker", "LOCKSTEP_=1")
	f.Fuzz(func(t *testing.T, line, variable string) {
		got, _, err := config.Parse(strings.Fields(line), config.Environment{Variables: []string{variable}})
		if err != nil {
			if diff := cmp.Diff(config.Config{}, got); diff != "" {
				t.Errorf("an unusable command line gave a config:\n%s", diff)
			}
			return
		}
		if got.Namespaces.Selector == "" || got.Workers < 1 || got.Operator.Namespace == "" {
			t.Errorf("%q is not usable and was accepted", line)
		}
	})
}

func lines(warnings []config.Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.String())
	}
	return all
}
