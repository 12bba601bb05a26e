package config

import "time"

// register adds all flags to the table: destination, name, default, meaning.
func (c *Config) register(t *table) {
	t.section("Cluster")
	t.add(text(&c.Kubernetes.ConfigFile), "kubernetes.config-file", "", "FILE",
		"Kubeconfig of the cluster. Without a kubeconfig, lockstep uses the service account of its pod.").
		or("KUBECONFIG", "`$KUBECONFIG`, else in-cluster")
	t.add(address(&c.Kubernetes.APIURL), "kubernetes.api-url", "", "URL",
		"Address of the API server. It replaces the address in the kubeconfig.")
	t.add(namespace(&c.Kubernetes.Namespace), "kubernetes.namespace", "", "NAME",
		"Manage only this namespace. The namespace needs no opt-in label, and lockstep needs only a Role.")
	t.add(selector(&c.Namespaces.Selector), "namespaces.selector", "lockstep.dev/enabled=true", "SELECTOR",
		"Label selector for the namespaces that opt in. If a label is added or removed, the change takes effect at once. Ignored with -kubernetes.namespace.")
	t.add(namespace(&c.Operator.Namespace), "operator.namespace", "", "NAME",
		"Namespace of lockstep's own objects: the leader Lease and the Secret with the certificate of the webhooks.").
		or("POD_NAMESPACE", "`$POD_NAMESPACE`, else the service account's, else `"+fallbackNamespace+"`")
	t.add(boolean(&c.PrintAdmissionPolicy), "print-admission-policy", "false", "",
		"Print the ValidatingAdmissionPolicy for -namespaces.selector and -operator.namespace, for kubectl apply, and exit. Not allowed with -kubernetes.namespace: there, a Role limits lockstep.")

	t.section("Work")
	t.add(count(&c.Workers, 1, 1024), "workers", "32", "N",
		"Number of groups that lockstep reconciles at the same time. A group that waits occupies no worker.")
	t.add(boolean(&c.DryRun), "dry-run", "false", "",
		"Plan, log, measure and trace, but change nothing in the cluster.")

	t.section("Webhooks")
	t.add(boolean(&c.ServerTLS.Enabled), "server-tls.enabled", "false", "",
		"Serve admission webhooks over TLS.")
	t.add(count(&c.ServerTLS.Port, 0, 65535), "server-tls.port", "8443", "PORT",
		"Port of the webhooks. 0 chooses a free port and logs it.")
	t.add(duration(&c.ServerTLS.RequestTimeout, time.Millisecond), "server-tls.request-timeout", "10s", "DURATION",
		"Time limit for one request. Set `timeoutSeconds` of the webhook configurations to the same time. lockstep answers within 90% of it. If it is more than 20s, the Deployment needs a longer `terminationGracePeriodSeconds`.")
	t.add(text(&c.ServerTLS.CertFile), "server-tls.cert-file", "", "FILE",
		"Certificate to serve instead of a generated one, in PEM format with its chain. lockstep reloads the file when it changes.")
	t.add(text(&c.ServerTLS.KeyFile), "server-tls.key-file", "", "FILE",
		"Private key of -server-tls.cert-file.")
	t.add(text(&c.ServerTLS.CAFile), "server-tls.ca-file", "", "FILE",
		"CA of -server-tls.cert-file. lockstep writes it into the webhook configurations. Without this flag lockstep does not change them, for instance because cert-manager does.")
	t.add(boolean(&c.ServerTLS.SelfSigned.Enabled), "server-tls.self-signed-cert.enabled", "true", "",
		"Generate a certificate, share it between replicas in a Secret, and renew it. Ignored with -server-tls.cert-file.")
	t.add(object(&c.ServerTLS.SelfSigned.SecretName), "server-tls.self-signed-cert.secret-name", "lockstep-webhook-certificate", "NAME",
		"Name of the Secret with the generated certificate, in the namespace -operator.namespace.")
	t.add(hosts(&c.ServerTLS.SelfSigned.Names), "server-tls.self-signed-cert.dns-name", "", "NAMES",
		"Additional DNS names and IP addresses of the certificate, comma-separated.").
		or("", "the names of the Service `lockstep` and of the Services in webhook configurations with the CA")
	t.add(text(&c.ServerTLS.SelfSigned.Organisation), "server-tls.self-signed-cert.org", "lockstep", "NAME",
		"Organisation in the certificate.")
	t.add(life(&c.ServerTLS.SelfSigned.Expiration, 10*time.Second), "server-tls.self-signed-cert.expiration", "365d", "DURATION",
		"How long a certificate is valid. lockstep renews it after two thirds of this time. Less than 1h is only for tests.")
	t.add(duration(&c.ServerTLS.SelfSigned.Propagation, time.Millisecond), "server-tls.self-signed-cert.propagation", "2m", "DURATION",
		"How long API servers take to read a new CA. A renewal waits this time before lockstep serves the new certificate, and three times as long before it removes the old CA. At most a fifteenth of -server-tls.self-signed-cert.expiration; if the flag is not set, lockstep shortens the default to that.")
	t.add(boolean(&c.Webhooks.UpdateCABundle), "webhooks.update-ca-bundle", "true", "",
		"Write the CA into webhook configurations with the label `lockstep.dev/inject-ca=true`, or with the label `grafana.com/inject-rollout-operator-ca=true` and a managed namespace in the label `grafana.com/namespace`.")
	t.add(objects(&c.Webhooks.CABundleNames), "webhooks.ca-bundle-names", "", "NAMES",
		"Write the CA only into the webhook configurations with these names, comma-separated. RBAC can then grant access to these alone.")
	t.add(choice(&c.Webhooks.NoDownscaleOnError, "allow", "deny"), "webhooks.no-downscale.on-error", "allow", "ANSWER",
		"Answer of the webhook no-downscale if it cannot find out whether a downscale is allowed: `allow`, with a warning, or `deny`.")

	t.section("Further kinds")
	t.add(boolean(&c.StatefulCluster), "statefulcluster.enabled", "false", "",
		"Work on StatefulClusters. This needs the permissions of manifests/statefulcluster.")

	t.section("Calls to pods")
	t.add(domain(&c.Pods.ClusterDomain), "kubernetes.cluster-domain", "cluster.local.", "DOMAIN",
		"DNS domain of the cluster, for the host names in calls to pods. lockstep connects to the pods' addresses without DNS.")
	t.add(limit(&c.Pods.Timeout), "pods.client-timeout", "5s", "DURATION",
		"Time limit for one call to a pod. If lockstep serves webhooks, it must be less than -server-tls.request-timeout; otherwise lockstep shortens it to 90% of that. 0 means 90% of that.")
	t.add(duration(&c.Pods.StayEvery, time.Second), "delayed-downscale.cancel-interval", "10m", "DURATION",
		"How often lockstep notifies pods again that they stay, in zones with delayed downscales.")

	t.section("Leader election")
	t.add(boolean(&c.LeaderElection.Enabled), "leader-election.enabled", "true", "",
		"Elect one leader among the replicas, by the Lease `lockstep-leader`. Only the leader works on groups.")
	t.add(seconds(&c.LeaderElection.LeaseDuration), "leader-election.lease-duration", "10s", "DURATION",
		"How long the other replicas wait after the leader has stopped renewing its Lease, in whole seconds.")
	t.add(duration(&c.LeaderElection.RenewDeadline, time.Millisecond), "leader-election.renew-deadline", "6s", "DURATION",
		"How long the leader tries to renew its Lease before it stops its work. Less than the lease duration.")
	t.add(duration(&c.LeaderElection.RetryPeriod, time.Millisecond), "leader-election.retry-period", "1s", "DURATION",
		"Pause between two attempts to acquire or renew the Lease. 1.2 times this pause must be less than the renew deadline.")

	t.section("Observation")
	t.add(count(&c.Server.Port, 0, 65535), "server.port", "8001", "PORT",
		"Port for `/metrics`, `/ready`, `/healthz` and `/debug/...`, over plain HTTP. 0 chooses a free port and logs it.")
	t.add(choice(&c.Log.Format, "logfmt", "json"), "log.format", "logfmt", "FORMAT",
		"Format of the log: `logfmt` or `json`.")
	t.add(choice(&c.Log.Level, "debug", "info", "warn", "error"), "log.level", "info", "LEVEL",
		"Lowest level of the log: `debug`, `info`, `warn` or `error`.")
	t.add(boolean(&c.Version), "version", "false", "",
		"Print the version and exit.")
}

// An ignored flag of the predecessor is accepted with any value, so that the predecessor's
// command line still works. It causes one warning.
type ignored struct {
	name string
	bare bool // may be given without a value
	why  string
}

const (
	noTick      = "lockstep reconciles a group when an event arrives or a timer ends, not at an interval"
	noLimit     = "lockstep does not limit its rate of requests; API Priority and Fairness protects the API server"
	noLabels    = "lockstep has no cluster validation"
	noTracker   = "the times of downscales are in the Lease of the group; lockstep imports them only from the ConfigMap rollout-operator-zone-tracker"
	ownLease    = "the leader Lease is always lockstep-leader, in the namespace -operator.namespace"
	noLeaderPod = "every replica serves webhooks, so no traffic is routed to the leader, and each replica chooses its own identity"
	ownTimeouts = "every request has its own timeout, and watches have none"
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
	{"zpdb.pod-ready-annotation-patch-timeout", false, "lockstep reads readiness from the conditions of pods and does not annotate them"},
}
