// Claude Code's own login for the judges: `judge.backend: host`. Claude Code 2.1.287 and later load this file and call `register`.
//
// Python decides everything. It may leave a request, `SESSION.N.ask`, in the folder below; this file passes it to the model and writes the
// result to `SESSION.N.answer`. `SESSION.open` holds a key while somebody listens: while a prompt's hook runs, while Claude runs a
// `memory` command, and some seconds after a reply, which a background process scores. A request without this key is not of our Python
// and gets no answer, and each time only a few are answered, whatever Python's own caps say. The folder exists only after the user chose
// this backend; without it, everything passes untouched, and if anything here fails, the rules answer without a judge.

const FOLDER = "lcars/memory/judge/host"
const LONGEST_MS = 10_000
const SESSION = /^[\w-]{1,100}$/
const OWN = /^\s*(?:python3? )?["']?(?:[^\s"';&|]*\/)?memory(?:\.py)?["']?(?:\s|$)/
const FEW = 8 // a prompt or a reply has two judges at most
const MANY = 60 // an evaluation

const listeners = new Map() // session -> {key, count: how many listen, left: how many questions are still answered}
const seen = new Set() // questions that were looked at
let isInteractive = false

const folderOf = async ($) => {
  const config = await $.env.get("CLAUDE_CONFIG_DIR")
  const home = (await $.env.get("HOME")) || (await $.env.get("USERPROFILE"))
  const folder = config ? `${config}/${FOLDER}` : home ? `${home}/.claude/${FOLDER}` : ""
  return folder && (await $.fs.exists(folder)) ? folder : ""
}

const answer = async ($, path, listener) => {
  let result
  const { key, ...request } = JSON.parse(await $.fs.read(path))
  if (key !== listener.key || listener.left < 1) return
  listener.left -= 1
  try {
    result = await $.model.complete(request)
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
    answer($, `${folder}/${name}`, listeners.get(session)).catch(() => {})
  }
}

// Listen for the questions of a session until the returned function is called, or for LONGEST_MS; answer at most `most` of them.
const listen = async ($, session, everyMs, most) => {
  const folder = SESSION.test(session) ? await folderOf($) : ""
  if (!folder) return undefined
  const path = `${folder}/${session}.open`
  const key = () => Math.random().toString(36).slice(2)
  const listener = listeners.get(session) ?? { key: key() + key(), count: 0, left: 0 }
  listener.count += 1
  listener.left = Math.max(listener.left, most)
  listeners.set(session, listener)
  await $.fs.write(path, listener.key)
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
    listener.count -= 1
    if (!listener.count) {
      listeners.delete(session)
      await $.fs.write(path, "")
    }
  }
  const end = $.clock.after(LONGEST_MS, () => stop().catch(() => {}))
  return stop
}

const during = async ($, session, everyMs, most, work) => {
  const stop = await listen($, session, everyMs, most).catch(() => undefined)
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
  on("classic.UserPromptSubmit", ($, e, next) => during($, e.session_id, 10, FEW, () => next(e)))
  on("classic.Stop", async ($, e, next) => {
    if (isInteractive) await listen($, e.session_id, 100, FEW).catch(() => undefined)
    return next(e)
  })
  on("tool.call", { tool: "Bash" }, async ($, e, next) => {
    if (!OWN.test(e.command)) return next(e)
    return during($, await $.session.id().catch(() => ""), 20, MANY, () => next(e))
  })
}
