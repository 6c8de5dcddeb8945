-- Uses the server as a user does, and reads what the editor then holds.

local function fail(message)
  io.stderr:write("FAILED: " .. message .. "\n")
  vim.cmd("cquit 1")
end

local function check(condition, message)
  if not condition then
    fail(message)
  end
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function eventually(message, condition)
  check(vim.wait(30000, condition, 20), message .. ": " .. text())
end

local function contains(haystack, needle)
  return haystack:find(needle, 1, true) ~= nil
end

eventually("the server attaches", function()
  return #vim.lsp.get_clients({ bufnr = 0, name = "ptx_tc" }) == 1
end)

local function severity(code)
  for _, finding in ipairs(vim.diagnostic.get(0)) do
    if finding.code == code then
      return finding.severity, finding.lnum
    end
  end
end

-- Findings: the settings replace the module's target, ptx-tc.toml the severity.
eventually("TC104 is found", function()
  return severity("TC104") ~= nil and severity("TC201") == nil
end)
local level, line = severity("TC104")
check(level == vim.diagnostic.severity.WARN, "the configuration makes it a warning: " .. level)
check(line == 6, "in the seventh line, not in " .. line + 1)

-- Hover, as it is shown.
vim.api.nvim_win_set_cursor(0, { 7, 20 })
vim.lsp.buf.hover()
local shown
eventually("hover opens a window", function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      local buffer = vim.api.nvim_win_get_buf(window)
      shown = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
      vim.api.nvim_win_close(window, true)
      return true
    end
  end
end)
check(contains(shown, "32 lanes"), "hover explains the shape: " .. shown)

-- A code action changes the buffer, and the finding goes.
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action)
    return action.isPreferred
  end,
})
eventually("the action repairs the buffer", function()
  return contains(text(), "tcgen05.ld.sync.aligned.32x32b")
end)
eventually("the finding goes", function()
  return severity("TC104") == nil
end)

-- Renaming.
vim.api.nvim_win_set_cursor(0, { 8, 9 })
vim.lsp.buf.rename("result")
eventually("declaration and uses are renamed", function()
  return contains(text(), ".reg .b32 addr, result;")
    and contains(text(), "{result}, [addr]")
    and contains(text(), "mov.b32 result, addr")
end)

-- Going to the declaration.
vim.lsp.buf.definition()
eventually("the cursor is at the declaration", function()
  local cursor = vim.api.nvim_win_get_cursor(0)
  return cursor[1] == 6 and cursor[2] == 17
end)

-- Hints beside the text.
eventually("the load has a hint", function()
  local hints = vim.lsp.inlay_hint.get({ bufnr = 0 })
  return #hints == 1 and hints[1].inlay_hint.label == "1 register"
end)

-- Completion of a line that is being written.
vim.api.nvim_buf_set_lines(0, 8, 8, false, { "\ttcgen05.wait::" })
vim.api.nvim_win_set_cursor(0, { 9, 15 })
local params = vim.lsp.util.make_position_params(0, "utf-16")
local answers, problem = vim.lsp.buf_request_sync(0, "textDocument/completion", params, 30000)
local _, answer = next(answers or {})
check(answer and answer.result, "completion answers: " .. vim.inspect(problem or answer))
local labels = vim.tbl_map(function(item)
  return item.label
end, answer.result.items)
check(vim.list_contains(labels, "wait::ld"), "completion offers waits: " .. vim.inspect(labels))
vim.api.nvim_buf_set_lines(0, 8, 9, false, {})

-- Layout.
vim.bo.expandtab, vim.bo.shiftwidth = true, 2
vim.lsp.buf.format({ timeout_ms = 30000 })
check(contains(text(), "\n  ret;"), "the buffer is laid out: " .. text())

-- A source of CUDA: findings and repairs inside of its strings.
vim.cmd("write!")
vim.cmd.edit(vim.fs.joinpath(vim.fs.dirname(vim.api.nvim_buf_get_name(0)), "broken.cu"))
eventually("TC102 is found in CUDA", function()
  return severity("TC102") ~= nil
end)
local found = vim.diagnostic.get(0)[1]
check(found.lnum == 1 and found.col == 37, "at the qualifier: " .. vim.inspect(found))

-- A kernel is run from above it, by the key of the documentation.
vim.cmd.edit(vim.fs.joinpath(vim.fs.dirname(vim.api.nvim_buf_get_name(0)), "hang.ptx"))
local function lens()
  local lenses = vim.lsp.codelens.get(0)
  return #lenses == 1 and lenses[1].command and lenses[1].command.title
end
eventually("the kernel has a lens", function()
  return lens() == "simulate"
end)
vim.api.nvim_win_set_cursor(0, { 4, 0 })
vim.api.nvim_feedkeys("grx", "mx", false)
eventually("the run finds the deadlock", function()
  return severity("SIM101") == vim.diagnostic.severity.ERROR
end)
vim.api.nvim_exec_autocmds("BufEnter", { buffer = 0 })
eventually("the lens has the verdict", function()
  return lens() == "simulated: 1 finding (deadlock)"
end)

print("the server works in Neovim\n")
vim.cmd("qall!")
