package catalogue

import (
	"fmt"
	"strconv"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/strictjson"
	"stackmark/net-http/internal/web"
)

// Limits of the contract.
const (
	idMax       = 1<<53 - 1
	versionMax  = 1<<63 - 2
	nameMax     = 48
	nameRule    = "a name is 1 to 48 of a-z, 0-9, space and hyphen, with no space at either end"
	kcalMax     = 900
	nutrientMax = 1_000
	priceMax    = 1_000_000
	bulkMax     = 50
)

// newFood is a food in the body of a call, without what that has in its path.
type newFood struct {
	id, category                     int64
	name                             string
	kcal, protein, fat, carbs, price int64
	fibre                            int64
	hasFibre                         bool
}

func (f *newFood) fibreOrNull() any {
	if f.hasFibre {
		return f.fibre
	}
	return nil
}

// What the objects in bodies have. Fibre is the last of all, for it may be left out.
var (
	newCategoryShape = &strictjson.Shape{Names: []string{"id", "name"}, Required: 2}
	nameShape        = &strictjson.Shape{Names: []string{"name"}, Required: 1}
	factsShape       = shape()
	newFoodShape     = shape("id", "category")
	foodOfManyShape  = shape("id")
	bulkShape        = &strictjson.Shape{Names: []string{"category", "foods"}, Required: 2}
)

// shape is that of a food: its facts, other fields, and fibre.
func shape(others ...string) *strictjson.Shape {
	names := append([]string{"name", "kcal", "protein", "fat", "carbs", "price"}, others...)
	return &strictjson.Shape{Names: append(names, "fibre"), Required: len(names)}
}

func decodeCategories(*web.Request) (web.Call, *web.Problem) {
	return web.Call{Kind: engine.OneRead, Run: allCategories}, nil
}

func decodeCategory(r *web.Request) (web.Call, *web.Problem) {
	id, problem := pathID(r)
	return web.Call{Kind: engine.OneRead, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return category(s, a, id)
	}}, problem
}

func decodeFood(r *web.Request) (web.Call, *web.Problem) {
	id, problem := pathID(r)
	return web.Call{Kind: engine.OneRead, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return food(s, a, id)
	}}, problem
}

func decodeTemplate(r *web.Request) (web.Call, *web.Problem) {
	id, problem := pathID(r)
	return web.Call{Kind: engine.OneRead, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return template(s, a, id)
	}}, problem
}

func decodeCreateCategory(r *web.Request) (web.Call, *web.Problem) {
	var id int64
	var name string
	json := strictjson.New(r.Body)
	json.Object(newCategoryShape, func(at int) {
		if at == 0 {
			id = json.Int(1, idMax)
		} else {
			name = readName(json)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	return web.Call{Kind: engine.OneWrite, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return createCategory(s, a, id, name)
	}}, nil
}

func decodeUpdateCategory(r *web.Request) (web.Call, *web.Problem) {
	id, version, problem := changed(r)
	if problem != nil {
		return web.Call{}, problem
	}
	var name string
	json := strictjson.New(r.Body)
	json.Object(nameShape, func(int) { name = readName(json) })
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	return web.Call{Kind: engine.OneWrite, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		rows, err := s.Exec(stmtUpdateCategory, id, version, name)
		if err != nil {
			return false, err
		}
		return categories.changed(s, a, rows, id, version)
	}}, nil
}

func decodeUpdateFood(r *web.Request) (web.Call, *web.Problem) {
	id, version, problem := changed(r)
	if problem != nil {
		return web.Call{}, problem
	}
	food := new(newFood)
	json := strictjson.New(r.Body)
	food.read(json, factsShape)
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	return web.Call{Kind: engine.OneWrite, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		rows, err := s.Exec(stmtUpdateFood, id, version, food.name, food.kcal, food.protein, food.fat, food.carbs,
			food.fibreOrNull(), food.price)
		if err != nil {
			return false, err
		}
		return foods.changed(s, a, rows, id, version)
	}}, nil
}

func decodeCreateFood(r *web.Request) (web.Call, *web.Problem) {
	food := new(newFood)
	json := strictjson.New(r.Body)
	food.read(json, newFoodShape)
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return createFood(s, a, food)
	}}, nil
}

func decodeInsertFoods(r *web.Request) (web.Call, *web.Problem) {
	var category int64
	var foods []newFood
	json := strictjson.New(r.Body)
	json.Object(bulkShape, func(at int) {
		if at == 0 {
			category = json.Int(1, idMax)
			return
		}
		foods = make([]newFood, 0, bulkMax)
		json.Array(func(at int) {
			if at == bulkMax {
				json.Invalid("there are more than %d", bulkMax)
				return
			}
			foods = append(foods, newFood{})
			foods[at].read(json, foodOfManyShape)
		})
		if len(foods) == 0 {
			json.Invalid("there are none")
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	if id, twice := twice(foods); twice {
		return web.Call{}, web.Invalid(fmt.Sprintf("two foods have the id %d", id))
	}
	return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		return insertFoods(s, a, category, foods)
	}}, nil
}

// twice finds an id that two of a few foods have.
func twice(foods []newFood) (int64, bool) {
	for at := range foods {
		for before := range at {
			if foods[before].id == foods[at].id {
				return foods[at].id, true
			}
		}
	}
	return 0, false
}

func decodeDelete(of *things) func(*web.Request) (web.Call, *web.Problem) {
	return func(r *web.Request) (web.Call, *web.Problem) {
		id, version, problem := changed(r)
		return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
			return of.delete(s, a, id, version)
		}}, problem
	}
}

// read reads a food of some shape.
func (f *newFood) read(json *strictjson.Reader, shape *strictjson.Shape) {
	json.Object(shape, func(at int) {
		switch shape.Names[at] {
		case "id":
			f.id = json.Int(1, idMax)
		case "category":
			f.category = json.Int(1, idMax)
		case "name":
			f.name = readName(json)
		case "kcal":
			f.kcal = json.Int(0, kcalMax)
		case "protein":
			f.protein = json.Int(0, nutrientMax)
		case "fat":
			f.fat = json.Int(0, nutrientMax)
		case "carbs":
			f.carbs = json.Int(0, nutrientMax)
		case "fibre":
			if !json.Null() {
				f.fibre, f.hasFibre = json.Int(0, nutrientMax), true
			}
		case "price":
			f.price = json.Int(0, priceMax)
		}
	})
	if f.protein+f.fat+f.carbs > nutrientMax {
		json.Invalid("protein, fat and carbs are more than %d together", nutrientMax)
	}
}

func readName(json *strictjson.Reader) string {
	name := string(json.Text())
	if !json.Failed() && !isName(name) {
		json.Invalid(nameRule)
	}
	return name
}

// isName tells whether a text is one that the catalogue takes as a name.
func isName(text string) bool {
	if len(text) == 0 || len(text) > nameMax || text[0] == ' ' || text[len(text)-1] == ' ' {
		return false
	}
	for at := range len(text) {
		if c := text[at]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != ' ' && c != '-' {
			return false
		}
	}
	return true
}

// pathID is the id in the path. What is no id names nothing.
func pathID(r *web.Request) (int64, *web.Problem) {
	id, ok := number(r.ID, 1, idMax)
	if !ok {
		return 0, web.UnknownID("the id in the path is not a number of 1 to " + strconv.Itoa(idMax))
	}
	return id, nil
}

// changed is what a change or a removal is of: an id, and the version that it is for, one strong entity tag (RFC 9110 13.1.1).
func changed(r *web.Request) (id, version int64, problem *web.Problem) {
	if id, problem = pathID(r); problem != nil {
		return 0, 0, problem
	}
	tags := r.Header["If-Match"]
	if len(tags) == 0 {
		return 0, 0, web.Unconditional(`if-match is missing; it names the version to be changed, as etag does: "1"`)
	}
	text, opened := strings.CutPrefix(tags[0], `"`)
	text, ended := strings.CutSuffix(text, `"`)
	version, ok := number(text, 1, versionMax)
	if !opened || !ended || !ok || len(tags) > 1 {
		return 0, 0, web.Invalid(`if-match is not the etag of an answer: a version in quotes, such as "1"`)
	}
	return id, version, nil
}

// number reads digits without a sign and without zeros before them.
func number(text string, least, most int64) (int64, bool) {
	if text == "" || len(text) > 19 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for at := range len(text) {
		if text[at] < '0' || text[at] > '9' {
			return 0, false
		}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil && number >= least && number <= most
}
