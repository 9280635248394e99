// Package group ends a program together with all that it has started. A program that
// was started with the attributes [Own] is the first of a group, and its number is
// the group's.
package group
