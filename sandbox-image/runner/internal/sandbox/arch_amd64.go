package sandbox

// native is the architecture that this runner is built for.
var native = amd64
