-- Lists the slots: for each that can be read its worker ID, state and record, for each
-- other its worker ID and what is wrong.

return run(function()
  lineage()
  local meta = peek()
  if not meta then return {'OK', 0, 0, '', {}, {}} end
  local rows, unreadable = {}, {}
  for _, id in ipairs(call('HKEYS', hash)) do
    if string.find(id, '^%d+$') then
      local s, why = slot(id)
      if s then
        local state = s.retired and 'retired' or call('EXISTS', lease(id)) == 1 and 'held' or 'free'
        rows[#rows + 1] = {tonumber(id), state, s.holder, s.identity, s.generation, s.notBefore, s.notAfter, s.since, s.renewed}
      else
        unreadable[#unreadable + 1] = {id, why}
      end
    end
  end
  return {'OK', meta.epoch, meta.unit, meta.fingerprint, rows, unreadable}
end)
