// Package realnode runs nodes of Kubernetes that run containers: containerd, kubelet
// and kube-proxy of each are the upstream programs, in a network of the node's own,
// and one CoreDNS answers all pods.
//
//	API server, CoreDNS ── Gateway ┬─ bridge ── eth0 node-0 ── bridge ── pods 10.244.0.0/24
//	  and the test                 ├─ bridge ── eth0 node-1 ── bridge ── pods 10.244.1.0/24
//	                               └─ ...
//
// It changes the network, mounts and control groups around it, so it belongs into an
// enclosure (package enclosure), and what it starts ends with that. Whoever is in there
// reaches pods at their own addresses.
package realnode
