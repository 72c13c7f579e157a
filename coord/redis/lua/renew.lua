-- Extends a window, and the lease with it.
--
-- Arguments [1..5] the namespace, or an empty [1]; [6..15] the caller's grant; [16] the
-- end that it wants, in ticks.

local g, wanted = grantOf(6), tonumber(args[16])
local id, notAfter = g.id, g.notAfter

return run(function()
  local meta = enter(space(1), agree)
  if not meta then stop('LOST', '') end
  local s = sound(id)
  local explained = shown(meta, s, g)
  if not holds(s, g) then
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
  local till = math.min(math.max(s.notAfter, notAfter, math.min(wanted, reach(meta))), s.lastTick)
  local from = g.notBefore
  local cut = math.max(floor(meta), s.notBefore)
  local floored = false
  if cut > notAfter then
    -- The window of this caller ends below it, whatever is stored.
    if cut >= till then
      floored, till = true, math.min(math.max(s.notAfter, notAfter), s.lastTick) -- the lease is kept, the window is not extended
    else
      from, s.notBefore = cut, cut
    end
  end
  s.notAfter, s.renewed = till, stamp(now)
  call('HSET', hash, id, encode(SLOT, s))
  hold(id, s)
  fileHeld(meta, id, s.ttl)
  if floored then stop(closed(meta) and 'CLOSED' or 'QUARANTINED', cut, meta.epoch, meta.unit, '') end
  return {'OK', from, till}
end)
