// opencode as far as a plugin sees it, written by hand: it loads the plugins, has sessions and messages to be
// asked for, and calls what a line on stdin names. The answer to each line is a line on stdout.
//
//   node host.mjs FOLDER PLUGIN…

import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const [folder, ...files] = process.argv.slice(2)
let has = { sessions: {}, messages: {}, trouble: "" }
const shown = []
const unhandled = []
process.on("unhandledRejection", (error) => unhandled.push(String(error)))

/** What opencode's own interface gives; it can be told to fail in each way that there is. */
function given(data) {
  if (has.trouble === "throws") throw new Error("opencode is out of order")
  if (has.trouble === "rejects") return Promise.reject(new Error("opencode refuses"))
  if (has.trouble === "hangs") return new Promise(() => {})
  if (has.trouble === "nonsense") return Promise.resolve(null)
  if (data === false) return Promise.reject(new Error("opencode has lost it"))
  return Promise.resolve(data === undefined ? { error: { name: "NotFoundError" } } : { data })
}

const client = {
  session: {
    get: ({ path }) => given(has.sessions[path.id]),
    messages: ({ path, query }) => given(has.trouble !== "no messages" && has.messages[path.id]?.slice(-(query?.limit ?? 1000))),
  },
  tui: { showToast: ({ body }) => (shown.push(body), given(true)) },
  app: { log: () => given(true) },
}

const plugins = []
for (const file of files) {
  const { server } = (await import(pathToFileURL(file))).default
  plugins.push(await server({ client, directory: folder }))
}

/** As opencode does: one plugin after the other, and what the first one throws ends it. */
async function trigger(name, input, output) {
  const handed = output?.messages?.slice()
  const before = JSON.stringify(handed)
  let error = null
  const began = performance.now()
  try {
    for (const plugin of plugins) await plugin[name]?.(input, output)
  } catch (thrown) {
    error = thrown.message
  }
  // The title is made from these same messages, at the same time.
  return { output, error, untouched: JSON.stringify(handed) === before, took: performance.now() - began }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, hook, input, output, set } = JSON.parse(line)
  const answer = (content) => process.stdout.write(JSON.stringify({ id, shown, unhandled, ...content }) + "\n")
  if (set) {
    has = { ...has, ...set, sessions: { ...has.sessions, ...set.sessions }, messages: { ...has.messages, ...set.messages } }
    answer({})
  } else {
    trigger(hook, input, output).then(answer)
  }
}
