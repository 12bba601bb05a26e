package config

import "time"

// register is the table of flags: where the value goes, name, default, meaning.
func (c *Config) register(t *table) {
	t.section("Cluster")
	t.add(text(&c.Kubernetes.ConfigFile), "kubernetes.config-file", "", "FILE",
		"Kubeconfig with the cluster to work on. Without one, the service account of the pod is used.").
		or("KUBECONFIG", "`$KUBECONFIG`, else in-cluster")
	t.add(address(&c.Kubernetes.APIURL), "kubernetes.api-url", "", "URL",
		"Address of the API server, instead of the one in the kubeconfig.")
	t.add(namespace(&c.Kubernetes.Namespace), "kubernetes.namespace", "", "NAME",
		"Manage exactly this namespace; it needs no opt-in label, and a Role is enough.")
	t.add(selector(&c.Namespaces.Selector), "namespaces.selector", "lockstep.dev/enabled=true", "SELECTOR",
		"Label selector over Namespace objects: who opted in. Label changes take effect at once, both ways. Ignored with -kubernetes.namespace.")
	t.add(namespace(&c.Operator.Namespace), "operator.namespace", "", "NAME",
		"Home of the operator's own objects: the leader Lease, and the Secret with the webhooks' certificate.").
		or("POD_NAMESPACE", "`$POD_NAMESPACE`, else the service account's, else `"+fallbackNamespace+"`")
	t.add(boolean(&c.PrintAdmissionPolicy), "print-admission-policy", "false", "",
		"Print the ValidatingAdmissionPolicy that fits -namespaces.selector and -operator.namespace, for kubectl apply, and exit. Not beside -kubernetes.namespace, where a Role is the limit.")

	t.section("Work")
	t.add(count(&c.Workers, 1, 1024), "workers", "32", "N",
		"How many groups are worked on at the same time. Waiting occupies no worker.")
	t.add(boolean(&c.DryRun), "dry-run", "false", "",
		"Decide, log, measure and trace, but change nothing in the cluster.")

	t.section("Webhooks")
	t.add(boolean(&c.ServerTLS.Enabled), "server-tls.enabled", "false", "",
		"Serve admission webhooks over TLS.")
	t.add(count(&c.ServerTLS.Port, 0, 65535), "server-tls.port", "8443", "PORT",
		"Port for them; 0 picks a free port and logs it.")
	t.add(duration(&c.ServerTLS.RequestTimeout, time.Millisecond), "server-tls.request-timeout", "10s", "DURATION",
		"How long one request may take; `timeoutSeconds` of the webhook configurations should be the same. Decisions are made within 90% of it. With more than 20s the Deployment needs a longer `terminationGracePeriodSeconds`.")
	t.add(text(&c.ServerTLS.CertFile), "server-tls.cert-file", "", "FILE",
		"Serve this certificate, as PEM with its chain, instead of a generated one. Its content is followed.")
	t.add(text(&c.ServerTLS.KeyFile), "server-tls.key-file", "", "FILE",
		"Key of -server-tls.cert-file.")
	t.add(text(&c.ServerTLS.CAFile), "server-tls.ca-file", "", "FILE",
		"CA of -server-tls.cert-file, for webhook configurations. Without it they are left alone, as with cert-manager.")
	t.add(boolean(&c.ServerTLS.SelfSigned.Enabled), "server-tls.self-signed-cert.enabled", "true", "",
		"Generate a certificate, share it among replicas in a Secret, and renew it. Ignored with -server-tls.cert-file.")
	t.add(object(&c.ServerTLS.SelfSigned.SecretName), "server-tls.self-signed-cert.secret-name", "lockstep-webhook-certificate", "NAME",
		"That Secret, in the namespace -operator.namespace.")
	t.add(hosts(&c.ServerTLS.SelfSigned.Names), "server-tls.self-signed-cert.dns-name", "", "NAMES",
		"DNS names and IP addresses, comma-separated, that the certificate is valid for beside those of the Services.").
		or("", "the Service `lockstep` and those that webhook configurations with the CA name")
	t.add(text(&c.ServerTLS.SelfSigned.Organisation), "server-tls.self-signed-cert.org", "lockstep", "NAME",
		"Organisation that the certificate names.")
	t.add(life(&c.ServerTLS.SelfSigned.Expiration, 10*time.Second), "server-tls.self-signed-cert.expiration", "365d", "DURATION",
		"How long a certificate is valid; it is renewed after two thirds of that. Less than 1h is for tests.")
	t.add(duration(&c.ServerTLS.SelfSigned.Propagation, time.Millisecond), "server-tls.self-signed-cert.propagation", "2m", "DURATION",
		"How long it takes API servers to see a new CA. A renewal waits so long before the new certificate is served, and three times as long before the old CA goes. At most a fifteenth of -server-tls.self-signed-cert.expiration, and shortened to that where it is not set.")
	t.add(boolean(&c.Webhooks.UpdateCABundle), "webhooks.update-ca-bundle", "true", "",
		"Write the CA into webhook configurations that are labelled `lockstep.dev/inject-ca=true`, or `grafana.com/inject-rollout-operator-ca=true` with `grafana.com/namespace` naming a managed namespace.")
	t.add(objects(&c.Webhooks.CABundleNames), "webhooks.ca-bundle-names", "", "NAMES",
		"Write the CA into the webhook configurations with these names, comma-separated, and into no others. RBAC can then be limited to them.")
	t.add(choice(&c.Webhooks.NoDownscaleOnError, "allow", "deny"), "webhooks.no-downscale.on-error", "allow", "ANSWER",
		"What the webhook no-downscale answers when it cannot know whether a decrease is allowed: `allow`, with a warning, or `deny`.")

	t.section("Calls to pods")
	t.add(domain(&c.Pods.ClusterDomain), "kubernetes.cluster-domain", "cluster.local.", "DOMAIN",
		"Domain of the cluster, in the names by which pods are called. They are dialled at their addresses.")
	t.add(limit(&c.Pods.Timeout), "pods.client-timeout", "5s", "DURATION",
		"How long a pod may take to answer one call. Where webhooks are served it is less than -server-tls.request-timeout, and shortened to 90% of that otherwise; so is 0.")
	t.add(duration(&c.Pods.StayEvery, time.Second), "delayed-downscale.cancel-interval", "10m", "DURATION",
		"How often pods of zones with a delayed downscale are told again that they stay.")

	t.section("Leader election")
	t.add(boolean(&c.LeaderElection.Enabled), "leader-election.enabled", "true", "",
		"Let replicas agree by the Lease `lockstep-leader` which of them works.")
	t.add(seconds(&c.LeaderElection.LeaseDuration), "leader-election.lease-duration", "10s", "DURATION",
		"How long the others wait for a leader that has stopped renewing; whole seconds.")
	t.add(duration(&c.LeaderElection.RenewDeadline, time.Millisecond), "leader-election.renew-deadline", "6s", "DURATION",
		"How long a leader tries to renew before it stops working; less than the lease duration.")
	t.add(duration(&c.LeaderElection.RetryPeriod, time.Millisecond), "leader-election.retry-period", "1s", "DURATION",
		"Pause between two attempts to take or renew; 1.2 times this is less than the renew deadline.")

	t.section("Observation")
	t.add(count(&c.Server.Port, 0, 65535), "server.port", "8001", "PORT",
		"Plain HTTP for `/metrics`, `/ready`, `/healthz` and `/debug/...`; 0 picks a free port and logs it.")
	t.add(choice(&c.Log.Format, "logfmt", "json"), "log.format", "logfmt", "FORMAT",
		"How a log line is written: `logfmt` or `json`.")
	t.add(choice(&c.Log.Level, "debug", "info", "warn", "error"), "log.level", "info", "LEVEL",
		"Lowest level that is logged: `debug`, `info`, `warn` or `error`.")
	t.add(boolean(&c.Version), "version", "false", "",
		"Print the version and exit.")
}

// An ignored flag of the predecessor is accepted with any value, so that its
// command line still starts, and answered with one warning.
type ignored struct {
	name string
	bare bool // may stand without a value
	why  string
}

const (
	noTick      = "there is no tick: every change is acted on when it is seen"
	noLimit     = "requests are not limited by the client; API priority and fairness protects the API server"
	noLabels    = "there is no cluster validation"
	noTracker   = "when zones shrank is kept in the Lease of their group, which takes it over from the ConfigMap rollout-operator-zone-tracker and from no other"
	ownLease    = "the Lease of the leader is always lockstep-leader, in the namespace -operator.namespace"
	noLeaderPod = "every replica serves webhooks, so no traffic is led to the leader, and replicas identify themselves"
	ownTimeouts = "every request has a limit of its own, and watches have none"
)

var ignoredFlags = []ignored{
	{"reconcile.interval", false, noTick},
	{"kubernetes.pod-name", false, noLeaderPod},
	{"kubernetes.client-timeout", false, ownTimeouts},
	{"kubernetes.client-qps", false, noLimit},
	{"kubernetes.client-burst", false, noLimit},
	{"leader-election.lease-name", false, ownLease},
	{"server.cluster-validation.http.enabled", true, noLabels},
	{"server.cluster-validation.http.soft-validation", true, noLabels},
	{"server.cluster-validation.http.excluded-paths", false, noLabels},
	{"server.cluster-validation.http.excluded-user-agents", false, noLabels},
	{"use-zone-tracker", true, noTracker},
	{"zone-tracker.config-map-name", false, noTracker},
	{"zpdb.pod-ready-annotation-patch-timeout", false, "readiness is read off the conditions of pods, which get no annotation"},
}
