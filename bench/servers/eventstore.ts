import { startEventStore } from '../../test/stand-ins/eventstoredb/server.ts'

/** The stand-in of EventStoreDB in a process of its own. Says its address in one line of JSON. */
const server = await startEventStore()
process.stdout.write(`${JSON.stringify({ url: server.url, tokens: [] })}\n`)
process.on('SIGTERM', () => {
  server.kill()
  process.exit(0)
})
