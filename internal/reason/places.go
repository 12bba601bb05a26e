package reason

// Place is where a reason that needs a person is seen: a metric that has it as a label,
// or the conditions of budgets.
type Place string

// Places.
const (
	InWaits    Place = "lockstep_group_zone_waiting"
	InRemarks  Place = "lockstep_group_zone_remarks"
	InRefusals Place = "lockstep_group_refusals_total"
	InReviews  Place = "lockstep_admission_reviews_total" // of what belongs to no group, or to none that is known
	InBudgets  Place = "the conditions of ZoneAwarePodDisruptionBudgets"
)

// places are those of each reason that needs a person.
var places = map[Code][]Place{
	Paused:                {InWaits},
	WrongUpdateStrategy:   {InWaits},
	StaleHold:             {InWaits, InRefusals},
	HoldUnreadable:        {InWaits, InRefusals},
	InvalidMaxUnavailable: {InRemarks},
	EmptyGroupName:        {InRemarks},
	RequestForbidden:      {InWaits},
	InvalidPrepareCall:    {InWaits, InRefusals},
	PodOnHostNetwork:      {InWaits, InRefusals},
	InvalidDownscaleTime:  {InWaits, InRefusals},
	DownscaleBarred:       {InWaits, InRefusals, InReviews},
	ObjectUnreadable:      {InReviews, InRefusals},
	ReplicasUnknown:       {InReviews},
	LeaderUnknown:         {InWaits},
	LeaderInCycle:         {InWaits},
	ReplicasForced:        {InRemarks},
	InvalidForceReplicas:  {InRemarks},
	ReferenceMissing:      {InWaits},
	ReferenceKindUnknown:  {InWaits},
	ReferenceForbidden:    {InWaits},
	ReferenceUnreadable:   {InWaits},
	InvalidReference:      {InWaits},
	InvalidDelay:          {InWaits},
	ReplicasOutOfRange:    {InWaits},
	BudgetInvalid:         {InRefusals, InBudgets},
	EvictionsBarred:       {InRefusals},
	SeveralBudgets:        {InRefusals, InBudgets},
	PartitionUnknown:      {InRefusals},
	EvictionUnreadable:    {InReviews},
	NothingCovered:        {InBudgets},
	SeveralGroups:         {InBudgets},
	BudgetsUnread:         {InRemarks},
	InvalidPausedUntil:    {InRemarks},
	PauseOver:             {InRemarks},
	OrdinalsMoved:         {InRefusals},
	GroupChanged:          {InRefusals},
	InvariantViolated:     {InWaits, InRefusals},
}

// Seen returns where a reason is seen that needs a person; none for others, which are
// seen wherever anything is told.
func (e Entry) Seen() []Place { return places[e.Code] }
