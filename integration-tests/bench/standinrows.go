package main

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/integration-tests/bench/standin"
)

// standInRows are the rows for one number of pods, compared with those for the first number, if there
// is one.
func standInRows(world standin.World, all, first map[string]standInResult) []row {
	groups, each := world.Groups, largeZones*largePods
	memory := map[string]memoryUse{}
	for name, r := range all {
		if name != floorName {
			memory[name] = r.memory
		}
	}
	full := rowOf(fmt.Sprintf("stand-in, %d groups, %d pods: start to full caches", groups, groups*each), "", noGoal, all, fullCell)
	goal, same := "", noGoal
	own := all[lockstepName].writes
	if first != nil {
		goal = fmt.Sprintf("p50 ≤ %.2f × with fewest", maxUnchangedRatio)
		same = verdictOf(median(own) <= mostUnchanged(median(first[lockstepName].writes)))
	}
	rows := append([]row{full}, memoryUseRows(groups*each, groupsPerNamespace*each, memory)...)
	return append(rows, rowOf(fmt.Sprintf("one group changed to first write, p50 / p99 of %d", len(own)), goal, same, all, func(name string, r standInResult) string {
		text := milliseconds(median(r.writes), quantile(r.writes, 0.99))
		if name != floorName {
			text += fmt.Sprintf(" (%.2f)", median(r.writes).Seconds()/max(median(all[floorName].writes).Seconds(), 1e-6))
		}
		return text
	}))
}

func fullCell(name string, r standInResult) string {
	switch {
	case name == floorName:
		return seconds(r.read)
	case r.full == 0:
		return "" // the operator does not report it
	}
	return fmt.Sprintf("%s (%.2f)", seconds(r.full), r.full.Seconds()/r.read.Seconds())
}
