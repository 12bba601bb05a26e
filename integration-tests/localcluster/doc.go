// Package localcluster runs a real Kubernetes control plane on this machine, from
// packages alone: etcd, the API server and the controller manager are the upstream
// programs, built once from the module next door (controlplane); kwok plays the
// kubelets, so pods become Ready, crash or take their time as their annotations
// say, but no container ever runs.
//
// It also builds and runs the operator under test as a process of its own.
//
// Nothing here needs root, a container engine or a network. Everything it starts
// ends with the process that started it, however that process ends, unless the
// cluster was asked to stay (Options.Detached). It never judges what it runs: that
// is for the tests.
package localcluster
