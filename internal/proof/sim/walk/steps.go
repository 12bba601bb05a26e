package walk

// begins runs a step, or makes it wait for its moment.
func (w *walk) begins(s Step) {
	if s.Waits == anytime {
		w.do(s)
		return
	}
	w.waiting = append(w.waiting, s)
}

// do runs a step.
func (w *walk) do(s Step) {
	w.tell(s.what())
	switch {
	case s.Kind < firstFault:
		w.report.Wishes[s.Kind]++
		w.wish(s, w.groups[s.Group])
	case s.Kind <= Churn:
		w.disturb(s, w.groups[s.Group])
	default:
		w.upset(s, w.processes[s.Group])
	}
}
