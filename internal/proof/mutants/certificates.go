package mutants

// certificates are mutants about the CA in webhook configurations.
var certificates = []Mutant{
	{
		Name: "CA taken for injected although its patch failed",
		Edits: []Edit{{
			"internal/control/cabundle/controller.go", "\tif err := c.send(ctx, key, patch); err != nil {\n",
			"\tfor i := range found.hooks {\n\t\tfound.hooks[i].client.CABundle = bundle\n\t}\n\tif err := c.send(ctx, key, patch); err != nil {\n",
		}},
		Test: "internal/control/cabundle TestFailedPatchIsRetried", Rule: "tries in ten minutes",
	},
}
