package dashboard

// row is a heading with the panels below it.
type row struct {
	title  string
	panels []panel
}

// panel shows what some queries give.
type panel struct {
	title, help string
	shows       kind
	unit        string // in Grafana's words
	width       int    // of 24
	queries     []query
}

// kind is one of Grafana's panels.
type kind string

const (
	lines    kind = "timeseries"
	number   kind = "stat"
	list     kind = "table"
	timeline kind = "state-timeline"
)

// query is PromQL, and what its series are called.
type query struct {
	expr, legend string
}

func one(expr, legend string) []query { return []query{{expr: expr, legend: legend}} }
