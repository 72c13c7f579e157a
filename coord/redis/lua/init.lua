-- Declares a namespace new. Arguments [1..5] the namespace.

-- used reports whether a worker ID was ever granted or retired.
local function used()
  for _, field in ipairs(call('HKEYS', hash)) do
    if field == 'gen' or string.find(field, '^%d+$') then return true end
  end
end

return run(function()
  local current, replication = lineage()
  agree()
  local meta, given = peek(), space(1)
  if not meta then
    meta = new(given, current)
    recall(meta) -- it may have been there before
  else
    if meta.fingerprint ~= given.fingerprint then stop('LAYOUT', meta.fingerprint) end
    if used() then stop('NOTNEW') end
    -- What another server, or this one with another history, knows as declared may have
    -- been used there.
    if meta.lineage ~= current and moved(meta, current, replication) then afterLoss(meta) end
    recall(meta)
    -- A quarantine that nobody has shown to be needed ends.
    if meta.loss.floor > meta.floor then meta.loss = {nonce = '', floor = 0, found = 0} end
    meta.epoch, meta.unit, meta.lastTick, meta.capacity = given.epoch, given.unit, given.lastTick, given.capacity
    meta.lineage, meta.received = current, received() or 0
  end
  save(meta)
  entered = meta
  return {'OK'}
end)
