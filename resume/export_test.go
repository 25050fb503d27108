package resume

// Read reads a session from memory.
var Read = read
