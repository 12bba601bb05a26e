package walk

// startStep runs a step, or makes it wait for its trigger.
func (w *walk) startStep(s Step) {
	if s.Trigger == noTrigger {
		w.runStep(s)
		return
	}
	w.waitingSteps = append(w.waitingSteps, s)
}

// runStep runs a step.
func (w *walk) runStep(s Step) {
	w.traceAll(s.describe())
	switch {
	case s.Kind < firstFault:
		w.report.UserActions[s.Kind]++
		w.runUserAction(s, w.groups[s.Group])
	case s.Kind <= UpdatePod:
		w.podFault(s, w.groups[s.Group])
	default:
		w.processFault(s, w.processes[s.Group])
	}
}
