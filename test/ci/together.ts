import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import root from 'tap'
import { eventually } from '../wait.ts'

/**
 * A process that runs the test files which it reads the names of, one after the other. What they import is loaded once.
 * Each is over when its tests are, its teardowns have run, and nothing that it began is left.
 */
const FILE_MS = Number(process.env['TAP_TIMEOUT'] ?? 300) * 1_000

// tap ends all tests once none runs, where the root has a teardown: here the next file may come then.
const teardowns: (() => unknown)[] = []
root.teardown = (teardown: () => unknown) => void teardowns.unshift(teardown)

const STREAMS = [process.stdin, process.stdout, process.stderr].length
/** What keeps the process alive, but for its own streams, which are pipes. */
const left = (): readonly string[] => {
  const all = process.getActiveResourcesInfo()
  const isPipe = (resource: string) => resource === 'PipeWrap'
  return [...all.filter((resource) => !isPipe(resource)), ...all.filter(isPipe).slice(STREAMS)]
}

const tests = async (file: string): Promise<void> => {
  await import(pathToFileURL(resolve(file)).href)
  await eventually(() => root.idle, `the tests of ${file}`)
}
const failed = (error: Error): void => void root.threw(error)

for await (const file of createInterface({ input: process.stdin })) {
  root.setTimeout(FILE_MS)
  await tests(file).catch(failed)
  for (const teardown of teardowns.splice(0)) await Promise.resolve().then(teardown).catch(failed)
  await eventually(() => left().length === 0, `${file} to leave nothing behind`)
  root.setTimeout(0)
  // tap holds an assertion back, for more of it may follow, until a line comes that is none of it.
  root.pragma({ strict: false })
  const { total, pass, fail, skip } = root.counts
  console.log(`# { total: ${total}, pass: ${pass}, fail: ${fail}, skip: ${skip} }\n# over: ${file}`)
}
