-- What all scripts share, together with namespace.lua and slot.lua. A script is these
-- three and its own after them.
--
-- KEYS[1] is the hash of the namespace; the names of all other keys follow from it,
-- and its braces put them in one slot of a Cluster. Of the arguments, the first twelve
-- are the same for all scripts: [1] MaxHorizon and [2] the skew bound; [3] for how long
-- the caller's clock reading was under way, at most; [4] a random name for what is made;
-- and what the caller's process knows of the namespace, see known. What follows is each
-- script's own, args, and the last is the caller's clock. Times are in microseconds,
-- since 1970.
--
-- Numbers of Lua are doubles: whole up to 2^53 and no further. No number is ever
-- turned into text but by int(), because tostring and cjson round.

local hash = KEYS[1]
local prefix = string.sub(hash, 1, -6) -- without "slots"
local horizon, skew, slack, random = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

-- known is the namespace as the caller's process saw it last: an empty nonce if it never
-- did. At is the server's clock of that moment, and age is how long ago it was.
local known = {
  fingerprint = ARGV[5], nonce = ARGV[6], loss = ARGV[7], generation = tonumber(ARGV[8]),
  base = tonumber(ARGV[9]), age = tonumber(ARGV[10]), at = tonumber(ARGV[11]),
}
local args = {unpack(ARGV, 12)}

local LARGEST = 9007199254740991 -- 2^53 - 1
local PAGE = 16 -- how many worker IDs one acquisition looks at, at most, in each index
local SHARES = 32 -- how many shares have an index at a time
local FOREVER = 1e12 -- milliseconds: a lease that an operator has made to last
local VERSION = 1 -- of everything that is stored but the namespace's record
local META_VERSION = 2 -- of that

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
local entered -- the namespace's record, once enter has looked at it

-- run runs a script's main function and returns its reply, or that of stop, and with it
-- what the caller's process is to remember of the namespace; or that of fail.
local function run(main)
  local ok, r = pcall(function()
    local clock = call('TIME')
    now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
    return main()
  end)
  if not ok then
    if type(r) ~= 'table' then error(r, 0) end
    r = r.reply
    if r.err then return r end
  end
  local m = entered
  return {m and {m.fingerprint, m.nonce, m.loss.nonce, m.generation, m.base, now} or {}, r}
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

local LOSS = {
  {'nonce', 'string'}, -- random: each loss has another one; empty: none was noticed
  {'floor', 'number'}, -- counts like the floor of the namespace
  {'found', 'number'}, -- when the loss was noticed, by the server's clock
}

-- The namespace's record has the fields of Go's protocol.Meta. Later versions add none:
-- they add fields of the hash, which this one leaves alone.
local META = {
  {'version', 'number'},
  {'minReader', 'number'}, -- the lowest version of a program that may read it
  {'fingerprint', 'string'}, {'epoch', 'number'}, {'unit', 'number'},
  {'lastTick', 'number'}, {'capacity', 'number'},
  {'nonce', 'string'}, -- random: a namespace that is made again has another one
  {'lineage', 'string'}, -- the server, and the history of its data
  {'maxHorizon', 'number'}, -- milliseconds; 0: that of the driver
  {'floor', 'number'}, -- raised by an operator, and by a loss that is certain
  {'base', 'number'}, -- the floor is never lowered below this tick
  {'loss', 'table', LOSS}, -- the last loss of state
  {'received', 'number'}, -- bytes that the server had received as a replica, see moved
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
    elseif field[2] == 'table' then
      v = encode(field[3], v)
    else
      v = tostring(v)
    end
    out[i] = '"' .. field[1] .. '":' .. v
  end
  return '{' .. table.concat(out, ',') .. '}'
end

-- check returns what is wrong with the types of a record's fields; nil: nothing.
local function check(fields, record)
  for _, field in ipairs(fields) do
    local v = record[field[1]]
    if type(v) ~= field[2] then return 'the field "' .. field[1] .. '" is missing or is no ' .. field[2] end
    if field[2] == 'number' and not (v >= 0 and v <= LARGEST and v % 1 == 0) then
      return 'the field "' .. field[1] .. '" is no whole number from 0 to ' .. int(LARGEST)
    end
    local why = field[2] == 'table' and check(field[3], v)
    if why then return why end
  end
end

-- decode reads what encode wrote, and nothing else: it returns the record, or nil
-- and what is wrong. Readable says what is wrong with the version, if anything is.
local function decode(fields, text, readable)
  local ok, record = pcall(cjson.decode, text)
  if not ok or type(record) ~= 'table' then return nil, 'the value is not a JSON object, perhaps truncated' end
  local why = type(record.version) == 'number' and readable(record) or check(fields, record)
  if why then return nil, why end
  if encode(fields, record) ~= text then
    return nil, 'a field is unknown, given twice, out of order, or in a form that this program does not write'
  end
  return record
end

-- sameVersion is for records of which every version has another form.
local function sameVersion(record)
  if record.version ~= VERSION then
    return 'the value has version ' .. string.format('%.17g', record.version) .. ' and this program reads version ' .. VERSION
  end
end

local function damaged(field, why) stop('DAMAGED', field, why) end

-- Slots -------------------------------------------------------------------------

-- slot returns the record of a worker ID; nil and a reason if it is damaged. One that
-- was never granted has generation 0.
local function slot(id)
  local text = call('HGET', hash, id)
  if not text then
    return {version = VERSION, token = '', identity = '', holder = '', generation = 0, notBefore = 0, notAfter = 0, retired = false}
  end
  local s, why = decode(SLOT, text, sameVersion)
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

-- gone returns what a caller is told of a slot that is not that of its grant.
local function gone(s, g)
  local state = 'held'
  if s.retired then
    state = 'retired'
  elseif s.token == '' then
    state = s.generation > g.generation and 'passed' or 'free'
  end
  return state, s.holder, s.since, int(s.generation)
end

local function lease(id) return prefix .. 'worker:' .. id end

-- hold makes the lease of a slot's holder last from now on. Its value is for people.
local function hold(id, s)
  call('SET', lease(id), '{"token":' .. quote(s.token) .. ',"holder":' .. quote(s.holder) .. ',"since":' .. quote(s.since) .. '}', 'PX', int(s.ttl))
end

-- lastGeneration is the highest one that was given out, or above it.
local function lastGeneration()
  local text = call('HGET', hash, 'gen')
  local n = text and tonumber(text) or 0
  if text and text ~= int(n) then damaged('gen', 'the value is not a number that this program has written') end
  return n
end

-- nextGeneration is above all that were given out before.
local function nextGeneration(meta, s)
  meta.generation = math.max(meta.generation, s.generation) + 1
  return meta.generation
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
