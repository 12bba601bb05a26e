package pool

// index finds the pods and claims of a snapshot without a search. It is made once for each plan, of a copy that does not
// change.
type index struct {
	pods   map[string]int // by name; the first one
	lives  map[ID]bool    // identities whose label a pod has
	claims map[ID][]int   // of the object
	former map[ID][]int   // claims of other objects, such as an earlier one of the name
}

func indexOf(s *Snapshot) *index {
	x := &index{pods: make(map[string]int, len(s.Pods)), lives: make(map[ID]bool, len(s.Pods)), claims: make(map[ID][]int, len(s.Claims)), former: map[ID][]int{}}
	for i := range s.Pods {
		p := &s.Pods[i]
		if _, known := x.pods[p.Name]; !known {
			x.pods[p.Name] = i
		}
		x.lives[p.ID] = true
	}
	for i := range s.Claims {
		of := x.former
		if s.Claims[i].Pool == s.Object.UID {
			of = x.claims
		}
		of[s.Claims[i].ID] = append(of[s.Claims[i].ID], i)
	}
	return x
}
