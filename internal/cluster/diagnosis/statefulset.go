package diagnosis

import "time"

// OfFailedCreate returns the message of the StatefulSet controller about a pod that it could not
// create.
func OfFailedCreate(message string, when time.Time) Fact {
	return Fact{
		About: StatefulSet, Says: "the StatefulSet controller could not create the pod at " + at(when) + ": " + quoted(message),
		ToDo: "Correct what refused the pod: a quota, an admission webhook, a claim.",
	}
}
