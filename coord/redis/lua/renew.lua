-- Extends a window, and the lease with it. With a new token, the grant is resumed: the
-- same step gives the slot to that token.
--
-- Arguments [1..5] the namespace, or an empty [1]; [6..16] the caller's grant; [17] the
-- end that it wants, in ticks; [18] the new token, or empty.

local g, wanted, token = grantOf(6), tonumber(args[17]), args[18]
local id = g.id

-- next is the grant that a Resume makes. If the slot has it, that was done before.
local next = {token = token, generation = g.generation + 1}

-- resume gives the slot to the new token, and takes a number for it, so that its loss
-- would be noticed.
local function resume(meta, s)
  call('HDEL', hash, 't:' .. s.token)
  call('HSET', hash, 'gen', int(nextGeneration(meta, s)), 't:' .. token, id)
  resumed(s, token)
end

return run(function()
  local meta = enter(space(1), agree)
  if not meta then stop('LOST', '') end
  local s = sound(id)
  local explained = shown(meta, s, g)
  local again = token ~= '' and holds(s, next)
  if not holds(s, g) and not again then
    -- While the windows are waited out that this server may have forgotten, it does
    -- not know whether it has forgotten this grant as well. Its holder goes on inside
    -- its window, which is its own whatever happens. It comes again with this grant, also
    -- after the quarantine, and then shows nothing new.
    if not s.retired and s.generation <= g.generation and tick(meta, now) <= meta.loss.floor then
      remember(meta)
      stop(closed(meta) and 'CLOSED' or 'QUARANTINED', meta.loss.floor, meta.epoch, meta.unit, explained)
    end
    stop('LOST', gone(s, g))
  end
  if not again and copied(s, g) then stop('LOST', 'copied', s.notAfter) end
  local from, grows = extended(s, g, floor(meta), math.min(wanted, reach(meta)))
  if token ~= '' and not again then resume(meta, s) end
  call('HSET', hash, id, encode(SLOT, s))
  hold(id, s)
  fileHeld(meta, id, s.ttl)
  if not grows then
    stop(closed(meta) and 'CLOSED' or 'QUARANTINED', math.max(floor(meta), s.notBefore), meta.epoch, meta.unit, '')
  end
  return {'OK', from, s.notAfter, s.generation, meta.epoch, meta.unit, meta.lastTick, meta.capacity}
end)
