package diagnosis

import "time"

// OfFailedCreate returns what the StatefulSet controller said when it could not create a
// pod that does not exist.
func OfFailedCreate(message string, when time.Time) Fact {
	return Fact{
		About: StatefulSet, Says: "the StatefulSet controller could not create the pod at " + at(when) + ": " + quoted(message),
		ToDo: "Correct what refused it: a quota, an admission webhook, a claim.",
	}
}
