package podcalls

// quota counts calls in progress. The last places are reserved for namespaces without calls, and within a
// namespace for groups without calls. A namespace or group whose pods never answer therefore delays only
// itself.
type quota struct {
	perNamespace int
	perProcess   int
	underway     int
	inNamespace  map[string]int
}

func newQuota(perNamespace, perProcess int) quota {
	return quota{perNamespace: perNamespace, perProcess: perProcess, inNamespace: map[string]int{}}
}

// allows reports whether a group of a namespace may begin one more call. busy means that the group has calls
// in progress.
func (q *quota) allows(namespace string, busy bool) bool {
	limit, own := q.perProcess, q.perNamespace
	if q.inNamespace[namespace] > 0 {
		limit -= reserved(q.perProcess)
	}
	if busy {
		own -= reserved(q.perNamespace)
	}
	return q.underway < limit && q.inNamespace[namespace] < own
}

func (q *quota) take(namespace string) {
	q.underway++
	q.inNamespace[namespace]++
}

func (q *quota) give(namespace string) {
	q.underway--
	if q.inNamespace[namespace]--; q.inNamespace[namespace] == 0 {
		delete(q.inNamespace, namespace)
	}
}

// reserved returns how many places are reserved for namespaces or groups without calls.
func reserved(limit int) int { return limit / 8 }
