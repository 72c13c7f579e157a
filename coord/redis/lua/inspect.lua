-- Shows the namespace's record: the layout's fingerprint, which is empty if there is no
-- namespace, the floor, the last tick, epoch and unit, the floor of the last loss, the
-- base of the floor, and the nonce of the namespace.

return run(function()
  lineage()
  local meta = peek()
  if not meta then return {'OK', '', 0, 0, 0, 0, 0, 0, ''} end
  return {'OK', meta.fingerprint, floor(meta), meta.lastTick, meta.epoch, meta.unit, meta.loss.floor, meta.base, meta.nonce}
end)
