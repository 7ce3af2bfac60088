import './without-hooks.ts'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import root from 'tap'
import { measureSlicesBy } from '../../src/base/event-loop.ts'
import { eventually } from '../wait.ts'
import { endLasting, keepForFiles, lastingHandles } from './lasting.ts'

/**
 * Process that reads names of test files and runs them one after another, with shared imports. A file is over when its
 * tests have ended, its teardowns have run, and no resource is left but those that end with the process.
 */
const FILE_MS = Number(process.env['TAP_TIMEOUT'] ?? 300) * 1_000

// A root teardown would make tap end all tests when none runs, although the next file may follow.
const teardowns: (() => unknown)[] = []
root.teardown = (teardown: () => unknown) => void teardowns.unshift(teardown)

keepForFiles()

/** Handles of the input, output and errors of the process. */
const STREAMS = ['PipeWrap', 'PipeWrap', 'PipeWrap']
/** Active resources of the process except those that end with it. */
const left = (): readonly string[] => {
  const all = process.getActiveResourcesInfo()
  for (const type of [...STREAMS, ...lastingHandles()]) {
    const at = all.indexOf(type)
    if (at >= 0) all.splice(at, 1)
  }
  return all
}

const tests = async (file: string): Promise<void> => {
  await import(pathToFileURL(resolve(file)).href)
  await eventually(() => root.idle, `the tests of ${file}`)
}
/** Number of servers so far, in the suite on servers; undefined if the environment names all servers. */
const serversStarted =
  process.env['ROLLCALL_TEST_STACK'] === 'cluster' &&
  ['EVENTSTORE', 'MONGODB', 'REDIS'].some((name) => process.env[`ROLLCALL_TEST_${name}_URL`] === undefined)
    ? (await import('../adapters/servers.ts')).serversStarted
    : () => undefined
const testsOnServers = async (file: string): Promise<void> => {
  const before = serversStarted()
  const ran = () => root.counts.total - root.counts.skip
  const ranBefore = ran()
  await tests(file)
  if (before !== undefined && serversStarted() === before && ran() > ranBefore)
    throw new Error(`${file} starts no servers: add it to EMBEDDED in test/ci/suites.ts`)
}
const failed = (error: Error): void => void root.threw(error)
// The process is killed soon after the time limit of a file.
root.on('timeout', () => console.error(`still active: ${left().join(', ')}`))

for await (const file of createInterface({ input: process.stdin })) {
  root.setTimeout(FILE_MS)
  // Each file begins with this clock of slices, so the one that an earlier file set does not slow it down.
  measureSlicesBy(() => 0)
  await testsOnServers(file).catch(failed)
  for (const teardown of teardowns.splice(0)) await Promise.resolve().then(teardown).catch(failed)
  await eventually(() => left().length === 0, `${file} to leave nothing behind`)
  root.setTimeout(0)
  // tap holds back an assertion until a line that does not belong to it.
  root.pragma({ strict: false })
  const { total, pass, fail, skip } = root.counts
  console.log(`# { total: ${total}, pass: ${pass}, fail: ${fail}, skip: ${skip} }\n# over: ${file}`)
}
await endLasting()
