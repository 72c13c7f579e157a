-- The steps of the protocol that are arithmetic on a slot. The functions have the names of
-- those in Go's package protocol, and a test compares them. They change the slot that they
-- are given, but for granted.

-- opens is NotBefore of the next grant.
local function opens(meta, s) return math.max(s.notAfter, floor(meta)) end

-- granted is the slot of a new grant, whose generation comes with the request.
local function granted(meta, old, req)
  local from = opens(meta, old)
  return {
    version = VERSION, token = req.token, identity = req.identity, holder = req.holder, generation = req.generation,
    notBefore = from, notAfter = math.max(from, math.min(req.wanted, req.lastTick)), lastTick = req.lastTick,
    since = stamp(now), renewed = stamp(now), ttl = req.ttl, retired = false,
  }
end

-- extended renews a slot for the holder of g until a tick. It returns NotBefore of the
-- result, and whether the window can grow: below the floor it cannot. Then the lease is
-- kept, and the slot ends where it did, or where g does if the server has forgotten that.
local function extended(s, g, to, wanted)
  s.renewed = stamp(now)
  s.notAfter = math.min(math.max(s.notAfter, g.notAfter), s.lastTick)
  local notAfter, from = math.min(math.max(s.notAfter, wanted), s.lastTick), g.notBefore
  local cut = math.max(to, s.notBefore)
  if cut > g.notAfter then
    -- The window of this caller ends below it, whatever is stored.
    if cut >= math.min(notAfter, s.lastTick - 1) then return from, false end
    from, s.notBefore = cut, cut
  end
  s.notAfter = notAfter
  return from, true
end

-- copied reports whether somebody else has extended the window of g, with its token and
-- generation: a copy of its holder. A piece above the window is no extension: the next
-- renewal tells.
local function copied(s, g) return s.notBefore <= g.notAfter and s.notAfter > math.max(g.notAfter, g.asked) end

-- resumed gives a slot to another token, beside the renewal.
local function resumed(s, token) s.token, s.generation = token, s.generation + 1 end

-- trimmed releases the slot of g. What the server has forgotten of the window, the holder
-- may have stamped.
local function trimmed(s, g, last)
  s.token = ''
  s.notAfter = math.min(math.max(s.notAfter, g.notAfter), s.lastTick)
  s.notAfter = math.min(s.notAfter, math.max(last, s.notBefore))
end

-- withdrawn retires a slot. Its new generation has the holder's next renewal refused.
local function withdrawn(meta, s, generation)
  if s.generation == 0 then s.lastTick, s.since, s.ttl = meta.lastTick, stamp(now), 1 end
  s.generation, s.token, s.retired, s.renewed = generation, '', true, stamp(now)
end
