-- Gives a worker ID back.
--
-- Arguments [1..5] the namespace, or an empty [1]; [6..16] the caller's grant; [17] the
-- last tick stamped.

local g, last = grantOf(6), tonumber(args[17])
local id = g.id

return run(function()
  local meta = enter(space(1), agree)
  if not meta then stop('LOST', '') end
  local s = sound(id)
  shown(meta, s, g)
  if not holds(s, g) then
    remember(meta)
    stop('LOST', gone(s, g))
  end
  if copied(s, g) then stop('LOST', 'copied', s.notAfter) end
  trimmed(s, g, last)
  call('HSET', hash, id, encode(SLOT, s))
  call('HDEL', hash, 't:' .. g.token)
  call('DEL', lease(id))
  fileFree(meta, id, s)
  return {'OK'}
end)
