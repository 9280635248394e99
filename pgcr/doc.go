package pgcr
