module agentfleet.dev/test/tryer

go 1.26
