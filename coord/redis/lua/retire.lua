-- Takes a worker ID out of use for ever. Argument [1] the worker ID.

return run(function()
  local meta, id = enter(nil, agree), args[1]
  if not meta then stop('NONE') end
  if tonumber(id) >= meta.capacity then stop('RANGE', meta.capacity - 1) end
  local s = sound(id)
  if s.retired then return {'OK'} end
  local token = s.token
  withdrawn(meta, s, nextGeneration(meta, s))
  call('HSET', hash, 'gen', int(s.generation), id, encode(SLOT, s))
  if token ~= '' then call('HDEL', hash, 't:' .. token) end
  call('DEL', lease(id))
  fileRetired(meta, id)
  return {'OK'}
end)
