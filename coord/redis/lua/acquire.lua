-- Grants a worker ID.
--
-- Arguments [1..5] the namespace; [6] first and [7] count of the share; [8] token,
-- [9] identity, [10] holder; [11] TTL in milliseconds; in ticks, [12] the caller's
-- clock, [13] the end of the window that it wants and [14] the tick by which it should
-- open.

local asked = space(1)
local share = {first = tonumber(args[6]), count = tonumber(args[7])}
local token, identity, holder, ttl = args[8], args[9], args[10], tonumber(args[11])
local theirs, wanted, openBy = tonumber(args[12]), tonumber(args[13]), tonumber(args[14])

local function checkClock(scale)
  local d = theirs - tick(scale, now)
  if d > ticks(scale, skew) or -d > ticks(scale, skew) + ticks(scale, slack) then stop('SKEW', now) end
end

-- register makes sure that the share has its indexes. They are made from what is
-- stored if they are new or not complete.
local function register(meta)
  local free, held = names(share.first, share.count, meta.capacity)
  local all, known = shares(), false
  for _, s in ipairs(all) do
    known = known or s.first == share.first and s.count == share.count
  end
  if known and call('ZCARD', free) + call('ZCARD', held) == share.count then return free, held end

  if not known then
    all[#all + 1] = share
    if #all > SHARES then
      local old = table.remove(all, 1)
      call('DEL', names(old.first, old.count, meta.capacity))
    end
    local text = {}
    for i, s in ipairs(all) do text[i] = int(s.first) .. '+' .. int(s.count) end
    call('HSET', hash, 'shares', table.concat(text, ' '))
  end
  call('DEL', free, held)
  local adds = {[free] = {}, [held] = {}}
  local function flush(key)
    if #adds[key] > 0 then call('ZADD', key, unpack(adds[key])) end
    adds[key] = {}
  end
  for n = share.first, share.first + share.count - 1 do
    local id = int(n)
    local s, left = slot(id), call('PTTL', lease(id))
    local key, score = free, s and int(s.notAfter) or int(LARGEST)
    if s and s.generation == 0 then score = int(n - LARGEST) end -- in order, before all others
    if s and s.retired then
      key, score = held, '+inf'
    elseif left ~= -2 then
      key, score = held, int(now + (left < 0 and FOREVER or left) * 1000)
    end
    table.insert(adds[key], score)
    table.insert(adds[key], id)
    if #adds[key] >= 1000 then flush(key) end
  end
  flush(free)
  flush(held)
  return free, held
end

local broken -- the first damaged slot that was met

-- available returns the slot of a worker ID if it can be granted.
local function available(meta, id)
  local left = call('PTTL', lease(id))
  if left ~= -2 then return nil, left end
  local s, why = slot(id)
  if not s then
    broken = broken or {id, why}
    return nil
  end
  if s.retired then return nil end
  return s
end

-- first returns the worker ID to be had whose window opens first. What is in the
-- wrong place is put right.
local function first(meta, free)
  for _, id in ipairs(call('ZRANGE', free, 0, PAGE - 1)) do
    local s, left = available(meta, id)
    if s then return id, s end
    if left then
      fileHeld(meta, id, left < 0 and FOREVER or left)
    elseif slot(id) then
      fileRetired(meta, id)
    else
      fileFree(meta, id, nil) -- damaged: behind all others
    end
  end
end

-- collect looks at the worker IDs whose leases end first, and makes those to be had
-- whose leases have ended.
local function collect(meta, held)
  local found = call('ZRANGE', held, 0, PAGE - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local id, score = found[i], tonumber(found[i + 1])
    local s, left = available(meta, id)
    if s or not left and score < LARGEST then
      fileFree(meta, id, s)
    elseif left and score <= now then
      fileHeld(meta, id, left < 0 and FOREVER or left)
    end
  end
end

local function late(meta, s) return math.max(opens(meta, s) - openBy, 0) end

-- choose returns a worker ID that can be granted and its slot: that which the
-- identity held last, if none opens earlier or it opens in time; else that which
-- opens first.
local function choose(meta)
  local free, held = register(meta)
  local hint = identity ~= '' and call('HGET', hash, 'h:' .. identity)
  local hinted
  if hint and tonumber(hint) and tonumber(hint) >= share.first and tonumber(hint) < share.first + share.count then
    hinted = available(meta, hint)
    if hinted and late(meta, hinted) == 0 then return hint, hinted end
  end
  local id, s = first(meta, free)
  if not s or late(meta, s) > 0 then
    collect(meta, held)
    id, s = first(meta, free)
  end
  if hinted and (not s or late(meta, hinted) <= late(meta, s)) then return hint, hinted end
  if s then return id, s end
  if broken then damaged(broken[1], broken[2]) end
  local inUse, soonest, seen = call('ZCOUNT', held, '-inf', '(+inf'), 0, 0
  if inUse > 0 then
    local next = call('ZRANGE', held, 0, 0, 'WITHSCORES')
    local holder = slot(next[1])
    soonest = tonumber(next[2])
    if holder then seen = soonest - holder.ttl * 1000 end -- its last renewal
  end
  stop('FULL', inUse + call('ZCARD', free), inUse, soonest, seen)
end

-- settings returns what an operator may want to know of the server's settings: how it
-- evicts keys, and whether a master without replicas goes on. One that may evict the
-- namespace is refused.
local function settings(replication)
  local memory = call('INFO', 'memory')
  local limit, policy = string.match(memory, '\nmaxmemory:(%d+)'), string.match(memory, 'maxmemory_policy:([%w-]+)') or ''
  if limit == '0' then policy = '' end
  if string.match(policy, '^allkeys') then stop('EVICTS', policy) end
  local alone = string.match(replication, 'connected_slaves:(%d+)') == '0'
  local guarded = alone or string.find(replication, 'min_slaves_good_slaves:', 1, true)
  return policy, guarded and '' or 'unguarded'
end

-- grant gives the worker ID to the caller.
local function grant(meta, id, old)
  local from = opens(meta, old)
  if old.notAfter > math.max(floor(meta), reach(meta) + ticks(meta, skew)) then stop('AHEAD', tonumber(id), old.notAfter) end
  if from > asked.lastTick or floor(meta) >= asked.lastTick then stop('SPENT', tonumber(id), from) end
  local s = granted(meta, old, {
    token = token, identity = identity, holder = holder, generation = nextGeneration(meta, old),
    wanted = math.min(wanted, reach(meta)), lastTick = asked.lastTick, ttl = ttl,
  })
  local fields = {'gen', int(s.generation), id, encode(SLOT, s), 't:' .. token, id}
  if identity ~= '' then
    fields[#fields + 1], fields[#fields + 2] = 'h:' .. identity, id
  end
  call('HSET', hash, unpack(fields))
  hold(id, s)
  if old.token ~= '' then call('HDEL', hash, 't:' .. old.token) end
  -- A worker ID is the last one of one identity, so that there are never more hints
  -- than worker IDs.
  if old.identity ~= '' and old.identity ~= identity and call('HGET', hash, 'h:' .. old.identity) == id then
    call('HDEL', hash, 'h:' .. old.identity)
  end
  fileHeld(meta, id, ttl)
  return s
end

return run(function()
  local meta, replication = enter(asked, checkClock)
  if meta.fingerprint ~= asked.fingerprint then stop('LAYOUT', meta.fingerprint) end
  if meta.epoch ~= asked.epoch or meta.unit ~= asked.unit then stop('SCALE', int(meta.epoch), int(meta.unit)) end
  local policy, guard = settings(replication)
  local id = call('HGET', hash, 't:' .. token)
  local s = id and sound(id)
  if s and s.token == token then
    -- The same request again: the same grant.
    hold(id, s)
    fileHeld(meta, id, s.ttl)
  else
    checkClock(meta)
    if closed(meta) then stop('CLOSED') end
    local old
    id, old = choose(meta)
    s = grant(meta, id, old)
  end
  return {'OK', tonumber(id), s.generation, s.notBefore, s.notAfter, policy, guard}
end)
