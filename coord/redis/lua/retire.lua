-- Takes a worker ID out of use for ever. Argument [1] the worker ID.

return run(function()
  local meta, id = enter(nil, agree), args[1]
  if not meta then stop('NONE') end
  if tonumber(id) >= meta.capacity then stop('RANGE', meta.capacity - 1) end
  local s = sound(id)
  if s.retired then return {'OK'} end
  local token = s.token
  if s.generation == 0 then s.lastTick, s.since, s.ttl = meta.lastTick, stamp(now), 1 end
  -- A new generation, so that the holder's next renewal is refused.
  s.generation, s.token, s.retired, s.renewed = nextGeneration(meta, s), '', true, stamp(now)
  call('HSET', hash, 'gen', int(s.generation), id, encode(SLOT, s))
  if token ~= '' then call('HDEL', hash, 't:' .. token) end
  call('DEL', lease(id))
  fileRetired(meta, id)
  return {'OK'}
end)
