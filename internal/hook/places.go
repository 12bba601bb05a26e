package hook

// places counts calls under way. The last ones are kept for namespaces that have
// none, and those of a namespace for its groups that have none: whoever has pods
// that never answer waits for himself.
type places struct {
	perNamespace int
	perProcess   int
	all          int
	namespaces   map[string]int
}

// free tells whether a group of a namespace, which has calls under way or has none,
// may begin one more.
func (p *places) free(namespace string, busy bool) bool {
	limit, own := p.perProcess, p.perNamespace
	if p.namespaces[namespace] > 0 {
		limit -= kept(p.perProcess)
	}
	if busy {
		own -= kept(p.perNamespace)
	}
	return p.all < limit && p.namespaces[namespace] < own
}

func (p *places) take(namespace string) {
	p.all++
	p.namespaces[namespace]++
}

func (p *places) give(namespace string) {
	p.all--
	if p.namespaces[namespace]--; p.namespaces[namespace] == 0 {
		delete(p.namespaces, namespace)
	}
}

// kept returns how many of so many places are for those alone who have none.
func kept(limit int) int { return limit / 8 }
