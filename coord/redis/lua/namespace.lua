-- The namespace as a whole: the server that it is on, its floor, and what to do about a
-- loss of state. The functions that compute have the names of those in Go's package
-- protocol, and a test compares them.

-- The server --------------------------------------------------------------------

-- ids reads the names of the server and of the history of its data. A failover, a
-- restart and a move to another node of a Cluster change them. Both halves are needed:
-- of a server that was a replica for a while, only the second one is new.
local function ids()
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
  return id, history, replication
end

-- lineage is what is stored of them.
local function lineage()
  local id, history, replication = ids()
  return id .. '-' .. history, replication
end

-- received returns how many bytes the server has received as a replica; nil: it does
-- not say.
local function received() return tonumber(string.match(call('INFO', 'stats'), 'total_net_repl_input_bytes:(%d+)')) end

-- moved reports whether the data may have taken another course since the lineage of the
-- namespace was stored. That the history has a new name is not enough: a master that
-- gets its first replica, or one redis-cli --rdb, begins a history and forgets the name
-- of the one before, and so does one that has had no replica for long. doc.go says why
-- what is compared here tells these from a server that was a replica in between.
local function moved(meta, current, replication)
  if string.match(meta.lineage, '^%x+%-') ~= string.match(current, '^%x+%-') then return true end
  local first = string.find(replication, 'master_replid2:0+%s') and string.find(replication, 'second_repl_offset:%-1%s')
  if not first then return true end
  return received() ~= meta.received
end

-- Arithmetic --------------------------------------------------------------------

-- ward is the tick until which windows that were forgotten can reach, if that is
-- noticed at a time. It holds for whatever horizon their holders had. What was lost
-- before the epoch are windows that have not begun.
local function ward(meta, at)
  local longest = math.max(horizon, (meta.maxHorizon or 0) * 1000)
  return math.max(math.min(tick(meta, at) + ticks(meta, longest) + ticks(meta, skew), LARGEST), 0)
end

-- reach is the tick that no window reaches beyond, whatever its holder's clock says.
-- A server that succeeds this one, and whose clock may be behind by the skew bound,
-- does not end a quarantine before it.
local function reach(scale) return tick(scale, now) + ticks(scale, horizon) end

-- floor is the tick that nothing is granted or extended below. A loss so late that the
-- windows which may be lost reach the end of the layout leaves nothing.
local function floor(meta)
  if meta.loss.floor >= meta.lastTick - 1 then return meta.lastTick end
  return math.max(meta.floor, meta.loss.floor)
end

local function closed(meta) return meta.floor >= meta.lastTick end

-- afterLoss raises the floor as a loss demands that is noticed now, and puts that on
-- record. It never closes a namespace. A floor that the caller's process knows holds on,
-- although the server may have forgotten it.
local function afterLoss(meta)
  local to = math.min(ward(meta, now), meta.lastTick - 1)
  meta.floor = math.max(meta.floor, meta.loss.floor, to)
  if known.nonce ~= '' and known.fingerprint == meta.fingerprint then
    meta.floor, meta.base = math.max(meta.floor, known.floor), math.max(meta.base, known.base)
  end
  meta.loss = {nonce = random, floor = to, found = now}
end

-- settles reports whether the loss on record explains what a process has noticed that
-- knew the loss of that name, so that the floor need not be raised again. What it has
-- noticed, it has seen at a time, or before. Two servers' clocks may be off by the skew
-- bound each.
local function settles(meta, name, seen)
  return meta.loss.nonce ~= '' and meta.loss.nonce ~= name and meta.loss.floor > ward(meta, seen) + 2 * ticks(meta, skew)
end

-- quarantine raises the floor to a tick that somebody has asked for.
local function quarantine(meta, t)
  if t > meta.lastTick then stop('BEYOND', meta.lastTick, meta.epoch, meta.unit) end
  meta.floor, meta.base = math.max(meta.floor, t), math.max(meta.base, t)
end

-- lowered lowers the floor to where windows that were forgotten can reach by now, but
-- not below its base.
local function lowered(meta)
  if closed(meta) then stop('CLOSED') end
  meta.floor = math.min(math.max(meta.floor, meta.loss.floor), math.max(ward(meta, now), meta.base))
  meta.loss.floor = math.min(meta.loss.floor, meta.floor)
end

-- The record --------------------------------------------------------------------

-- space reads the five of the script's arguments from i on that describe a namespace;
-- nil if the first is empty.
local function space(i)
  if args[i] == '' then return nil end
  return {
    fingerprint = args[i], epoch = tonumber(args[i + 1]), unit = tonumber(args[i + 2]),
    lastTick = tonumber(args[i + 3]), capacity = tonumber(args[i + 4]),
  }
end

-- new makes the record of a namespace from its layout.
local function new(given, current)
  given.version, given.minReader, given.nonce, given.maxHorizon = META_VERSION, META_VERSION, random, 0
  given.floor, given.base, given.loss, given.generation = 0, 0, {nonce = '', floor = 0, found = 0}, 0
  given.lineage, given.received = current, received() or 0
  return given
end

local function save(meta) call('HSET', hash, 'meta', encode(META, meta)) end

-- peek returns the namespace's record; nil if there is none.
local function peek()
  local text = call('HGET', hash, 'meta')
  if not text then
    if call('EXISTS', hash) == 1 then damaged('meta', 'the field is missing and there are others') end
    return nil
  end
  local meta, why = decode(META, text, function(record)
    -- What there is to say of another version, Go knows.
    if record.version < META_VERSION or (tonumber(record.minReader) or META_VERSION) > META_VERSION then stop('OTHER', text) end
  end)
  if not meta then damaged('meta', why) end
  if meta.unit == 0 or meta.lastTick == 0 or meta.capacity == 0 or meta.fingerprint == '' or meta.nonce == '' then
    damaged('meta', 'unit, lastTick, capacity, fingerprint or nonce is 0 or empty')
  end
  if meta.base > meta.floor then
    damaged('meta', 'base is ' .. int(meta.base) .. ' and floor is ' .. int(meta.floor) .. '; the floor is not below the base')
  end
  meta.generation = lastGeneration()
  return meta
end

-- distant reports whether a clock that said so when the request was sent is too far from
-- the server's now.
local function distant(theirs) return theirs - now > skew or now - theirs > skew + slack end

-- agree refuses a caller whose clock is too far from this server's.
local function agree()
  if distant(tonumber(ARGV[#ARGV])) then stop('SKEW', now) end
end

-- remember makes a quarantine one that Init does not end. It is for a grant that the
-- server does not know: whoever shows one had it before the loss, so that the
-- namespace is not new.
local function remember(meta)
  if meta.loss.floor > meta.floor then
    meta.floor = meta.loss.floor
    save(meta)
  end
end

-- lasts reports whether the loss on record explains what a process has noticed while its
-- quarantine lasts: it was seen before that loss was found. What was granted since may
-- reach beyond the end of the quarantine, which does not protect it.
local function lasts(meta, name, seen)
  return tick(meta, now) <= meta.loss.floor and meta.loss.nonce ~= name and seen <= meta.loss.found
end

-- misses reports whether the caller's process knows of a floor that an operator has asked
-- for, and the server has forgotten it. No loss on record explains that.
local function misses(meta)
  return known.nonce ~= '' and known.fingerprint == meta.fingerprint and known.base > meta.base
end

-- lost is called where the caller shows what the server has forgotten. It was seen at a
-- time by a process that knew the loss of that name.
local function lost(meta, name, seen)
  if not misses(meta) and (lasts(meta, name, seen) or settles(meta, name, seen)) then
    remember(meta)
  else
    afterLoss(meta)
    save(meta)
  end
end

-- seen returns when something was seen, by the server's clock. One that was set back
-- since does not make it later than it was.
local function seen(x) return math.min(now - x.age, x.at) end

-- recall is lost for what the caller's process knows of the namespace.
local function recall(meta)
  if known.nonce ~= '' and (known.nonce ~= meta.nonce or known.generation > meta.generation) then
    lost(meta, known.loss, seen(known))
  end
end

-- enter returns the namespace's record. If there is none it is made from the given
-- space, or nil is returned without one. A record that is new, or that another server
-- or another history of it has left, means that windows may have been forgotten:
-- nothing is granted or extended until they are over. For how long that is, this
-- server's clock decides, so it has to agree with the caller's first; vet says whether
-- it does. The same follows where the caller's process knows more than the server.
local function enter(given, vet)
  local current, replication = lineage()
  local meta = peek()
  if not meta then
    if not given then return nil end
    vet(given)
    meta = new(given, current)
    afterLoss(meta)
    -- Nothing tells a new namespace from a lost one, but a process that knew it.
    if known.nonce == '' then meta.floor = 0 end
    save(meta)
  elseif meta.lineage ~= current then
    if moved(meta, current, replication) then
      vet(meta)
      -- It was declared, so it may have been used: Init does not end this one.
      afterLoss(meta)
    end
    meta.lineage, meta.received = current, received() or 0
    save(meta)
  end
  recall(meta)
  entered = meta
  return meta, replication
end

-- Grants ------------------------------------------------------------------------

-- grantOf reads the eleven of the script's arguments from i on that describe a caller's
-- grant: worker ID, token, generation, NotBefore and NotAfter; the namespace and the
-- loss on record when it was granted or last extended, how long ago that was, and the
-- server's clock then; the loss that explains why it was forgotten, if the caller was
-- told; and the last tick until which the caller has asked for it, empty if that is not known.
-- With an empty namespace, nobody knows whether it was granted.
local function grantOf(i)
  return {
    id = args[i], token = args[i + 1], generation = tonumber(args[i + 2]),
    notBefore = tonumber(args[i + 3]), notAfter = tonumber(args[i + 4]),
    nonce = args[i + 5], loss = args[i + 6], age = tonumber(args[i + 7]), at = tonumber(args[i + 8]),
    explained = args[i + 9], asked = tonumber(args[i + 10]) or math.huge,
  }
end

-- holds reports whether a slot is that of a caller's grant. One that is free is nobody's.
local function holds(s, g) return g.token ~= '' and s.token == g.token and s.generation == g.generation end

-- proves reports whether a caller's grant shows that the server has forgotten something.
-- A slot's generation never falls and is given to one holder; its window is cut only
-- when it is released, which takes the token away.
local function proves(meta, s, g)
  if g.nonce == '' or g.explained ~= '' and g.explained == meta.loss.nonce then return false end
  if g.nonce ~= meta.nonce then return true end
  if holds(s, g) then return g.notAfter > s.notAfter end
  return g.generation > s.generation or g.generation == s.generation and s.token ~= ''
end

-- shown deals with what a caller's grant proves. It returns the loss that explains it
-- from then on; empty: it proves nothing.
local function shown(meta, s, g)
  if not proves(meta, s, g) then return '' end
  lost(meta, g.loss, seen(g))
  return meta.loss.nonce
end
