-- What all scripts share. A script is this file and its own after it.
--
-- KEYS[1] is the hash of the namespace; the names of all other keys follow from it,
-- and its braces put them in one slot of a Cluster. ARGV[1] is MaxHorizon and
-- ARGV[2] the skew bound, both in microseconds; what follows is each script's own, and
-- the last is the caller's clock, in microseconds since 1970.
--
-- Numbers of Lua are doubles: whole up to 2^53 and no further. No number is ever
-- turned into text but by int(), because tostring and cjson round.

local hash = KEYS[1]
local prefix = string.sub(hash, 1, -6) -- without "slots"
local horizon, skew = tonumber(ARGV[1]), tonumber(ARGV[2])

local LARGEST = 9007199254740991 -- 2^53 - 1
local PAGE = 16 -- how many worker IDs one acquisition looks at, at most, in each index
local SHARES = 32 -- how many shares have an index at a time
local FOREVER = 1e12 -- milliseconds: a lease that an operator has made to last
local VERSION = 1 -- of everything that is stored

local function int(n) return string.format('%.0f', n) end

-- stop ends the script with a reply, fail with an error. (The pcall of Redis makes
-- text of a table with a field err, so that is wrapped.)
local function stop(...) error({reply = {...}}, 0) end
local function fail(message) error({reply = {err = message}}, 0) end

-- call makes a call to Redis. An error ends the script; nothing is written before
-- everything that can fail for another reason than a missing right has been read.
local function call(command, ...)
  local r = redis.pcall(command, ...)
  if type(r) ~= 'table' or not r.err then return r end
  if string.find(r.err, 'NOPERM') or string.find(r.err, "can't run this command") or string.find(r.err, "can't access") then
    stop('DENIED', command)
  elseif string.find(r.err, 'WRONGTYPE') then
    stop('FOREIGN', (...))
  end
  fail(r.err)
end

local now -- the server's clock, microseconds since 1970

-- run runs a script's main function and returns its reply, or that of stop or fail.
local function run(main)
  local ok, r = pcall(function()
    local clock = call('TIME')
    now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
    return main()
  end)
  if ok then return r end
  if type(r) ~= 'table' then error(r, 0) end
  return r.reply
end

-- Time --------------------------------------------------------------------------

-- tick returns the tick that a time lies in, rounded down, and exact.
local function tick(scale, micros)
  local d = micros - scale.epoch
  return (d - d % scale.unit) / scale.unit
end

-- ticks returns how many ticks cover so many microseconds.
local function ticks(scale, micros)
  local d = micros + scale.unit - 1
  return (d - d % scale.unit) / scale.unit
end

-- stamp prints a time. A date is counted in years that begin in March, so that the
-- day that comes every four years is the last.
local function stamp(micros)
  local seconds = math.floor(micros / 1000000)
  local day = math.floor(seconds / 86400) + 719468
  local era = math.floor(day / 146097)
  local doe = day - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local month = math.floor((5 * doy + 2) / 153)
  local year = yoe + era * 400
  local dom = doy - math.floor((153 * month + 2) / 5) + 1
  if month < 10 then month = month + 3 else month, year = month - 9, year + 1 end
  local s = seconds % 86400
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%06dZ', year, month, dom,
    math.floor(s / 3600), math.floor(s / 60) % 60, s % 60, micros % 1000000)
end

-- Records -----------------------------------------------------------------------

local META = {
  {'version', 'number'}, {'fingerprint', 'string'}, {'epoch', 'number'}, {'unit', 'number'},
  {'lastTick', 'number'}, {'capacity', 'number'},
  {'floor', 'number'}, -- raised by an operator, and by a grant that was forgotten
  {'quarantine', 'number'}, -- raised by a script that noticed a loss; the higher one counts
  {'lineage', 'string'}, -- the server, and the history of its data
}

local SLOT = {
  {'version', 'number'},
  {'token', 'string'}, -- empty: released or retired
  {'identity', 'string'}, {'holder', 'string'}, {'generation', 'number'},
  {'notBefore', 'number'}, {'notAfter', 'number'}, {'lastTick', 'number'},
  {'since', 'string'}, {'renewed', 'string'}, -- by the server's clock
  {'ttl', 'number'}, -- milliseconds
  {'retired', 'boolean'},
}

-- quote writes a text as JSON has it, without the strokes that cjson puts before
-- slashes.
local function quote(text) return (string.gsub(cjson.encode(text), '\\/', '/')) end

local function encode(fields, record)
  local out = {}
  for i, field in ipairs(fields) do
    local v = record[field[1]]
    if field[2] == 'number' then
      v = int(v)
    elseif field[2] == 'string' then
      v = quote(v)
    else
      v = tostring(v)
    end
    out[i] = '"' .. field[1] .. '":' .. v
  end
  return '{' .. table.concat(out, ',') .. '}'
end

-- decode reads what encode wrote, and nothing else: it returns the record, or nil
-- and what is wrong.
local function decode(fields, text)
  local ok, record = pcall(cjson.decode, text)
  if not ok or type(record) ~= 'table' then return nil, 'the value is not a JSON object, perhaps truncated' end
  if type(record.version) == 'number' and record.version ~= VERSION then
    return nil, 'the value has version ' .. string.format('%.17g', record.version) .. ' and this program reads version ' .. VERSION
  end
  for _, field in ipairs(fields) do
    local v = record[field[1]]
    if type(v) ~= field[2] then return nil, 'the field "' .. field[1] .. '" is missing or is no ' .. field[2] end
    if field[2] == 'number' and not (v >= 0 and v <= LARGEST and v % 1 == 0) then
      return nil, 'the field "' .. field[1] .. '" is no whole number from 0 to ' .. int(LARGEST)
    end
  end
  if encode(fields, record) ~= text then
    return nil, 'a field is unknown, given twice, out of order, or in a form that this program does not write'
  end
  return record
end

local function damaged(field, why) stop('DAMAGED', field, why) end

-- The server --------------------------------------------------------------------

-- lineage names the server and the history of its data. A failover, a restart and a
-- move to another node of a Cluster change it. Both halves are needed: of a server
-- that was a replica for a while, only the second one is new.
local function lineage()
  local server = call('INFO', 'server')
  local version = string.match(server, 'redis_version:([%d.]+)') or 'unknown'
  if (tonumber(string.match(version, '^%d+')) or 0) < 7 then stop('VERSION', version) end
  local replication = call('INFO', 'replication')
  if string.match(replication, 'role:(%l+)') ~= 'master' then
    -- What a replica has may be old, so that nothing can be concluded from it. In
    -- these words, clients drop the connection and look for the master again.
    fail("READONLY You can't write against a read only replica.")
  end
  local id, history = string.match(server, 'run_id:(%x+)'), string.match(replication, 'master_replid:(%x+)')
  if not id or not history then stop('LINEAGE') end
  return id .. '-' .. history, replication
end

-- The namespace -----------------------------------------------------------------

-- ward is the tick until which windows that were forgotten can reach, if that is
-- noticed now. It holds for whatever horizon their holders had.
local function ward(scale)
  return math.min(tick(scale, now) + ticks(scale, horizon) + ticks(scale, skew), LARGEST)
end

-- reach is the tick that no window reaches beyond, whatever its holder's clock says.
-- A server that succeeds this one, and whose clock may be behind by the skew bound,
-- does not end a quarantine before it.
local function reach(scale) return tick(scale, now) + ticks(scale, horizon) end

local function floor(meta) return math.max(meta.floor, meta.quarantine) end

-- space reads the five arguments from i on that describe a namespace; nil if the
-- first is empty.
local function space(i)
  if ARGV[i] == '' then return nil end
  return {
    fingerprint = ARGV[i], epoch = tonumber(ARGV[i + 1]), unit = tonumber(ARGV[i + 2]),
    lastTick = tonumber(ARGV[i + 3]), capacity = tonumber(ARGV[i + 4]),
  }
end

local function save(meta) call('HSET', hash, 'meta', encode(META, meta)) end

-- peek returns the namespace's record; nil if there is none.
local function peek()
  local text = call('HGET', hash, 'meta')
  if not text then
    if call('EXISTS', hash) == 1 then damaged('meta', 'the field is missing and there are others') end
    return nil
  end
  local meta, why = decode(META, text)
  if not meta then damaged('meta', why) end
  if meta.unit == 0 or meta.lastTick == 0 or meta.capacity == 0 or meta.fingerprint == '' then
    damaged('meta', 'unit, lastTick, capacity or fingerprint is 0 or empty')
  end
  return meta
end

-- agree refuses a caller whose clock is too far from this server's.
local function agree()
  if math.abs(tonumber(ARGV[#ARGV]) - now) > skew then stop('SKEW', now) end
end

-- enter returns the namespace's record. If there is none it is made from the given
-- space, or nil is returned without one. A record that is new, or that another server
-- or another history of it has left, means that windows may have been forgotten:
-- nothing is granted or extended until they are over. For how long that is, this
-- server's clock decides, so it has to agree with the caller's first; vet says whether
-- it does.
local function enter(given, vet)
  local current, replication = lineage()
  local meta = peek()
  if not meta then
    if not given then return nil end
    vet(given)
    meta = given
    meta.version, meta.floor, meta.quarantine, meta.lineage = VERSION, 0, ward(given), current
    save(meta)
  elseif meta.lineage ~= current then
    vet(meta)
    meta.lineage, meta.quarantine = current, math.max(meta.quarantine, ward(meta))
    -- It was declared, so it may have been used: Init does not end this one.
    meta.floor = math.max(meta.floor, meta.quarantine)
    save(meta)
  end
  return meta, replication
end

-- remember makes a quarantine one that Init does not end. It is for a grant that the
-- server does not know: whoever shows one had it before the loss, so that the
-- namespace is not new.
local function remember(meta)
  if meta.quarantine > meta.floor then
    meta.floor = meta.quarantine
    save(meta)
  end
end

-- Slots -------------------------------------------------------------------------

-- slot returns the record of a worker ID; nil and a reason if it is damaged. One that
-- was never granted has generation 0.
local function slot(id)
  local text = call('HGET', hash, id)
  if not text then
    return {version = VERSION, token = '', identity = '', holder = '', generation = 0, notBefore = 0, notAfter = 0, retired = false}
  end
  local s, why = decode(SLOT, text)
  if not s then return nil, why end
  if s.generation == 0 then return nil, 'generation is 0; it starts at 1' end
  if s.ttl == 0 then return nil, 'ttl is 0' end
  if s.notAfter < s.notBefore then return nil, 'notAfter is ' .. int(s.notAfter) .. ' and notBefore is ' .. int(s.notBefore) .. '; a window does not end before it begins' end
  if s.notAfter > s.lastTick then return nil, 'notAfter is ' .. int(s.notAfter) .. '; the layout ends at tick ' .. int(s.lastTick) end
  if s.retired and s.token ~= '' then return nil, 'it is retired and has a token; one of them is wrong' end
  return s
end

-- sound is slot for a caller that cannot go on without it.
local function sound(id)
  local s, why = slot(id)
  if not s then damaged(id, why) end
  return s
end

local function lease(id) return prefix .. 'worker:' .. id end

-- hold makes the lease of a slot's holder last from now on. Its value is for people.
local function hold(id, s)
  call('SET', lease(id), '{"token":' .. quote(s.token) .. ',"holder":' .. quote(s.holder) .. ',"since":' .. quote(s.since) .. '}', 'PX', int(s.ttl))
end

-- nextGeneration is above all that were given out before.
local function nextGeneration(s)
  local text = call('HGET', hash, 'gen')
  local n = text and tonumber(text) or 0
  if text and text ~= int(n) then damaged('gen', 'the value is not a number that this program has written') end
  return math.max(n, s.generation) + 1
end

-- Indexes -----------------------------------------------------------------------
--
-- Each share of the worker IDs that somebody asks for has two sorted sets: of those
-- to be had, by the end of their stored window, and of those held, by the end of
-- their lease. Every worker ID of the share is in one of them. They only say where
-- to look; what is so, the slot and the lease say.

local function names(first, count, capacity)
  if first == 0 and count == capacity then return prefix .. 'free', prefix .. 'held' end
  local suffix = ':' .. int(first) .. '-' .. int(first + count - 1)
  return prefix .. 'free' .. suffix, prefix .. 'held' .. suffix
end

local registered -- the shares that have indexes, once they were read

local function shares()
  if registered then return registered end
  local all = {}
  registered = all
  for first, count in string.gmatch(call('HGET', hash, 'shares') or '', '(%d+)%+(%d+)') do
    all[#all + 1] = {first = tonumber(first), count = tonumber(count)}
  end
  return all
end

-- file puts a worker ID into one index of every share that it belongs to.
local function file(meta, id, free, score)
  local n = tonumber(id)
  for _, s in ipairs(shares()) do
    if n >= s.first and n < s.first + s.count then
      local f, h = names(s.first, s.count, meta.capacity)
      call('ZREM', free and h or f, id)
      call('ZADD', free and f or h, score, id)
    end
  end
end

local function fileFree(meta, id, s) file(meta, id, true, s and int(s.notAfter) or int(LARGEST)) end
local function fileHeld(meta, id, ttl) file(meta, id, false, int(now + ttl * 1000)) end
local function fileRetired(meta, id) file(meta, id, false, '+inf') end
