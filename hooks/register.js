// Claude Code's own login for the judges: `judge.backend: host`. Claude Code 2.1.287 and later load this file and call `register`.
//
// Python decides everything. It may leave a request, `SESSION.N.ask`, in the folder below; this file passes it to the model and writes the
// result to `SESSION.N.answer`. `SESSION.open` is not empty while somebody listens: while a prompt's hook runs, while Claude runs a
// `memory` command, and some seconds after a reply, which a background process scores. The folder exists only after the user chose this
// backend; without it, everything passes untouched, and if anything here fails, the rules answer without a judge.

const FOLDER = "lcars/memory/judge/host"
const LONGEST_MS = 10_000
const SESSION = /^[\w-]{1,100}$/

const listeners = new Map() // session -> how many listen for it
const seen = new Set() // questions that were passed on
let isInteractive = false

const folderOf = async ($) => {
  const config = await $.env.get("CLAUDE_CONFIG_DIR")
  const home = (await $.env.get("HOME")) || (await $.env.get("USERPROFILE"))
  const folder = config ? `${config}/${FOLDER}` : home ? `${home}/.claude/${FOLDER}` : ""
  return folder && (await $.fs.exists(folder)) ? folder : ""
}

const answer = async ($, path) => {
  let result
  try {
    result = await $.model.complete(JSON.parse(await $.fs.read(path)))
  } catch {
    result = { isAnswered: false, reason: "refused" }
  }
  await $.fs.write(path.replace(/ask$/, "answer"), JSON.stringify(result) + "\n")
}

const poll = async ($, folder) => {
  for (const { name } of await $.fs.list(folder)) {
    const [session, , kind] = name.split(".")
    if (kind !== "ask" || !listeners.has(session) || seen.has(name)) continue
    seen.add(name)
    answer($, `${folder}/${name}`).catch(() => {})
  }
}

// Listen for the questions of a session until the returned function is called, or for LONGEST_MS.
const listen = async ($, session, everyMs) => {
  const folder = SESSION.test(session) ? await folderOf($) : ""
  if (!folder) return undefined
  const path = `${folder}/${session}.open`
  listeners.set(session, (listeners.get(session) ?? 0) + 1)
  await $.fs.write(path, String(await $.clock.now()))
  let isBusy = false
  const timer = $.clock.every(everyMs, async () => {
    if (isBusy) return
    isBusy = true
    await poll($, folder).catch(() => {})
    isBusy = false
  })
  let isOver = false
  const stop = async () => {
    if (isOver) return
    isOver = true
    timer.cancel()
    end.cancel()
    const others = listeners.get(session) - 1
    if (others) listeners.set(session, others)
    else {
      listeners.delete(session)
      await $.fs.write(path, "")
    }
  }
  const end = $.clock.after(LONGEST_MS, () => stop().catch(() => {}))
  return stop
}

const during = async ($, session, everyMs, work) => {
  const stop = await listen($, session, everyMs).catch(() => undefined)
  try {
    return await work()
  } finally {
    await stop?.().catch(() => {})
  }
}

export const register = (on) => {
  on("session.start", ($, e, next) => {
    isInteractive = e.isInteractive
    return next(e)
  })
  on("classic.UserPromptSubmit", ($, e, next) => during($, e.session_id, 10, () => next(e)))
  on("classic.Stop", async ($, e, next) => {
    if (isInteractive) await listen($, e.session_id, 100).catch(() => undefined)
    return next(e)
  })
  on("tool.call", { tool: "Bash" }, async ($, e, next) => {
    if (!/\bmemory\b/.test(e.command)) return next(e)
    return during($, await $.session.id().catch(() => ""), 20, () => next(e))
  })
}
