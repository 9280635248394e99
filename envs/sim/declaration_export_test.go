package sim

// TypeName is the name of a type in a result.
var TypeName = typeName
