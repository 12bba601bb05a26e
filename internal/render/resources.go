package render

import "github.com/lockstep-dev/lockstep/internal/plan/pool"

// changedResources returns the resources of containers that have others before, if they can be changed in place: cpu and
// memory that the container had before.
func changedResources(from, to object) map[string]pool.Resources {
	before, changed := resources(from), map[string]pool.Resources{}
	for name, after := range resources(to) {
		if was, had := before[name]; had && after != was && sameFields(was, after) {
			changed[name] = after
		}
	}
	return changed
}

func sameFields(a, b pool.Resources) bool {
	has := func(r pool.Resources) [4]bool {
		return [4]bool{r.CPURequest != "", r.MemoryRequest != "", r.CPULimit != "", r.MemoryLimit != ""}
	}
	return has(a) == has(b)
}

// resources returns the resources of the containers by their names.
func resources(pod object) map[string]pool.Resources {
	found := map[string]pool.Resources{}
	for _, c := range containers(pod, "containers") {
		name, _ := c["name"].(string)
		of, _ := c["resources"].(object)
		requests, _ := of["requests"].(object)
		limits, _ := of["limits"].(object)
		var r pool.Resources
		r.CPURequest, _ = requests["cpu"].(string)
		r.MemoryRequest, _ = requests["memory"].(string)
		r.CPULimit, _ = limits["cpu"].(string)
		r.MemoryLimit, _ = limits["memory"].(string)
		found[name] = r
	}
	return found
}

// withoutResources removes from a pod the resources of containers that can be changed in place.
func withoutResources(pod object, of map[string]pool.Resources) {
	for _, c := range containers(pod, "containers") {
		name, _ := c["name"].(string)
		if _, changes := of[name]; !changes {
			continue
		}
		r, _ := c["resources"].(object)
		for _, field := range []string{"requests", "limits"} {
			values, _ := r[field].(object)
			delete(values, "cpu")
			delete(values, "memory")
		}
	}
}

// qualityOf returns the quality of service class of a pod, which never changes.
func qualityOf(pod object) any {
	status, _ := pod["status"].(object)
	return status["qosClass"]
}
