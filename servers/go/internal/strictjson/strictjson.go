// Package strictjson reads JSON as the contract asks for it: one document, objects with the fields that are known, each once,
// and numbers, texts and nulls that are taken for nothing else. encoding/json takes the last of a field's values, a field
// in other letters, and null for anything.
//
// A Reader goes forward only and keeps its first error, so that its caller asks for it once, at the end.
package strictjson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Error is why a document was not read.
type Error struct {
	// Malformed where it is no JSON; otherwise it is JSON of another shape.
	Malformed bool
	Detail    string
}

func (e *Error) Error() string { return e.Detail }

// Shape is what an object has: at most 64 names, of which the first Required must be there.
type Shape struct {
	Names    []string
	Required int
}

// Reader reads one document.
type Reader struct {
	data    []byte
	at      int
	field   string
	scratch []byte
	err     *Error
}

// New reads a document. One that is not UTF-8 is malformed whatever else is wrong with it.
func New(data []byte) *Reader {
	r := &Reader{data: data}
	if !utf8.Valid(data) {
		r.malformed("it is not UTF-8")
	}
	return r
}

// End is called behind the document: the first error, also where there is more behind it.
func (r *Reader) End() *Error {
	if r.err == nil && r.skip() {
		r.malformed("there is more behind the document")
	}
	return r.err
}

// Failed tells whether there was an error.
func (r *Reader) Failed() bool { return r.err != nil }

// Object reads an object. member is called for each name, by its place in the shape, and must read the value.
func (r *Reader) Object(shape *Shape, member func(at int)) {
	outer := r.field
	if !r.open('{', "an object") {
		return
	}
	seen := uint64(0)
	for first := true; r.more('}', first); first = false {
		at, name := r.name(shape)
		if r.err != nil {
			return
		}
		if seen&(1<<at) != 0 {
			r.invalid("the field `%s` is there twice", name)
			return
		}
		seen |= 1 << at
		r.field = name
		member(at)
		r.field = outer
	}
	if r.err != nil {
		return
	}
	for at, name := range shape.Names[:shape.Required] {
		if seen&(1<<at) == 0 {
			r.invalid("the field `%s` is missing", name)
			return
		}
	}
}

// Array reads an array. item is called for each of its values and must read it.
func (r *Reader) Array(item func(at int)) {
	if !r.open('[', "an array") {
		return
	}
	for at := 0; r.more(']', at == 0); at++ {
		item(at)
	}
}

// Null tells whether the value is null, and reads it if so.
func (r *Reader) Null() bool {
	if r.err != nil || !r.skip() || r.data[r.at] != 'n' {
		return false
	}
	return r.word("null")
}

// Int reads a whole number within limits.
func (r *Reader) Int(least, most int64) int64 {
	if !r.value() {
		return 0
	}
	if c := r.data[r.at]; c != '-' && (c < '0' || c > '9') {
		r.other(fmt.Sprintf("a whole number of %d to %d", least, most))
		return 0
	}
	number, whole := r.number()
	if r.err == nil && (!whole || number < least || number > most) {
		r.invalid("it is a whole number of %d to %d", least, most)
	}
	return number
}

// Text reads a text. What is given back is good until the next one is read.
func (r *Reader) Text() []byte {
	if !r.value() {
		return nil
	}
	if r.data[r.at] != '"' {
		r.other("a text")
		return nil
	}
	return r.text()
}

// Invalid says that a value that was read is not one of those that are taken.
func (r *Reader) Invalid(format string, values ...any) { r.invalid(format, values...) }

func (r *Reader) malformed(detail string) {
	if r.err == nil {
		r.err = &Error{Malformed: true, Detail: fmt.Sprintf("the body is not JSON at byte %d: %s", r.at, detail)}
	}
}

func (r *Reader) invalid(format string, values ...any) {
	if r.err != nil {
		return
	}
	detail := fmt.Sprintf(format, values...)
	if r.field != "" {
		detail = r.field + ": " + detail
	}
	r.err = &Error{Detail: detail}
}

// skip goes over white space; false at the end.
func (r *Reader) skip() bool {
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
		default:
			return true
		}
	}
	return false
}

// value goes to where a value begins.
func (r *Reader) value() bool {
	if r.err != nil {
		return false
	}
	if !r.skip() {
		r.malformed("it ends where a value should be")
		return false
	}
	return true
}

func (r *Reader) open(bracket byte, what string) bool {
	if !r.value() {
		return false
	}
	if r.data[r.at] != bracket {
		r.other(what)
		return false
	}
	r.at++
	return true
}

// other is the error of a value that is not what was wanted, if it is one at all.
func (r *Reader) other(wanted string) {
	switch c := r.data[r.at]; {
	case c == 't':
		r.word("true")
	case c == 'f':
		r.word("false")
	case c == 'n':
		r.word("null")
	case c == '"':
		r.text()
	case c == '-' || c >= '0' && c <= '9':
		r.number()
	case c != '{' && c != '[':
		r.malformed("there is no value")
	}
	r.invalid("it is not %s", wanted)
}

func (r *Reader) word(word string) bool {
	if rest := r.data[r.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		r.malformed("there is no value")
		return false
	}
	r.at += len(word)
	return true
}

// more goes to the next member or item; false behind the last.
func (r *Reader) more(end byte, first bool) bool {
	if r.err != nil {
		return false
	}
	if !r.skip() {
		r.malformed("it ends too early")
		return false
	}
	switch c := r.data[r.at]; {
	case c == end:
		r.at++
		return false
	case first:
		return true
	case c == ',':
		r.at++
		// `[1,]` has no value behind the comma, and says so when it is read; an object's name would be missing.
		return true
	}
	r.malformed("a comma or the end is missing")
	return false
}

// name reads a member's name and the colon.
func (r *Reader) name(shape *Shape) (int, string) {
	if !r.value() {
		return 0, ""
	}
	if r.data[r.at] != '"' {
		r.malformed("a name is missing")
		return 0, ""
	}
	name := r.text()
	if r.err != nil {
		return 0, ""
	}
	for at, known := range shape.Names {
		if string(name) != known {
			continue
		}
		if !r.skip() || r.data[r.at] != ':' {
			r.malformed("a colon is missing")
			return 0, ""
		}
		r.at++
		return at, known
	}
	r.invalid("there is a field that is not known")
	return 0, ""
}

// number reads a number. It is whole where it has neither a fraction nor an exponent and fits into 64 bits.
func (r *Reader) number() (number int64, whole bool) {
	negative := r.data[r.at] == '-'
	if negative {
		r.at++
	}
	begin := r.at
	whole = true
	for ; r.at < len(r.data) && isDigit(r.data[r.at]); r.at++ {
		digit := int64(r.data[r.at] - '0')
		if number > (math.MaxInt64-digit)/10 {
			whole, number = false, 0
		}
		number = number*10 + digit
	}
	if r.at == begin || r.data[begin] == '0' && r.at > begin+1 {
		r.malformed("there is no such number")
		return 0, false
	}
	if r.at < len(r.data) && r.data[r.at] == '.' {
		whole = false
		r.at++
		r.digits()
	}
	if r.at < len(r.data) && (r.data[r.at] == 'e' || r.data[r.at] == 'E') {
		whole = false
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		r.digits()
	}
	if !whole {
		// 1e400 is a number by JSON's grammar that no parser can hold; it is answered as the other servers answer it.
		if _, err := strconv.ParseFloat(string(r.data[begin:r.at]), 64); err != nil {
			r.malformed("there is no such number")
			return 0, false
		}
	}
	if negative {
		// -0 is no whole number of ours.
		return -number, whole && number != 0
	}
	return number, whole
}

func (r *Reader) digits() {
	begin := r.at
	for r.at < len(r.data) && isDigit(r.data[r.at]) {
		r.at++
	}
	if r.at == begin {
		r.malformed("there is no such number")
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// text reads a text from its quotation mark on: where it has no escapes, as it lies in the document.
func (r *Reader) text() []byte {
	r.at++
	begin := r.at
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			text := r.data[begin:r.at]
			r.at++
			return text
		case c == '\\':
			return r.escaped(begin)
		case c < ' ':
			r.malformed("a control character in a text")
			return nil
		}
	}
	r.malformed("a text does not end")
	return nil
}

func (r *Reader) escaped(begin int) []byte {
	r.scratch = append(r.scratch[:0], r.data[begin:r.at]...)
	for r.at < len(r.data) && r.err == nil {
		c := r.data[r.at]
		r.at++
		switch {
		case c == '"':
			return r.scratch
		case c == '\\':
			r.escape()
		case c < ' ':
			r.malformed("a control character in a text")
		default:
			r.scratch = append(r.scratch, c)
		}
	}
	r.malformed("a text does not end")
	return nil
}

func (r *Reader) escape() {
	if r.at == len(r.data) {
		return
	}
	c := r.data[r.at]
	r.at++
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r.scratch = utf8.AppendRune(r.scratch, r.rune())
		return
	default:
		r.malformed("an escape that there is not")
		return
	}
	r.scratch = append(r.scratch, c)
}

// rune reads four hexadecimal digits, and as many again where they are the first half of a pair.
func (r *Reader) rune() rune {
	first := r.hex()
	if !utf16.IsSurrogate(first) {
		return first
	}
	if r.at+2 <= len(r.data) && r.data[r.at] == '\\' && r.data[r.at+1] == 'u' {
		r.at += 2
		if pair := utf16.DecodeRune(first, r.hex()); pair != utf8.RuneError {
			return pair
		}
	}
	r.malformed("half of a pair of surrogates")
	return 0
}

func (r *Reader) hex() rune {
	if r.at+4 > len(r.data) {
		r.malformed("an escape that ends too early")
		return 0
	}
	code := rune(0)
	for _, c := range r.data[r.at : r.at+4] {
		switch {
		case isDigit(c):
			code = code<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			code = code<<4 | rune(c|0x20-'a'+10)
		default:
			r.malformed("an escape without four digits")
			return 0
		}
	}
	r.at += 4
	return code
}
