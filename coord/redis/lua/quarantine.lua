-- Raises the floor. ARGV[3] the time until when, in microseconds since 1970, or empty:
-- for as long as windows that were forgotten can reach.

return run(function()
  local meta = enter(nil, agree)
  if not meta then stop('NONE') end
  local want = ward(meta)
  if ARGV[3] ~= '' then want = tick(meta, tonumber(ARGV[3])) end
  if want > meta.lastTick then stop('BEYOND', meta.lastTick, meta.epoch, meta.unit) end
  if want > meta.floor then
    meta.floor = want
    save(meta)
  end
  return {'OK', floor(meta), meta.epoch, meta.unit}
end)
