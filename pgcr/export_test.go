package pgcr

// BackendConfig lets a test say what the program links.
var BackendConfig = backendConfig
