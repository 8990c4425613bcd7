// Package catalogue is the food catalogue: spec/openapi/catalogue.yaml over the statements of spec/sql/catalogue.
package catalogue

import (
	"net/http"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// Routes are the calls of the contract.
func Routes() []web.Route {
	return []web.Route{
		{Method: "GET", Path: "/categories", Decode: decodeCategories},
		{Method: "POST", Path: "/categories", Decode: decodeCreateCategory},
		{Method: "GET", Path: "/categories/{id}", Decode: decodeCategory},
		{Method: "PUT", Path: "/categories/{id}", Decode: decodeUpdateCategory},
		{Method: "DELETE", Path: "/categories/{id}", Decode: decodeDelete(categories)},
		{Method: "GET", Path: "/foods", Decode: decodeFoods},
		{Method: "POST", Path: "/foods", Decode: decodeCreateFood},
		{Method: "GET", Path: "/foods/{id}", Decode: decodeFood},
		{Method: "PUT", Path: "/foods/{id}", Decode: decodeUpdateFood},
		{Method: "DELETE", Path: "/foods/{id}", Decode: decodeDelete(foods)},
		{Method: "POST", Path: "/foods/bulk", Decode: decodeInsertFoods},
		{Method: "GET", Path: "/templates/{id}/full", Decode: decodeTemplate},
	}
}

// Why calls are declined.
var (
	noSuchCategory  = web.Declined(404, "no-such-category", "there is no such category")
	noSuchFood      = web.Declined(404, "no-such-food", "there is no such food")
	noSuchTemplate  = web.Declined(404, "no-such-template", "there is no such template")
	categoryExists  = web.Declined(409, "category-exists", "a category with this id is there already")
	foodExists      = web.Declined(409, "food-exists", "a food with this id is there already")
	categoryInUse   = web.Declined(409, "category-in-use", "foods belong to this category")
	foodInUse       = web.Declined(409, "food-in-use", "templates use this food")
	staleVersion    = web.Declined(412, "stale-version", "it has another version by now")
	unknownCategory = web.Declined(422, "unknown-category", "the category that the food is to belong to does not exist")
)

// things are what can be changed and removed in the same way.
type things struct {
	read, lock, used, remove int
	absent, inUse            *web.Problem
}

var (
	categories = &things{stmtCategory, stmtLockCategory, stmtFoodOfCategory, stmtDeleteCategory, noSuchCategory, categoryInUse}
	foods      = &things{stmtFood, stmtLockFood, stmtItemOfFood, stmtDeleteFood, noSuchFood, foodInUse}
)

func ignore(engine.Row) {}

func allCategories(s *engine.Session, a *web.Answer) (bool, error) {
	a.Body = append(a.Body, `{"categories":[`...)
	_, err := s.Rows(stmtCategories, func(row engine.Row) {
		a.Body = append(appendCategory(a.Body, row), ',')
	})
	a.Body = append(closed(a.Body), "]}"...)
	return true, err
}

func category(s *engine.Session, a *web.Answer, id int64) (bool, error) {
	found, err := s.One(stmtCategory, func(row engine.Row) {
		a.Body, a.Version = appendCategory(a.Body, row), row.Int(2)
	}, id)
	if err == nil && !found {
		return a.Decline(noSuchCategory)
	}
	return true, err
}

func createCategory(s *engine.Session, a *web.Answer, id int64, name string) (bool, error) {
	inserted, err := s.Exec(stmtInsertCategory, id, name)
	if err == nil && inserted == 0 {
		return a.Decline(categoryExists)
	}
	return stored(a, http.StatusCreated, 1), err
}

func food(s *engine.Session, a *web.Answer, id int64) (bool, error) {
	found, err := s.One(stmtFood, func(row engine.Row) {
		a.Body, a.Version = appendFood(a.Body, row), row.Int(9)
	}, id)
	if err == nil && !found {
		return a.Decline(noSuchFood)
	}
	return true, err
}

func createFood(s *engine.Session, a *web.Answer, food *newFood) (bool, error) {
	if held, err := s.One(stmtHoldCategory, ignore, food.category); err != nil {
		return false, err
	} else if !held {
		return a.Decline(unknownCategory)
	}
	inserted, err := insert(s, food.category, food)
	if err == nil && inserted == 0 {
		return a.Decline(foodExists)
	}
	return stored(a, http.StatusCreated, 1), err
}

func insert(s *engine.Session, category int64, food *newFood) (int64, error) {
	return s.Exec(stmtInsertFood, food.id, category, food.name, food.kcal, food.protein, food.fat, food.carbs,
		food.fibreOrNull(), food.price)
}

// insertFoods inserts all of them or none: as many as the statement for many takes in one, any other number one by one.
func insertFoods(s *engine.Session, a *web.Answer, category int64, foods []newFood) (bool, error) {
	if held, err := s.One(stmtHoldCategory, ignore, category); err != nil {
		return false, err
	} else if !held {
		return a.Decline(unknownCategory)
	}
	inserted := int64(0)
	if len(foods) == bulkMax {
		args := make([]any, 0, bulkMax*9)
		// One box for all of them.
		of := any(category)
		for at := range foods {
			food := &foods[at]
			args = append(args, food.id, of, food.name, food.kcal, food.protein, food.fat, food.carbs, food.fibreOrNull(), food.price)
		}
		var err error
		if inserted, err = s.ExecMany(stmtInsertFoods, args); err != nil {
			return false, err
		}
	} else {
		for at := range foods {
			one, err := insert(s, category, &foods[at])
			if err != nil {
				return false, err
			}
			inserted += one
		}
	}
	if inserted != int64(len(foods)) {
		return a.Decline(foodExists)
	}
	a.Status, a.Body = http.StatusCreated, appendField(append(a.Body, '{'), `"inserted":`, inserted)
	a.Body = append(a.Body, '}')
	return true, nil
}

// changed is behind an update of what has the version; only where nothing has is asked why.
func (t *things) changed(s *engine.Session, a *web.Answer, rows, id, version int64) (bool, error) {
	if rows > 0 {
		return stored(a, http.StatusOK, version+1), nil
	}
	there, err := s.One(t.read, ignore, id)
	switch {
	case err != nil:
		return false, err
	case there:
		return a.Decline(staleVersion)
	}
	return a.Decline(t.absent)
}

// delete removes what nothing uses. It is locked first, so that nothing comes to use it between the look and the removal.
func (t *things) delete(s *engine.Session, a *web.Answer, id, version int64) (bool, error) {
	found := int64(0)
	there, err := s.One(t.lock, func(row engine.Row) { found = row.Int(0) }, id)
	switch {
	case err != nil:
		return false, err
	case !there:
		return a.Decline(t.absent)
	case found != version:
		return a.Decline(staleVersion)
	}
	used, err := s.One(t.used, ignore, id)
	switch {
	case err != nil:
		return false, err
	case used:
		return a.Decline(t.inUse)
	}
	_, err = s.Exec(t.remove, id)
	a.Status = http.StatusNoContent
	return true, err
}

func stored(a *web.Answer, status int, version int64) bool {
	a.Status, a.Version = status, version
	a.Body = append(appendField(append(a.Body, '{'), `"version":`, version), '}')
	return true
}
