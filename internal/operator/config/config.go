// Package config parses the command line and the environment into one struct, and documents
// itself: the help text and docs/configuration.md are generated from the table of the flags.
//
// It reads no file, no environment and no clock: the caller passes their content. In addition to
// the standard library it uses apimachinery's parsers for label selectors and names, so that it
// accepts exactly the values that the API server accepts. Only cmd and operator import it; they
// pass single values to all other parts.
package config

import "time"

// Config contains everything that a user can set. Parse returns a complete and valid Config.
type Config struct {
	Kubernetes      Kubernetes
	Namespaces      Namespaces
	Operator        Operator
	Server          Server
	ServerTLS       ServerTLS
	Webhooks        Webhooks
	StatefulCluster bool // whether the kind is enabled
	Pods            Pods
	LeaderElection  LeaderElection
	Log             Log

	Workers int  // number of groups that are reconciled at the same time
	DryRun  bool // decide, log, measure and trace, but change nothing
	Version bool // print the version and exit

	PrintAdmissionPolicy bool // print the ValidatingAdmissionPolicy that fits and exit
}

// Kubernetes selects the cluster and the namespaces.
type Kubernetes struct {
	// APIURL replaces the server address of the configuration file; usually empty.
	APIURL string
	// ConfigFile is a kubeconfig, or several joined as $KUBECONFIG allows; empty
	// means the service account of the pod.
	ConfigFile string
	// Namespace is the only namespace to manage. If it is empty, lockstep manages every namespace
	// that opted in.
	Namespace string
}

// Single reports whether exactly one namespace is managed, without any opt-in.
func (k Kubernetes) Single() bool { return k.Namespace != "" }

// Namespaces configures how namespaces opt in.
type Namespaces struct {
	// Selector is a label selector for Namespace objects. It is never empty. It has no effect if
	// a single namespace is managed.
	Selector string
}

// Operator configures the operator's own objects.
type Operator struct {
	// Namespace contains the leader Lease and the certificate's Secret. It is never empty.
	Namespace string
}

// Server configures the listener for people and for Prometheus.
type Server struct {
	Port int // 0 to 65535; 0 chooses a free one
}

// ServerTLS configures the listener for admission webhooks.
type ServerTLS struct {
	Enabled        bool
	Port           int           // 0 to 65535; 0 chooses a free one
	RequestTimeout time.Duration // of an entire request
	CertFile       string        // set together with KeyFile, or empty
	KeyFile        string
	CAFile         string // the CA that clients of CertFile should trust; may be empty
	SelfSigned     SelfSigned
}

// OwnFiles reports whether lockstep serves a certificate from files instead of a generated one.
func (s ServerTLS) OwnFiles() bool { return s.CertFile != "" }

// SelfSigned configures the certificate that lockstep generates.
type SelfSigned struct {
	Enabled      bool // false requires a certificate from files
	SecretName   string
	Names        []string // DNS names and IP addresses in addition to that of the Service
	Organisation string
	Expiration   time.Duration
	Propagation  time.Duration // at most a fifteenth of Expiration
}

// Pods configures calls to pods.
type Pods struct {
	ClusterDomain string
	Timeout       time.Duration // of one call; with webhooks, less than ServerTLS.RequestTimeout
	StayEvery     time.Duration // interval of notifications to pods that stay, in zones with a delay
}

// Webhooks configures the webhook configurations by which API servers call lockstep.
type Webhooks struct {
	// UpdateCABundle makes lockstep write the CA into them. It has no effect with a certificate
	// from files without CAFile.
	UpdateCABundle bool
	// NoDownscaleOnError is allow or deny.
	NoDownscaleOnError string
	// CABundleNames are the configurations that get the CA, whatever their labels. If it is
	// empty, labelled configurations get it.
	CABundleNames []string
}

// InjectsCA reports whether lockstep writes the CA into webhook configurations.
func (c Config) InjectsCA() bool {
	return c.ServerTLS.Enabled && c.Webhooks.UpdateCABundle && (!c.ServerTLS.OwnFiles() || c.ServerTLS.CAFile != "")
}

// LeaderElection configures the election of the active replica. If it is enabled, LeaseDuration >
// RenewDeadline > 1.2 × RetryPeriod holds, as client-go requires.
type LeaderElection struct {
	Enabled       bool
	LeaseDuration time.Duration // whole seconds
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// Log configures the level and the format of the log.
type Log struct {
	Format string // logfmt or json
	Level  string // debug, info, warn or error
}

// Environment is the environment of the process, as far as defaults depend on it.
type Environment struct {
	// Variables has the form of os.Environ: NAME=value.
	Variables []string
	// ServiceAccountNamespace is the content of ServiceAccountNamespaceFile;
	// empty outside of a cluster.
	ServiceAccountNamespace string
}

// ServiceAccountNamespaceFile is the file in which Kubernetes provides the namespace of a pod.
const ServiceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// fallbackNamespace is the namespace into which the manifests install the operator.
const fallbackNamespace = "lockstep-system"
