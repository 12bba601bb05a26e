package plan

// Admission is what the Lease must record before a webhook admits an operation.
type Admission struct {
	Holder Holder // the operation that gets the hold; empty: the hold stays as it is
	Part   Part
}
