package pool

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// FillsPlace reports whether an action creates pods, or completes one.
func FillsPlace(a plan.Action) bool {
	switch a.(type) {
	case CreatePods, CompletePod:
		return true
	}
	return false
}

// FillingPlaces returns the actions of a plan that fill places and for which the caches suffice. They need not wait for the live read
// that other actions need.
func FillingPlaces(steps []plan.Action) []plan.Action {
	return slices.DeleteFunc(plan.In(plan.WithoutHold, steps), func(a plan.Action) bool { return !FillsPlace(a) || a.Effect().Read != plan.OnCaches })
}

// TakesPlace reports whether an action lets a new identity keep its place. The hold must be as the plan has seen it, after the pods that the
// plan has seen: otherwise the place may be that of an identity which is being handed over (ADR 51).
func TakesPlace(a plan.Action) bool {
	complete, is := a.(CompletePod)
	return is && complete.From == ""
}
