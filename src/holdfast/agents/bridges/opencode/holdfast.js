// Holdfast in opencode: it carries a workflow through compaction.
//
// `holdfast install --agent opencode` puts this file among opencode's plugins. It knows nothing of workflows:
// it hands what happens to `holdfast hook`, in the shape that Claude Code's hooks have, and hands the
// answers to opencode. Whatever goes wrong here, opencode goes on.

import { spawn } from "node:child_process"

// What is started, without a shell. `holdfast install` fills in its own path.
const PROGRAM = ["holdfast"]

const PATIENCE = 10_000 // milliseconds for an answer of Holdfast
const LOOK = 5_000 // milliseconds for an answer of opencode itself
const MOST = 1_000_000 // characters of an answer
const MOST_TRIES = 2 // to get the guidance, for one beginning of a session

// ---------------------------------------------------------------------------------------------
// What opencode calls. This table, and the functions up to the next line, are all that knows its names and
// shapes; where its plugin API changes, they do. Written for, and seen to work with, opencode 1.18.33.

const HOOKS = {
  event: (bridge, { event }) => EVENTS[event.type]?.(bridge, event.properties),

  "experimental.session.compacting": async (bridge, { sessionID }, output) => {
    const note = await bridge.compacting(sessionID)
    if (note) output.context.push(note)
  },

  // Before each request of a conversation and, after the one above, before the summariser's.
  "experimental.chat.messages.transform": async (bridge, _, { messages }) => {
    const talk = conversation(messages)
    const told = talk && (await bridge.request(talk))
    if (told) insert(messages, told)
  },

  "shell.env": async (bridge, { sessionID }, output) => {
    Object.assign(output.env, await bridge.variables(sessionID))
  },

  "tool.execute.before": async (bridge, { tool, sessionID, callID }, { args }) => {
    for (const use of CHANGES[tool]?.(args) ?? []) await bridge.toolBegins(sessionID, callID, use)
  },

  "tool.execute.after": (bridge, { tool, sessionID, callID, args }, output) => {
    const reminder = bridge.reminder(callID)
    if (reminder) output.output = `${output.output}\n\n${reminder}`
    bridge.toolEnds(sessionID, TOOLS[tool]?.(args, output.metadata) ?? [])
  },

  dispose: (bridge) => bridge.settled(),
}

const EVENTS = {
  "session.created": (bridge, { info }) => bridge.created(info.id, about(info)),
  "session.deleted": (bridge, { info }) => bridge.forget(info.id),
}

// Tools that change files, and all that is noted, as Claude Code would name and describe each use.
const CHANGES = {
  edit: ({ filePath }) => [{ tool_name: "Edit", tool_input: { file_path: filePath } }],
  write: ({ filePath }) => [{ tool_name: "Write", tool_input: { file_path: filePath } }],
  apply_patch: ({ patchText }) =>
    [...String(patchText).matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm)].map((found) => ({
      tool_name: "Edit",
      tool_input: { file_path: found[1].trim() },
    })),
}
const TOOLS = {
  ...CHANGES,
  read: ({ filePath }) => [{ tool_name: "Read", tool_input: { file_path: filePath } }],
  todowrite: ({ todos }) => [{ tool_name: "TodoWrite", tool_input: { todos } }],
  bash: ({ command }, metadata) => [{ tool_name: "Bash", tool_input: { command }, ...ended(metadata?.exit) }],
}

/** How a command ended. Without an exit code it was stopped. */
function ended(code) {
  if (code === 0) return {}
  return Number.isInteger(code) ? { error: `Exit code ${code}` } : { tool_response: { interrupted: true } }
}

/** What is to be known of a session. */
function about(info) {
  return { parent: info.parentID, folder: info.directory, born: info.time.created }
}

async function look(client, id) {
  const { data } = await within(LOOK, client.session.get({ path: { id } }))
  return data && about(data)
}

/** What began the compaction that goes on in a session. */
async function trigger(client, id) {
  const { data } = await within(LOOK, client.session.messages({ path: { id }, query: { limit: 10 } }))
  return began(data?.findLast(compaction))
}

function began(message) {
  return message && compaction(message).auto ? "auto" : "manual"
}

function compaction(message) {
  return message.parts.find((part) => part.type === "compaction")
}

/** What the messages of a request tell of its session; times are 0 for never. */
function conversation(messages) {
  const prompts = messages.filter((each) => each.info.role === "user" && !compaction(each))
  if (!prompts.length) return undefined
  const answers = messages.filter((each) => each.info.role === "assistant")
  const last = newest(answers.filter(({ info }) => info.summary && info.finish && !info.error))
  const words = last?.parts.filter((part) => part.type === "text").map((part) => part.text)
  return {
    session: prompts[0].info.sessionID,
    prompt: prompts.at(-1).info.id,
    answered: newest(answers.filter(({ info }) => !info.summary))?.info.time.created ?? 0,
    compacted: last?.info.time.created ?? 0,
    trigger: last && began(messages.find((each) => each.info.id === last.info.parentID)),
    summary: words?.join("\n") ?? "",
  }
}

function newest(messages) {
  return [...messages].sort((one, other) => one.info.time.created - other.info.time.created).at(-1)
}

/** Put what is told before the prompt that it belongs to; it is not stored, so each request needs it. */
function insert(messages, told) {
  const known = messages.findIndex((each) => each.info.id === told.at)
  const place = known < 0 ? messages.findLastIndex((each) => each.info.role === "user") : known
  const { info, parts } = messages[place]
  told.at = info.id
  const part = { id: "prt_holdfast", sessionID: info.sessionID, messageID: info.id, type: "text" }
  // A message of its own making: opencode may be making a title out of the other one.
  messages[place] = { info, parts: [{ ...part, text: told.text, synthetic: true }, ...parts] }
}

/** Show the person a line. Where nobody looks, it is in opencode's log. */
async function show(client, message, level) {
  const toast = { title: "Holdfast", message, variant: level === "warn" ? "warning" : "info" }
  const ways = [
    () => client.tui.showToast({ body: toast }),
    () => client.app.log({ body: { service: "holdfast", level, message } }),
  ]
  await Promise.allSettled(ways.map(async (way) => way()))
}

// ---------------------------------------------------------------------------------------------

/** A tool call that is not to be made; its message is for the model. */
class Denied extends Error {}

class Bridge {
  constructor(client, folder) {
    this.client = client
    this.folder = folder
    this.sessions = new Map()
    this.reminders = new Map()
    this.running = new Set()
    this.said = new Set()
  }

  created(id, facts) {
    this.sessions.set(id, { id, ...facts, fresh: true })
  }

  forget(id) {
    this.sessions.delete(id)
  }

  /** What is known of a session; it was begun before this process where nothing is. */
  async session(id) {
    if (!this.sessions.has(id)) {
      const facts = await look(this.client, id)
      if (!facts) return undefined
      if (!this.sessions.has(id)) this.sessions.set(id, { id, ...facts })
    }
    return this.sessions.get(id)
  }

  /** The session that a person sees: of a subagent's, the one that it works for. */
  async mainOf(session) {
    let main = session
    for (let steps = 0; main?.parent && steps < 10; steps++) main = await this.session(main.parent)
    return main
  }

  async compacting(id) {
    const session = await this.session(id)
    if (!session || session.parent) return ""
    session.summarising = true
    await this.settled()
    // What began it is no reason not to save.
    const began = await trigger(this.client, id).catch(() => "auto")
    return this.ask("PreCompact", session, { trigger: began, custom_instructions: null })
  }

  /** What is to be told in a request: the same until the session is compacted, and then anew. */
  async request(talk) {
    const session = await this.session(talk.session)
    if (!session || session.parent) return undefined
    // The summariser's request has no finished compaction in it, which all others have from the first on.
    const summarises = session.summarising && !talk.compacted
    session.summarising = false
    if (summarises) return undefined
    const told = session.told
    if (!told || talk.compacted > told.since || (told.text === undefined && told.tries < MOST_TRIES)) {
      const again = told?.since === talk.compacted
      // The model may have answered since the first try; the compaction is to be told all the same.
      const from = again && told.from === "compact" ? told.from : source(session, talk)
      const text = await this.begin(session, talk, from)
      session.told = { since: talk.compacted, at: talk.prompt, tries: again ? told.tries + 1 : 1, from, text }
    }
    return session.told.text ? session.told : undefined
  }

  /** The guidance for a session that begins or goes on; undefined where Holdfast did not answer. */
  async begin(session, talk, from) {
    if (from === "compact" && session.ended !== talk.compacted) {
      // Here and not at the end of the compaction, after which opencode may be ended at once.
      const more = { trigger: talk.trigger, compact_summary: talk.summary }
      const noted = await this.ask("PostCompact", session, more)
      // It counts: a second try, for the guidance, does not say it again.
      if (noted !== undefined) session.ended = talk.compacted
    }
    const printed = await this.ask("SessionStart", session, { source: from })
    const reply = this.parsed(printed)
    if (reply?.systemMessage) this.show(String(reply.systemMessage), "info")
    const text = reply?.hookSpecificOutput?.additionalContext
    return reply && (typeof text === "string" ? text : "")
  }

  async variables(id) {
    const main = id && (await this.mainOf(await this.session(id)))
    return main ? { CLAUDE_CODE_SESSION_ID: main.id } : {}
  }

  async toolBegins(id, call, use) {
    const session = await this.session(id)
    if (!session) return
    const specific = this.parsed(await this.ask("PreToolUse", session, use))?.hookSpecificOutput
    if (specific?.permissionDecision === "deny") throw new Denied(String(specific.permissionDecisionReason))
    if (specific?.additionalContext) this.reminders.set(call, String(specific.additionalContext))
  }

  reminder(call) {
    const reminder = this.reminders.get(call)
    this.reminders.delete(call)
    return reminder
  }

  /** Note what a tool call came to. opencode does not wait for it; `settled` does. */
  toolEnds(id, uses) {
    const running = this.note(id, uses)
      .catch((error) => this.trouble(error))
      .finally(() => this.running.delete(running))
    this.running.add(running)
  }

  async note(id, uses) {
    const session = uses.length && (await this.session(id))
    if (!session) return
    for (const use of uses) {
      const event = use.error ? "PostToolUseFailure" : "PostToolUse"
      await this.ask(event, session, { tool_response: {}, ...use })
    }
  }

  /** What was noted before is to be known at what comes now. */
  async settled() {
    await Promise.all(this.running)
  }

  /** What Holdfast prints about an event; undefined, and the person is told, where it fails. */
  async ask(event, session, more) {
    const main = await this.mainOf(session)
    const folder = session.folder || this.folder
    const agent = main && main !== session ? { agent_id: session.id } : {}
    const payload = {
      session_id: (main ?? session).id,
      transcript_path: null,
      cwd: folder,
      hook_event_name: event,
      ...agent,
      ...more,
    }
    try {
      return await run([...PROGRAM, "hook", "--agent", "opencode"], JSON.stringify(payload), folder)
    } catch (error) {
      this.trouble(error)
      return undefined
    }
  }

  /** The JSON that was printed, which may be nothing. */
  parsed(printed) {
    if (printed === undefined) return undefined
    if (!printed.trim()) return {}
    try {
      const reply = JSON.parse(printed)
      if (reply && typeof reply === "object") return reply
    } catch {
      // Told below.
    }
    this.trouble(new Error(`this is no answer of Holdfast: ${printed.slice(0, 100)}`))
    return undefined
  }

  show(message, level) {
    show(this.client, message, level) // not awaited, and it does not fail
  }

  /** Tell the person what went wrong, once. */
  trouble(error) {
    const message = String(error?.message ?? error).slice(0, 1_000)
    if (this.said.has(message)) return
    this.said.add(message)
    this.show(message, "warn")
  }
}

/** How a session comes to its first request here, or to the first after a compaction. */
function source(session, talk) {
  if (talk.compacted > session.born && talk.compacted > talk.answered) return "compact"
  if (talk.answered > session.born) return session.fresh ? "startup" : "resume"
  return talk.answered || talk.compacted ? "fork" : "startup" // what is older than the session was copied
}

/** What *command* prints, given *input*. It fails unless the command ends well, and in time. */
function run(command, input, folder) {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), {
      cwd: folder,
      env: { ...process.env, CLAUDE_PROJECT_DIR: folder },
      windowsHide: true,
    })
    const printed = { stdout: "", stderr: "" }
    const stop = (reason) => {
      child.kill("SIGKILL")
      reject(new Error(reason))
    }
    const late = `${command[0]} did not answer within ${PATIENCE / 1_000} s`
    const clock = setTimeout(() => stop(late), PATIENCE)
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8")
      child[name].on("data", (text) => {
        printed[name] += text
        if (printed[name].length > MOST) stop(`${command[0]} prints more than ${MOST} characters`)
      })
    }
    child.on("error", (error) => {
      clearTimeout(clock)
      reject(new Error(`${command[0]} could not be started: ${error.message}`))
    })
    child.on("close", (code) => {
      clearTimeout(clock)
      if (code === 0) resolve(printed.stdout)
      else reject(new Error(printed.stderr.trim().split("\n")[0] || `${command[0]} ended with ${code}`))
    })
    child.stdin.on("error", () => {}) // it may end without reading
    child.stdin.end(input)
  })
}

function within(milliseconds, promise) {
  let clock
  const late = new Promise((_, reject) => {
    clock = setTimeout(() => reject(new Error("opencode did not answer")), milliseconds)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(clock))
}

// Where the plugin is installed for the person and for the project, the one that was loaded last acts.
const acting = (globalThis[Symbol.for("holdfast.opencode")] ??= new Map())

async function server({ client, directory }) {
  const bridge = new Bridge(client, directory)
  acting.set(directory, bridge)
  const quietly = (act) => async (input, output) => {
    if (acting.get(directory) !== bridge) return
    try {
      await act(bridge, input ?? {}, output ?? {})
    } catch (error) {
      if (error instanceof Denied) throw error
      bridge.trouble(error)
    }
  }
  return Object.fromEntries(Object.entries(HOOKS).map(([name, act]) => [name, quietly(act)]))
}

export default { id: "holdfast", server }
