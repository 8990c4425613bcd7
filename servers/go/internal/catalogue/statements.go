package catalogue

// Statements of spec/sql/catalogue, in the order of Names.
const (
	stmtCategories = iota
	stmtCategory
	stmtInsertCategory
	stmtUpdateCategory
	stmtLockCategory
	stmtHoldCategory
	stmtFoodOfCategory
	stmtDeleteCategory
	stmtFood
	stmtCountFoods
	stmtCountCategoryFoods
	stmtCountSearchFoods
	stmtInsertFood
	stmtInsertFoods
	stmtUpdateFood
	stmtLockFood
	stmtItemOfFood
	stmtDeleteFood
	stmtTemplateFull
	// Behind it there is one for each filter, order and way to go on: see list.statement.
	stmtLists
)

// Names are those of the statements that are used.
var Names = []string{
	"categories", "category", "insert_category", "update_category", "lock_category", "hold_category", "food_of_category",
	"delete_category", "food", "count_foods", "count_category_foods", "count_search_foods", "insert_food", "insert_foods",
	"update_food", "lock_food", "item_of_food", "delete_food", "template_full",
	"foods_by_name_page", "foods_by_name_after", "foods_by_kcal_page", "foods_by_kcal_after",
	"category_foods_by_name_page", "category_foods_by_name_after", "category_foods_by_kcal_page", "category_foods_by_kcal_after",
	"search_foods_by_name_page", "search_foods_by_name_after", "search_foods_by_kcal_page", "search_foods_by_kcal_after",
}

// templatesPerThousandFoods is how many templates are loaded with a thousand foods.
const templatesPerThousandFoods = 60

// Questions ask for the scale of the loaded data: its templates, which no call makes or removes, as calls do with foods.
var Questions = []string{"select count(*) from template"}

// Scale is in thousands of foods, of which the data of the golden vectors has less than one.
func Scale(answers []int64) int64 { return max(1, answers[0]/templatesPerThousandFoods) }
