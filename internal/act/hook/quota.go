package hook

// quota counts calls under way. The last ones are kept for namespaces that have
// none, and those of a namespace for its groups that have none: whoever has pods
// that never answer waits for himself.
type quota struct {
	perNamespace int
	perProcess   int
	underway     int
	inNamespace  map[string]int
}

func newQuota(perNamespace, perProcess int) quota {
	return quota{perNamespace: perNamespace, perProcess: perProcess, inNamespace: map[string]int{}}
}

// allows reports whether a group of a namespace, which has calls under way or has none,
// may begin one more.
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

// reserved returns how many of so many places are for those alone who have none.
func reserved(limit int) int { return limit / 8 }
