package main

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/integration-tests/bench/standin"
)

// standInRows has the floor's and everybody's figures for one number of pods, beside
// those for the first one, if there is any.
func standInRows(world standin.World, all, first map[string]reaction) []row {
	groups, each := world.Groups, largeZones*largePods
	memory := map[string]occupied{}
	for name, r := range all {
		if name != floorName {
			memory[name] = r.memory
		}
	}
	full := rowOf(fmt.Sprintf("stand-in, %d groups, %d pods: start to full caches", groups, groups*each), "", unasked, all, fullCell)
	goal, same := "", unasked
	own := all[lockstepName].writes
	if first != nil {
		goal = fmt.Sprintf("p50 ≤ %.2f × with fewest", mostTimesAlone)
		same = verdictOf(median(own) <= times(mostTimesAlone, median(first[lockstepName].writes)))
	}
	rows := append([]row{full}, occupiedRows(groups*each, groupsPerNamespace*each, memory)...)
	return append(rows, rowOf(fmt.Sprintf("one group changed to first write, p50 / p99 of %d", len(own)), goal, same, all, func(name string, r reaction) string {
		text := milliseconds(median(r.writes), quantile(r.writes, 0.99))
		if name != floorName {
			text += fmt.Sprintf(" (%.2f)", median(r.writes).Seconds()/max(median(all[floorName].writes).Seconds(), 1e-6))
		}
		return text
	}))
}

func fullCell(name string, r reaction) string {
	switch {
	case name == floorName:
		return seconds(r.read)
	case r.full == 0:
		return "" // it does not tell
	}
	return fmt.Sprintf("%s (%.2f)", seconds(r.full), r.full.Seconds()/r.read.Seconds())
}
