package dashboard

// row is a heading with the panels below it.
type row struct {
	title  string
	panels []panel
}

// panel shows the results of queries.
type panel struct {
	title, help string
	shows       kind
	unit        string // a unit name of Grafana
	width       int    // of 24
	queries     []query
}

// kind is a panel type of Grafana.
type kind string

const (
	lines    kind = "timeseries"
	number   kind = "stat"
	list     kind = "table"
	timeline kind = "state-timeline"
)

// query is a PromQL query and the legend of its series.
type query struct {
	expr, legend string
}

func one(expr, legend string) []query { return []query{{expr: expr, legend: legend}} }
