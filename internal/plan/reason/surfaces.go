package reason

// Surface is where users see a reason that needs a person: a metric that has it as a
// label, or the conditions of budgets.
type Surface string

// Surfaces.
const (
	InWaits    Surface = "lockstep_group_zone_waiting"
	InRemarks  Surface = "lockstep_group_zone_remarks"
	InRefusals Surface = "lockstep_group_refusals_total"
	InReviews  Surface = "lockstep_admission_reviews_total" // for objects of no group, or of no known group
	InPools    Surface = "lockstep_statefulcluster_waiting"
	InBudgets  Surface = "the conditions of ZoneAwarePodDisruptionBudgets"
	InStatus   Surface = "the condition SpecValid of StatefulClusters"
)

// surfaces has the surfaces of each reason that needs a person.
var surfaces = map[Code][]Surface{
	Paused:                {InWaits},
	WrongUpdateStrategy:   {InWaits},
	StaleHold:             {InWaits, InRefusals},
	HoldUnreadable:        {InWaits, InPools, InRefusals},
	InvalidMaxUnavailable: {InRemarks},
	EmptyGroupName:        {InRemarks},
	RequestForbidden:      {InWaits, InPools},
	InvalidPrepareCall:    {InWaits, InRefusals},
	PodOnHostNetwork:      {InWaits, InRefusals},
	InvalidDownscaleTime:  {InWaits, InRefusals},
	DownscaleNotAllowed:   {InWaits, InRefusals, InReviews},
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
	EvictionsNotAllowed:   {InRefusals},
	SeveralBudgets:        {InRefusals, InBudgets},
	PartitionUnknown:      {InRefusals},
	EvictionUnreadable:    {InReviews},
	NoPodsCovered:         {InBudgets},
	SeveralGroups:         {InBudgets},
	BudgetsUnread:         {InRemarks},
	InvalidPausedUntil:    {InRemarks, InStatus},
	PauseExpired:          {InRemarks, InStatus},
	OrdinalsChanged:       {InRefusals},
	GroupChanged:          {InRefusals},
	NoEffect:              {InRemarks, InStatus},
	InvalidGroup:          {InRemarks},
	ZoneLeftGroup:         {InWaits, InRemarks, InRefusals},
	ReplicasContested:     {InWaits, InRemarks},
	TemplateInvalid:       {InPools},
	InPlaceImpossible:     {InPools},
	TooManyUnhealthy:      {InPools},
	ExpansionRefused:      {InPools},
	GraceUnavailable:      {InStatus},
	CreationPrevented:     {InPools},

	ProgressDeadlineExceeded: {InPools},
	InvariantViolated:        {InWaits, InPools, InRefusals},
}

// Seen returns where users see a reason that needs a person. It returns none for other
// reasons, which can be in every output.
func (e Entry) Seen() []Surface { return surfaces[e.Code] }
