-- One step on a namespace: it compares and writes, or refuses to write, and reads. What to write
-- is decided in package protocol. ARGV[1] is a request, see step.go. KEYS[1] is the hash of the
-- namespace, and KEYS[2], if the step is about a worker ID, the key of its lease. That key exists
-- while the worker ID is held, and for ever if it is retired. The hash has:
--
--   meta              the namespace's record
--   origin            the lineage in which it was settled, see lineage below
--   n                 how many writes there were
--   7                 the slot of worker ID 7: how often it was written, and its record
--   l:0               when the leases of worker IDs 0 to 15 end: 16 digits for each. It is a hint
--                     for who looks at many leases; the keys decide.
--   t:TOKEN           the worker ID that a token leads to while its lease lasts
--   h:IDENTITY        the worker ID that an identity had last
--
-- Times are in microseconds since 1970, by this server's clock.
local key, lease, req = KEYS[1], KEYS[2], cjson.decode(ARGV[1])
local PAGE, DIGITS, FOREVER = 16, 16, 9e15
local LATER = 15000 -- in milliseconds: a grant may be tried again, whatever the TTL of a key is

local function put(list, field, value) list[#list + 1], list[#list + 2] = field, value end

local function stored(field) return redis.call('HGET', key, field) or '' end

local time = redis.call('TIME')
local now = time[1] * 1e6 + time[2]

-- The server ------------------------------------------------------------------------------------

local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
if string.match(replication, 'role:(%l+)') ~= 'master' then --mutant:redis-replica
  -- What a replica has may be old. In these words, clients look for the master again.
  return redis.error_reply("READONLY You can't write against a read only replica.")
end
local process = string.match(server, 'run_id:(%x+)')
local history = string.match(replication, 'master_replid:(%x+)')
if not process or not history then return redis.error_reply('NOLINEAGE') end

local function received()
  return string.match(redis.call('INFO', 'stats'), 'total_net_repl_input_bytes:(%d+)')
end

-- same reports whether a history with a new name is that of which the namespace has the old name:
-- the process has not followed another server since it had received some bytes. doc.go says why.
local function same(bytes)
  return string.find(replication, 'master_replid2:0+%s')
    and string.find(replication, 'second_repl_offset:%-1%s')
    --mutant:redis-backup
    and received() == bytes
end

-- lineage is the process and the first name of its history that the namespace knows; origin is
-- that on record, followed there by the last name, and what the server had received as a replica.
local origin, last, bytes = string.match(stored('origin'), '^(%S+) (%S+) (%S+)$')
local lineage = process .. '-' .. history
--mutant:redis-failover
if origin and string.sub(origin, 1, #process) == process and (last == history or same(bytes)) then
  lineage = origin
end
-- A durable server that has followed no other one has its data from its own disk.
if origin and req.durable and same('0') then lineage = origin end --mutant:redis-durable

-- Leases ----------------------------------------------------------------------------------------

local function page(id) return 'l:' .. math.floor(id / PAGE), id % PAGE * DIGITS end

-- left returns how long a key lasts, in milliseconds; -1: for ever; -2: it is not there.
local function left(name) return name and redis.call('PTTL', name) or -2 end

local function held(name) return left(name) ~= -2 end

-- leads returns the worker ID that a token holds; -1: none.
local function leads(token)
  local id = token and stored('t:' .. token) or ''
  return id ~= '' and held((string.gsub(key, 'namespace$', 'worker:' .. id))) and id or '-1'
end

-- leased returns a page of leases after that of a worker ID was set.
local function leased(id, millis)
  local field, at = page(id)
  local all = string.sub(stored(field) .. string.rep('0', PAGE * DIGITS), 1, PAGE * DIGITS)
  local ends = millis < 0 and FOREVER or now + millis * 1000
  local before, after = string.sub(all, 1, at), string.sub(all, at + DIGITS + 1)
  return field, before .. string.format('%016.0f', ends) .. after
end

-- Writing ---------------------------------------------------------------------------------------

-- refusal returns why a write is refused; empty: it is done. It corrects the hint of a lease.
local function refusal(w)
  if w.settles then
    --mutant:redis-deadline
    if w.settles ~= lineage or now > w.deadline then return 'lineage' end
  elseif origin ~= lineage then
    return 'lineage'
  end
  if stored('meta') ~= w.meta then return 'meta' end
  if w.opens > now then return 'ahead' end
  if leads(w.token) ~= '-1' then return 'token' end
  --mutant:redis-used
  if w.unused and redis.call('HLEN', key) > 3 then return 'used' end -- meta, origin, n
  --mutant:redis-slot
  if w.id and stored(w.id) ~= w.slot then return 'slot' end
  --mutant:redis-lease-key
  if w.id and held(lease) ~= w.owned then
    local millis = left(lease) % FOREVER -- of a key without a TTL: very long
    --mutant:redis-later
    redis.call('HSET', key, leased(w.id, w.owned and 0 or math.min(millis, LATER)))
    return 'slot'
  end
  return ''
end

-- write writes the lease first: without the right to do that, nothing is written.
local function write(w)
  local set = {'n', string.format('%.0f', (tonumber(stored('n')) or 0) + 1)}
  for field, value in pairs(w.set) do put(set, field, value) end
  if w.settles or last ~= history then
    origin, last = lineage, history
    put(set, 'origin', lineage .. ' ' .. history .. ' ' .. (received() or '?'))
  end
  if w.lease then
    put(set, leased(w.id, w.lease))
    if w.lease == 0 then
      redis.call('DEL', lease)
    elseif w.lease < 0 then
      redis.call('SET', lease, w.holder)
    else
      redis.call('SET', lease, w.holder, 'PX', w.lease)
    end
  end
  redis.call('HSET', key, unpack(set)) -- all at once, and before what a missing right may prevent
  for _, field in ipairs(w.del or {}) do
    if stored(field) == w.id then redis.call('HDEL', key, field) end
  end
end

local refused = ''
if req.write then
  refused = refusal(req.write)
  if refused == '' then write(req.write) end
end

-- Reading ---------------------------------------------------------------------------------------

-- The reply is texts: nine that step.go names, and fields with their values.
local reply = {
  refused, lineage, origin or 'none',
  req.info and server .. replication .. redis.call('INFO', 'memory')
    .. redis.call('INFO', 'persistence') or '',
  string.format('%.0f', now), string.format('%.0f', tonumber(stored('n')) or 0),
  redis.call('HLEN', key) .. '', leads(req.token), held(lease) and '1' or '0',
}
local values = redis.call('HMGET', key, unpack(req.get))
for i, field in ipairs(req.get) do
  if values[i] then put(reply, field, values[i]) end
end
if req.match then
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.find(field, req.match) then put(reply, field, stored(field)) end
  end
end
return reply
