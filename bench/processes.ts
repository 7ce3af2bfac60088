import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Measure } from './servers/measures.ts'

const run = promisify(execFile)
const TASKSET = availableParallelism() > 1 && existsSync('/usr/bin/taskset') ? '/usr/bin/taskset' : undefined
/** The command that runs this one on a core, where that can be chosen. */
export const onCore = (core: number, command: readonly string[]) =>
  TASKSET === undefined ? command : [TASKSET, '-c', String(core), ...command]

/** A server in a process of its own. `measure` asks it for seconds of CPU, where it answers measures. */
export type Server = {
  readonly url: string
  /** URL of the second service of a pair. */
  readonly secondUrl?: string
  readonly tokens: readonly string[]
  readonly measure: (measure: Measure) => Promise<number>
  readonly stop: () => Promise<void>
}

const script = (name: string, args: readonly string[]) => [
  process.execPath,
  isAbsolute(name) ? name : new URL(`./servers/${name}.js`, import.meta.url).pathname,
  ...args,
]

const begun = async (name: string, [command, ...args]: readonly string[]): Promise<Server> => {
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for await (const line of createInterface(child.stdout!)) {
    if (!line.startsWith('{')) continue
    const said = JSON.parse(line) as Pick<Server, 'url' | 'secondUrl' | 'tokens'>
    const stop = async () => {
      child.kill('SIGTERM')
      await ended
    }
    const measure = async (asked: Measure) => {
      child.send(asked)
      const [answer] = (await once(child, 'message', { signal: AbortSignal.timeout(60_000) })) as [number | string]
      if (typeof answer === 'string') throw new Error(`${name}: ${answer}`)
      return answer
    }
    return { ...said, measure, stop }
  }
  throw new Error(`${name} ended before it listened`)
}

/** Starts a server of `bench/servers`, or the script of an absolute path, on the first core; the load comes from the second, where there is one. */
export const startServer = (name: string, ...args: readonly string[]): Promise<Server> =>
  begun(name, onCore(0, script(name, args)))

/** Starts a server of `bench/servers` that is not measured itself: it runs where this process may run. */
export const startBeside = (name: string, ...args: readonly string[]): Promise<Server> =>
  begun(name, script(name, args))

/** Does a work with this process, where its loads are made, on the core that the servers are not on; what is measured later has all cores again. */
export const offFirstCore = async <T>(work: () => Promise<T>): Promise<T> => {
  if (TASKSET === undefined) return work()
  const pid = String(process.pid)
  const { stdout } = await run(TASKSET, ['-cp', pid])
  const before = stdout.trim().split(' ').at(-1)!
  await run(TASKSET, ['-a', '-cp', '1', pid])
  try {
    return await work()
  } finally {
    await run(TASKSET, ['-a', '-cp', before, pid])
  }
}
