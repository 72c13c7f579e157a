-- Extends a window, and the lease with it.
--
-- ARGV[3..7] the namespace, or an empty [3]; [8] worker ID, [9] token, [10]
-- generation; in ticks, [11] NotBefore and [12] NotAfter of the caller's grant, and
-- [13] the end that it wants.

local id, token, generation = ARGV[8], ARGV[9], ARGV[10]
local notBefore, notAfter, wanted = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])

return run(function()
  local meta = enter(space(3), agree)
  if not meta then stop('LOST', '') end
  local s = sound(id)
  if s.token ~= token or int(s.generation) ~= generation then
    -- While the windows are waited out that this server may have forgotten, it does
    -- not know whether it has forgotten this grant as well. Its holder goes on inside
    -- its window, which is its own whatever happens.
    if not s.retired and s.generation <= tonumber(generation) and tick(meta, now) <= meta.quarantine then
      remember(meta)
      stop('QUARANTINED', meta.quarantine, meta.epoch, meta.unit)
    end
    stop('LOST', s.retired and 'retired' or s.token == '' and 'free' or 'held', s.holder, s.since, int(s.generation))
  end
  local till = math.min(math.max(s.notAfter, notAfter, math.min(wanted, reach(meta))), s.lastTick)
  local from = notBefore
  local cut = math.max(floor(meta), s.notBefore)
  local floored = false
  if cut > notAfter then
    -- The window of this caller ends below it, whatever is stored.
    if cut >= till then
      floored = true -- the lease is kept, the window is not extended
    else
      from, s.notBefore = cut, cut
    end
  end
  if not floored then s.notAfter = till end
  s.renewed = stamp(now)
  call('HSET', hash, id, encode(SLOT, s))
  hold(id, s)
  fileHeld(meta, id, s.ttl)
  if floored then stop('QUARANTINED', cut, meta.epoch, meta.unit) end
  return {'OK', from, till}
end)
