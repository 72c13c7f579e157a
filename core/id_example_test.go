package core_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/core"
)

func ExampleID() {
	id := core.ID(1541815603606036480)
	fmt.Println(id)
	fmt.Println(id.Base62())
	fmt.Println(id.Base32())
	data, err := json.Marshal(map[string]core.ID{"id": id})
	fmt.Println(string(data), err)
	// Output:
	// 1541815603606036480
	// 1ptWyK4WgZU
	// 1ASD13XH1F800
	// {"id":"1541815603606036480"} <nil>
}

func ExampleParseID() {
	id, err := core.ParseID("1541815603606036480")
	fmt.Println(id.Int64(), err)

	_, err = core.ParseID("0x7")
	fmt.Println(errors.Is(err, core.ErrInvalidID))
	fmt.Println(err)
	// Output:
	// 1541815603606036480 <nil>
	// true
	// core: invalid ID: "0x7" in decimal: it has 'x' at byte 1; allowed are digits 0 to 9
}

func ExampleParseBase62() {
	id, err := core.ParseBase62("1ptWyK4WgZU")
	fmt.Println(id, err)
	// Output: 1541815603606036480 <nil>
}

func ExampleParseBase32() {
	id, err := core.ParseBase32("1ASD13XH1F800")
	fmt.Println(id, err)
	// Output: 1541815603606036480 <nil>
}
