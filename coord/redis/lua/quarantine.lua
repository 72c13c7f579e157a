-- Raises the floor. Argument [1] the time until when, or empty: for as long as windows
-- that were forgotten can reach, by the server's clock.

return run(function()
  local meta = enter(nil, agree)
  if not meta then stop('NONE') end
  agree()
  local before, base = meta.floor, meta.base
  if args[1] ~= '' then
    quarantine(meta, tick(meta, tonumber(args[1])))
  else
    meta.floor = math.max(meta.floor, math.min(ward(meta, now), meta.lastTick - 1))
  end
  if meta.floor > before or meta.base > base then save(meta) end
  return {'OK', floor(meta), meta.epoch, meta.unit}
end)
