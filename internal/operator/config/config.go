// Package config turns the command line and the environment into one plain
// struct, and describes itself: the help text and docs/configuration.md come
// from the same table as the flags.
//
// It reads no file, no environment and no clock: the caller hands in
// what there is. Beside the standard library it uses apimachinery's parsers for
// label selectors and names, so that a value is accepted here exactly when the
// API server accepts it. Only cmd and operator import it; every other part
// gets the few values it needs from them.
package config

import "time"

// Config is everything a person can set. Parse returns it complete and valid.
type Config struct {
	Kubernetes     Kubernetes
	Namespaces     Namespaces
	Operator       Operator
	Server         Server
	ServerTLS      ServerTLS
	Webhooks       Webhooks
	Pods           Pods
	LeaderElection LeaderElection
	Log            Log

	Workers int  // how many groups are worked on at the same time
	DryRun  bool // decide, log, measure and trace, but change nothing
	Version bool // print the version and end

	PrintAdmissionPolicy bool // print the ValidatingAdmissionPolicy that fits and end
}

// Kubernetes says which cluster, and how much of it.
type Kubernetes struct {
	// APIURL replaces the server address of the configuration file; usually empty.
	APIURL string
	// ConfigFile is a kubeconfig, or several joined as $KUBECONFIG allows; empty
	// means the service account of the pod.
	ConfigFile string
	// Namespace is the only namespace to manage; empty means every namespace
	// that opted in.
	Namespace string
}

// Single reports whether exactly one namespace is managed, without any opt-in.
func (k Kubernetes) Single() bool { return k.Namespace != "" }

// Namespaces says who opted in.
type Namespaces struct {
	// Selector is a label selector over Namespace objects, never empty. It has no
	// meaning when a single namespace is managed.
	Selector string
}

// Operator is about the operator's own objects.
type Operator struct {
	// Namespace is the home of the leader Lease and of the certificate's Secret, never
	// empty.
	Namespace string
}

// Server is the listener for people and for Prometheus.
type Server struct {
	Port int // 0 to 65535; 0 picks a free one
}

// ServerTLS is the listener for admission webhooks.
type ServerTLS struct {
	Enabled        bool
	Port           int           // 0 to 65535; 0 picks a free one
	RequestTimeout time.Duration // of a request as a whole
	CertFile       string        // with KeyFile, or both are empty
	KeyFile        string
	CAFile         string // what clients of CertFile should trust; may be empty
	SelfSigned     SelfSigned
}

// OwnFiles reports whether a certificate of one's own is served instead of a
// generated one.
func (s ServerTLS) OwnFiles() bool { return s.CertFile != "" }

// SelfSigned is about the certificate that lockstep generates.
type SelfSigned struct {
	Enabled      bool // false only beside files of one's own
	SecretName   string
	Names        []string // DNS names and IP addresses beside that of the Service
	Organisation string
	Expiration   time.Duration
	Propagation  time.Duration // at most a fifteenth of Expiration
}

// Pods is about calls to pods.
type Pods struct {
	ClusterDomain string
	Timeout       time.Duration // of one call; where webhooks are served, less than ServerTLS.RequestTimeout
	StayEvery     time.Duration // how often those that stay are told so, in zones with a delay
}

// Webhooks is about the configurations that make API servers call us.
type Webhooks struct {
	// UpdateCABundle says that they get the CA. It has no meaning beside a
	// certificate of one's own without CAFile.
	UpdateCABundle bool
	// NoDownscaleOnError is allow or deny.
	NoDownscaleOnError string
	// CABundleNames are those that get it, whatever their labels; empty: those that
	// are labelled for it.
	CABundleNames []string
}

// InjectsCA reports whether webhook configurations get the CA.
func (c Config) InjectsCA() bool {
	return c.ServerTLS.Enabled && c.Webhooks.UpdateCABundle && (!c.ServerTLS.OwnFiles() || c.ServerTLS.CAFile != "")
}

// LeaderElection says how replicas agree on who works. When enabled,
// LeaseDuration > RenewDeadline > 1.2 × RetryPeriod holds, as client-go demands.
type LeaderElection struct {
	Enabled       bool
	LeaseDuration time.Duration // whole seconds
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// Log says how much is logged, and how it is written.
type Log struct {
	Format string // logfmt or json
	Level  string // debug, info, warn or error
}

// Environment is what surrounds the process, as far as defaults depend on it.
type Environment struct {
	// Variables has the form of os.Environ: NAME=value.
	Variables []string
	// ServiceAccountNamespace is the content of ServiceAccountNamespaceFile;
	// empty outside of a cluster.
	ServiceAccountNamespace string
}

// ServiceAccountNamespaceFile is where Kubernetes tells a pod its namespace.
const ServiceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// fallbackNamespace is where the manifests install the operator.
const fallbackNamespace = "lockstep-system"
