package keeper

import (
	"time"

	"github.com/unalike-id/unalike/coord"
)

// noWorker is the worker ID of an acquisition that got none.
const noWorker = -1

// report passes a finished call to the coordinator on to Config.OnCall.
func (k *Keeper) report(op string, workerID int, took time.Duration, err error) {
	if k.cfg.OnCall != nil {
		k.cfg.OnCall(coord.Call{Op: op, WorkerID: workerID, Took: took, Err: err})
	}
}
