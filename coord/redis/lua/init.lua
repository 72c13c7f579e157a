-- Declares a namespace new. ARGV[3..7] the namespace.

return run(function()
  local current = lineage()
  agree()
  local meta, given = peek(), space(3)
  if meta then
    if meta.fingerprint ~= given.fingerprint then stop('LAYOUT', meta.fingerprint) end
    local own = 0
    for _, field in ipairs({'meta', 'gen', 'shares'}) do own = own + call('HEXISTS', hash, field) end
    if call('HLEN', hash) > own then stop('NOTNEW') end
  end
  given.version, given.floor, given.quarantine, given.lineage = VERSION, meta and meta.floor or 0, 0, current
  -- What another server, or this one with another history, knows as declared may have
  -- been used there.
  if meta and meta.lineage ~= current then given.floor = math.max(given.floor, ward(meta)) end
  save(given)
  return {'OK'}
end)
