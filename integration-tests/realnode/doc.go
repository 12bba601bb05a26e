// Package realnode runs nodes of Kubernetes that run containers. The containerd, kubelet and
// kube-proxy of each node are the upstream programs, in a network of the node's own. One CoreDNS
// answers all pods.
//
//	API server, CoreDNS ── Gateway ┬─ bridge ── eth0 node-0 ── bridge ── pods 10.244.0.0/24
//	  and the test                 ├─ bridge ── eth0 node-1 ── bridge ── pods 10.244.1.0/24
//	                               └─ ...
//
// It changes the network, mounts and control groups of its environment. So it must run in an
// enclosure (package enclosure), and its programs end with the enclosure. Programs in the enclosure
// reach pods at their own addresses.
// reaches pods at their own addresses.
package realnode
