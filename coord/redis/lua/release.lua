-- Gives a worker ID back.
--
-- ARGV[3] worker ID, [4] token, [5] generation, [6] the last tick stamped.

local id, token, generation, last = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])

return run(function()
  local meta = enter(nil, agree)
  if not meta then stop('LOST', '') end
  local s = sound(id)
  if s.token ~= token or int(s.generation) ~= generation then
    remember(meta)
    stop('LOST', s.retired and 'retired' or s.token == '' and 'free' or 'held', s.holder, s.since, int(s.generation))
  end
  s.token = ''
  s.notAfter = math.min(s.notAfter, math.max(last, s.notBefore))
  call('HSET', hash, id, encode(SLOT, s))
  call('HDEL', hash, 't:' .. token)
  call('DEL', lease(id))
  fileFree(meta, id, s)
  return {'OK'}
end)
