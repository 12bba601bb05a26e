// Package localcluster runs a real Kubernetes control plane on this machine, from packages alone.
// etcd, the API server and the controller manager are the upstream programs, built once from the
// neighboring module controlplane. kwok plays the kubelets: pods become Ready, crash or are slow
// according to their annotations, but no container ever runs.
//
// It also builds the operator under test and runs it as a separate process.
//
// Nothing here needs root, a container engine or a network. Every program that it starts ends with
// the process that started it, however that process ends, unless the cluster is to stay
// (Options.Detached). The package judges nothing; the tests do.
package localcluster
