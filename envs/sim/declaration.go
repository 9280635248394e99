package sim

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"

	"github.com/contextrec/contextrec/envs"
)

// declaration is a declared value as Go type and JSON, such as
// `baselines.LinUCB {"Alpha":1}`. A pointer declares what it points to. A value
// of which JSON does not tell everything is refused: two settings must never
// share a name.
func declaration(v any) (string, error) {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if field, why := unrecorded(value, ""); why != "" {
		return "", fmt.Errorf("%T cannot be recorded as JSON: %s; a MarshalJSON method that writes all settings would do", v, strings.TrimSpace(field+" "+why))
	}
	text, err := json.Marshal(v)
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) {
		if field, x := notFinite(value, ""); field != "" {
			return "", fmt.Errorf("%T cannot be recorded as JSON: %s is %v", v, field, x)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%T cannot be recorded as JSON: %w", v, err)
	}
	return typeName(value.Type()) + " " + string(text), nil
}

var module = strings.TrimSuffix(reflect.TypeFor[envs.Spec]().PkgPath(), "/envs") + "/"

// typeName is the name of a type with its package: by its path, but for the
// packages of this module, by its last element.
func typeName(t reflect.Type) string {
	if t.Name() == "" || t.PkgPath() == "" || strings.HasPrefix(t.PkgPath(), module) {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// marshals reports whether values of a type write their own JSON.
func marshals(t reflect.Type) bool {
	for _, i := range []reflect.Type{jsonMarshaler, textMarshaler} {
		if t.Implements(i) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}

// unrecorded returns the first field of which the JSON of v does not tell
// everything, and why. A field with the tag `json:"-"` is none of the settings,
// by its declaration.
func unrecorded(v reflect.Value, path string) (field, why string) {
	if !v.IsValid() {
		return "", ""
	}
	if marshals(v.Type()) {
		return promoted(v, path)
	}
	switch v.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return path, fmt.Sprintf("is a %v", v.Type())
	case reflect.Interface:
		return path, fmt.Sprintf("is of the interface type %v, so that its own type is not recorded", v.Type())
	case reflect.Pointer:
		return unrecorded(v.Elem(), path)
	case reflect.Slice, reflect.Array, reflect.Map:
		for below, element := range elements(v, path) {
			if field, why := unrecorded(element, below); why != "" {
				return field, why
			}
		}
	case reflect.Struct:
		return unrecordedField(v, path, map[string]bool{})
	}
	return "", ""
}

// elements are those of a slice, an array or a map, with their paths.
func elements(v reflect.Value, path string) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for key, element := range v.Seq2() {
			if !yield(fmt.Sprintf("%s[%v]", path, key), element) {
				return
			}
		}
	}
}

// unrecordedField is unrecorded of a struct. names are those that JSON has used
// for the struct that v is embedded in, whose fields hide v's.
func unrecordedField(v reflect.Value, path string, names map[string]bool) (field, why string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		below := strings.TrimPrefix(path+"."+f.Name, ".")
		inner := v.Field(i)
		for f.Anonymous && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && name == "" && (!inner.IsValid() || inner.Kind() == reflect.Struct)
		switch {
		case tag == "-":
		case embedded && !inner.IsValid():
		case embedded:
			if field, why := unrecordedField(inner, below, names); why != "" {
				return field, why
			}
		case !f.IsExported():
			return below, "is not exported"
		default:
			if name == "" {
				name = f.Name
			}
			if names[name] {
				return below, "has the name of another field"
			}
			names[name] = true
			if field, why := unrecorded(v.Field(i), below); why != "" {
				return field, why
			}
		}
	}
	return "", ""
}

// promoted finds the field that is left out since a struct has its MarshalJSON
// from one that is embedded, which does not know the others.
func promoted(v reflect.Value, path string) (field, why string) {
	if v.Kind() != reflect.Struct {
		return "", ""
	}
	other := "" // a setting that is not embedded
	for i := range v.NumField() {
		if f := v.Type().Field(i); !(f.Anonymous && marshals(f.Type)) && f.Tag.Get("json") != "-" && f.Name != "_" {
			other = strings.TrimPrefix(path+"."+f.Name, ".")
			break
		}
	}
	if other == "" || !v.CanInterface() {
		return "", ""
	}
	whole, err := json.Marshal(v.Interface())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if err != nil || !f.Anonymous || !f.IsExported() || !marshals(f.Type) {
			continue
		}
		part, err := json.Marshal(v.Field(i).Interface())
		if err == nil && string(part) == string(whole) {
			return other, fmt.Sprintf("is left out by the MarshalJSON of the embedded %v", f.Type)
		}
	}
	return "", ""
}

// notFinite returns the first field of v that is a number which is not finite,
// and the number.
func notFinite(v reflect.Value, path string) (field string, x float64) {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return path, x
		}
	case reflect.Pointer, reflect.Interface:
		return notFinite(v.Elem(), path)
	case reflect.Slice, reflect.Array, reflect.Map:
		for below, element := range elements(v, path) {
			if field, x := notFinite(element, below); field != "" {
				return field, x
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			below := strings.TrimPrefix(path+"."+f.Name, ".")
			if f.Anonymous {
				below = path
			}
			if field, x := notFinite(v.Field(i), below); field != "" {
				return field, x
			}
		}
	}
	return "", 0
}

// isNil reports whether an interface holds nothing, or a pointer to nothing.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}
