-- Lowers the floor to where windows that were forgotten can reach by now.

return run(function()
  local meta = enter(nil, agree)
  if not meta then stop('NONE') end
  agree()
  local before = floor(meta)
  lowered(meta)
  if floor(meta) < before then save(meta) end
  return {'OK', floor(meta), meta.epoch, meta.unit}
end)
