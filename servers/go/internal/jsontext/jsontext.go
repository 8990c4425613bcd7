// Package jsontext appends JSON to a buffer, as strconv appends numbers.
package jsontext

const hex = "0123456789abcdef"

// AppendText appends a text in quotation marks.
func AppendText[T string | []byte](into []byte, text T) []byte {
	into = append(into, '"')
	begin := 0
	for at := range len(text) {
		c := text[at]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		into = append(into, text[begin:at]...)
		begin = at + 1
		switch c {
		case '"', '\\':
			into = append(into, '\\', c)
		case '\n':
			into = append(into, `\n`...)
		default:
			into = append(into, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	into = append(into, text[begin:]...)
	return append(into, '"')
}
