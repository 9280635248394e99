package kkbox

import (
	"math"
	"sync/atomic"
	"time"
)

// members reads members.csv: those users who have rows.
func (r *reading) members(data *Dataset, index map[string]int32, stop *atomic.Bool) error {
	const id, city, age, gender, via, registered, expires = 0, 1, 2, 3, 4, 5, 6
	columns := []string{"msno", "city", "bd", "gender", "registered_via", "registration_init_time", "expiration_date"}
	return r.each(membersFile, stop, columns, func(t *table, report *FileReport) error {
		u, ok := index[string(t.field(id))]
		if !ok {
			return nil
		}
		user := &data.Users[u]
		if user.Member {
			report.Duplicates++
			return nil
		}
		user.Member = true
		user.City = uint8(report.number(t.field(city), 0, math.MaxUint8))
		if years := report.number(t.field(age), math.MinInt32, math.MaxInt32); years >= 1 && years <= 99 {
			user.Age = uint8(years)
		}
		switch string(t.field(gender)) {
		case "female":
			user.Gender = Female
		case "male":
			user.Gender = Male
		case "":
		default:
			report.Unreadable++
		}
		user.RegisteredBy = uint8(report.number(t.field(via), 0, math.MaxUint8))
		user.Registered = report.day(t.field(registered))
		user.Expires = report.day(t.field(expires))
		return nil
	})
}

// day reads a yyyymmdd. One that is missing, the first of 1970, or no day of
// the calendar, which is counted, is 0.
func (f *FileReport) day(b []byte) int32 {
	const unknown = 19700101
	n := f.number(b, 0, 99991231)
	if n == 0 || n == unknown {
		return 0
	}
	year, month, day := int(n/10000), time.Month(n/100%100), int(n%100)
	if y, m, d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Date(); y < 1900 || y != year || m != month || d != day {
		f.Unreadable++
		return 0
	}
	return int32(n)
}
