package realnode

import "fmt"

// kubeletConfig returns a configuration for a machine with other uses. It uses only the node's
// folder and control group, and accepts calls without authentication.
func (n *Node) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: %s
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://%s
clusterDNS: [%s]
clusterDomain: cluster.local
resolvConf: ""
podLogsDir: %s
volumePluginDir: %s
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi}
`, n.address(), n.controlGroup, n.socket(), Gateway, n.path("pods"), n.path("plugins"))
}
