package dashboard

import "encoding/json"

// object is a JSON object of Grafana.
type object map[string]any

const (
	across = 24 // units of width
	high   = 8  // units of height of a panel
)

// source is the data source that the variable selects.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// JSON returns the dashboard in the format that Grafana imports.
func JSON() ([]byte, error) {
	text, err := json.MarshalIndent(object{
		"uid": "lockstep", "title": "lockstep", "tags": []string{"lockstep", "kubernetes"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1,
		"refresh": "30s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "",
		"annotations": object{"list": []object{}}, "links": []object{},
		"templating": object{"list": variables()},
		"panels":     panels(),
	}, "", "  ")
	return append(text, '\n'), err
}

func variables() []object {
	choice := func(name, label, query string) object {
		return object{
			"name": name, "label": label, "type": "query", "datasource": source, "query": object{"query": query, "refId": name},
			"definition": query, "refresh": 2, "sort": 1, "includeAll": true, "multi": true, "allValue": ".*",
			"current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
		}
	}
	return []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1, "current": object{}},
		choice("namespace", "Namespace", "label_values(lockstep_group_reconciles_total, namespace)"),
		choice("group", "Group", `label_values(lockstep_group_reconciles_total{namespace=~"$namespace"}, group)`),
	}
}

// panels returns the panels of all rows, placed from left to right and from top to bottom.
func panels() []object {
	var all []object
	y := 0
	add := func(panel object, x, width, height int) {
		panel["id"] = len(all) + 1
		panel["gridPos"] = object{"x": x, "y": y, "w": width, "h": height}
		all = append(all, panel)
	}
	for _, r := range rows {
		add(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}}, 0, across, 1)
		y++
		x := 0
		for _, p := range r.panels {
			if x+p.width > across {
				x, y = 0, y+high
			}
			add(p.object(), x, p.width, high)
			x += p.width
		}
		y += high
	}
	return all
}

func (p panel) object() object {
	var targets []object
	for i, q := range p.queries {
		target := object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "legendFormat": q.legend, "range": true}
		if p.shows == list {
			target["format"], target["instant"], target["range"] = "table", true, false
		}
		if p.shows == lines {
			target["exemplar"] = true
		}
		targets = append(targets, target)
	}
	shown := object{
		"type": string(p.shows), "title": p.title, "description": p.help, "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []object{}}, "options": object{},
	}
	if p.shows == list {
		shown["transformations"] = []object{{"id": "organize", "options": object{"excludeByName": object{"Time": true, "Value": true}}}}
	}
	return shown
}
