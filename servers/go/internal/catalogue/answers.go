package catalogue

import (
	"strconv"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/jsontext"
	"stackmark/net-http/internal/web"
)

// Rows become JSON as they are read: nothing stands between the connection's buffer and the answer's.

func appendField(into []byte, name string, number int64) []byte {
	return strconv.AppendInt(append(into, name...), number, 10)
}

// closed takes the comma away behind the last of what is in brackets.
func closed(into []byte) []byte {
	if last := len(into) - 1; into[last] == ',' {
		return into[:last]
	}
	return into
}

func appendCategory(into []byte, row engine.Row) []byte {
	into = appendField(into, `{"id":`, row.Int(0))
	into = jsontext.AppendText(append(into, `,"name":`...), row.Text(1))
	return append(appendField(into, `,"version":`, row.Int(2)), '}')
}

func appendFood(into []byte, row engine.Row) []byte {
	into = appendField(into, `{"id":`, row.Int(0))
	into = appendField(into, `,"category":`, row.Int(1))
	into = jsontext.AppendText(append(into, `,"name":`...), row.Text(2))
	into = appendField(into, `,"kcal":`, row.Int(3))
	into = appendField(into, `,"protein":`, row.Int(4))
	into = appendField(into, `,"fat":`, row.Int(5))
	into = appendField(into, `,"carbs":`, row.Int(6))
	if row.IsNull(7) {
		into = append(into, `,"fibre":null`...)
	} else {
		into = appendField(into, `,"fibre":`, row.Int(7))
	}
	into = appendField(into, `,"price":`, row.Int(8))
	return append(appendField(into, `,"version":`, row.Int(9)), '}')
}

// template reads a template by one join over all tables. What is below a day without meals, or a meal without items, is null.
func template(s *engine.Session, a *web.Answer, id int64) (bool, error) {
	var days nested
	rows, err := s.Rows(stmtTemplateFull, func(row engine.Row) {
		if len(a.Body) == 0 {
			a.Body = appendField(a.Body, `{"id":`, id)
			a.Body = jsontext.AppendText(append(a.Body, `,"name":`...), row.Text(0))
			a.Body = append(a.Body, `,"days":[`...)
		}
		a.Body = days.appendRow(a.Body, row)
	}, id)
	if err == nil && rows == 0 {
		return a.Decline(noSuchTemplate)
	}
	a.Body = append(days.close(a.Body), "]}"...)
	return true, err
}

// nested is where the rows of a template are: in which day and meal, counted from 1, and 0 in none.
type nested struct{ day, meal int64 }

func (n *nested) appendRow(into []byte, row engine.Row) []byte {
	if row.IsNull(1) {
		return into
	}
	if day := row.Int(1); day != n.day {
		into = n.close(into)
		if n.day != 0 {
			into = append(into, ',')
		}
		n.day, n.meal = day, 0
		into = append(appendField(into, `{"day":`, day), `,"meals":[`...)
	}
	if row.IsNull(2) {
		return into
	}
	if meal := row.Int(2); meal != n.meal {
		if n.meal != 0 {
			into = append(closed(into), "]},"...)
		}
		n.meal = meal
		into = appendField(into, `{"meal":`, meal)
		into = jsontext.AppendText(append(into, `,"name":`...), row.Text(3))
		into = append(into, `,"items":[`...)
	}
	if row.IsNull(4) {
		return into
	}
	into = appendField(into, `{"food":`, row.Int(4))
	into = jsontext.AppendText(append(into, `,"name":`...), row.Text(5))
	into = appendField(into, `,"kcal":`, row.Int(6))
	into = appendField(into, `,"grams":`, row.Int(7))
	return append(into, "},"...)
}

// close ends the meal and the day that rows are in.
func (n *nested) close(into []byte) []byte {
	if n.meal != 0 {
		into = append(closed(into), "]}"...)
	}
	if n.day != 0 {
		into = append(into, "]}"...)
	}
	return into
}
