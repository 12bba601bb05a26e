package lease

// Remembered returns for how many groups a Store keeps something beyond its cache.
func (s *Store) Remembered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.written), len(s.ages), len(s.renewals), len(s.records))
}
