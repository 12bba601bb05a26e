package localcluster

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// APIServerOptions describe one more API server of a cluster.
type APIServerOptions struct {
	// Name distinguishes it and its files from the cluster's other API servers. Required.
	Name string

	// Etcd is the address of etcd, usually of a proxy for it (Cluster.EtcdURL). If it is empty, it
	// is etcd itself.
	Etcd string

	// Uncached makes it answer everything from etcd. A watch can then be resumed at any version
	// that was sent, whatever was interrupted meanwhile.
	Uncached bool
}

// ExtraAPIServer is one more API server of a cluster. It ends with the cluster.
type ExtraAPIServer struct {
	config   *rest.Config
	auditLog string
}

// AddAPIServer starts one more API server on the cluster's etcd and returns when it is ready. It
// has the same users and the same certificate as the first one, and writes an audit log of its own.
func (c *Cluster) AddAPIServer(ctx context.Context, options APIServerOptions) (*ExtraAPIServer, error) {
	added, err := c.addAPIServer(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("add API server %s: %w", options.Name, err)
	}
	return added, c.recordProcesses()
}

func (c *Cluster) addAPIServer(ctx context.Context, options APIServerOptions) (*ExtraAPIServer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	programs, err := findPrograms(ctx, []string{APIServer}, c.options.Progress)
	if err != nil {
		return nil, err
	}
	free, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	name := APIServer + "-" + options.Name
	s := &ExtraAPIServer{config: c.AdminConfig(), auditLog: c.room.path(name + ".audit.log")}
	s.config.Host = fmt.Sprintf("https://%s:%d", c.options.Address, free[0])
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	p, err := c.begin(c.command(name, programs[APIServer], c.flagsOfExtra(options, free[0], s.auditLog)))
	if err != nil {
		return nil, err
	}
	ready := func() bool {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil
	}
	return s, poll(ctx, "the API server", ready, p)
}

func (c *Cluster) flagsOfExtra(options APIServerOptions, port int, auditLog string) []string {
	etcd := options.Etcd
	if etcd == "" {
		etcd = c.EtcdURL()
	}
	flags := c.flagsOfAPIServer(etcd, port, auditLog)
	if options.Uncached {
		flags = append(flags, "--watch-cache=false")
	}
	return flags
}

// EtcdURL returns the address of etcd, without TLS.
func (c *Cluster) EtcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcdClient) }

// AdminConfig returns a config with all permissions, like Cluster.AdminConfig.
func (s *ExtraAPIServer) AdminConfig() *rest.Config { return rest.CopyConfig(s.config) }

// AuditLog returns the path of its audit log.
func (s *ExtraAPIServer) AuditLog() string { return s.auditLog }
