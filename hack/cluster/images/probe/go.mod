module agentfleet.dev/hack/cluster/probe

go 1.26.0
