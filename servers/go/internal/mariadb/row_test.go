package mariadb

import (
	"math"
	"testing"

	"stackmark/net-http/internal/engine"
)

func TestAnAmountIsSentAsADecimal(t *testing.T) {
	for cents, wanted := range map[engine.Cents]string{
		0: "0.00", 5: "0.05", -5: "-0.05", 123_405: "1234.05", math.MinInt64: "-92233720368547758.08",
	} {
		if found := decimal(cents); found != wanted {
			t.Error(cents, found)
		}
		if back, exact := scaled([]byte(wanted), 2); cents > math.MinInt64 && (!exact || back != int64(cents)) {
			t.Error(wanted, back, exact)
		}
	}
}

func TestDecimals(t *testing.T) {
	for _, row := range []struct {
		text   string
		digits int
		wanted int64
		exact  bool
	}{
		{"0.1250", 4, 1250, true}, {"12", 2, 1200, true}, {"-12.5", 2, -1250, true}, {"12.500", 2, 1250, true}, {"12.505", 2, 0, false},
		{"", 2, 0, false}, {"-", 2, 0, false}, {".", 2, 0, false}, {"1.2.3", 2, 0, false}, {"1e3", 2, 0, false}, {"NaN", 2, 0, false},
		{"99999999999999999999", 2, 0, false},
	} {
		if found, exact := scaled([]byte(row.text), row.digits); exact != row.exact || exact && found != row.wanted {
			t.Errorf("%q: %d, %v", row.text, found, exact)
		}
	}
}

func TestParametersGoWhereTheyBelong(t *testing.T) {
	var conn Conn
	sent := conn.sent([]int{2, 0, 2}, false, []any{"a", "b", engine.Cents(5)})
	if len(sent) != 3 || sent[0] != "0.05" || sent[1] != "a" || sent[2] != "0.05" {
		t.Error(sent)
	}
	if sent := conn.sent([]int{0}, true, []any{"a", "b"}); len(sent) != 1 {
		t.Error(sent)
	}
}

func TestWhatErrorsMean(t *testing.T) {
	lost := engine.ConnectionLost
	for number, wanted := range map[uint16]*engine.Fault{
		1213: engine.Deadlock, 1205: engine.Busy, 1020: engine.Serialization, 1969: engine.Busy, 1040: engine.NoSession, 2013: lost, 1053: lost,
	} {
		if found := faultOf(number, "", false, lost); found != wanted {
			t.Error(number, found)
		}
	}
	if found := faultOf(1969, "", true, lost); found != engine.CommitUnanswered {
		t.Error(found)
	}
	if found := faultOf(1030, "Got error 28", false, lost); found.Reason != "unwritable" {
		t.Error(found)
	}
	for _, number := range []uint16{1062, 1064, 1030, 1180} {
		if found := faultOf(number, "", false, lost); found.Class != engine.Defect {
			t.Error(number, found)
		}
	}
}

func TestDurability(t *testing.T) {
	base := func(with ...string) map[string]string {
		found := map[string]string{"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON", "innodb_flush_method": "O_DIRECT",
			"innodb_flush_log_at_timeout": "1", "log_bin": "OFF", "sync_binlog": "0"}
		for at := 0; at < len(with); at += 2 {
			found[with[at]] = with[at+1]
		}
		return found
	}
	for tier, settings := range map[string][]map[string]string{
		"durable":  {base(), base("innodb_flush_log_at_trx_commit", "3"), base("log_bin", "ON", "sync_binlog", "1")},
		"delayed":  {base("innodb_flush_log_at_trx_commit", "2"), base("innodb_flush_log_at_trx_commit", "0"), base("log_bin", "ON")},
		"volatile": {base("innodb_flush_log_at_trx_commit", "9"), base("innodb_doublewrite", "OFF"), base("innodb_flush_method", "nosync"), {}},
	} {
		for _, setting := range settings {
			if found := durability(setting); found.Tier != tier {
				t.Error(setting, found)
			}
		}
	}
}
