package main

// failureMutants are what keeps failures from harming others.
var failureMutants = []mutant{
	{
		"a panic ends one request only",
		"internal/adapters/in/http/recover.go",
		`if v := recover(); v != nil {`, `if v := any(nil); v != nil {`,
		"./internal/adapters/in/http", "TestPanic_IsLoggedAndHiddenFromTheClient",
	},
}
