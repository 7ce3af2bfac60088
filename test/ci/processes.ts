import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Counts, counts } from './tap-output.ts'

/** What a test file said and counted, and how its process ended: with a code, by a signal, or not at all, for it runs the next file. */
export type Ran = {
  readonly stdout: string
  readonly stderr: string
  readonly counted: Counts | undefined
  readonly end: number | string | undefined
  readonly milliseconds: number
}

/** A process that has not ended itself is killed: in a file after `file` milliseconds, and once it has no more to do after `rest`. */
export type Limits = { readonly file: number; readonly rest: number }

const start = (module: string, env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, ['--enable-source-maps', module], { env, stdio: 'pipe' })
  const state = { stdout: '', stderr: '', end: undefined as number | string | undefined }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (state[name] += text))
  // Nobody reads what is written to a process that has ended. Its end tells of it.
  child.stdin.on('error', () => undefined)
  const close = new Promise<void>((done) =>
    child.once('close', (code, signal) => {
      state.end = code ?? signal!
      done()
    }),
  )
  /** Waits for something; kills the process where that does not come in time. */
  const within = async (milliseconds: number, what: Promise<unknown>): Promise<void> => {
    const limit = setTimeout(() => child.kill('SIGKILL'), milliseconds)
    await what
    clearTimeout(limit)
  }
  return { child, state, close, within }
}

/** Runs a test file in a process of its own. */
export const runAlone = async (file: string, env: NodeJS.ProcessEnv, limits: Limits): Promise<Ran> => {
  const began = performance.now()
  const { child, state, close, within } = start(file, env)
  child.stdin.end()
  await within(limits.file, close)
  return { ...state, counted: counts(state.stdout), milliseconds: performance.now() - began }
}

/** A process that runs test files one after the other (`together.ts`). One whose file fails ends with it. */
export const startTogether = (env: NodeJS.ProcessEnv, limits: Limits) => {
  const { child, state, close, within } = start(join(import.meta.dirname, 'together.js'), env)
  let before: Counts = { pass: 0, fail: 0, skip: 0 }

  /** What it said since this began, and what it counted since it was last asked. */
  const ran = (began: number): Ran => {
    const now = counts(state.stdout)
    const counted = now && { pass: now.pass - before.pass, fail: now.fail - before.fail, skip: now.skip - before.skip }
    before = now ?? before
    return { ...state, counted, milliseconds: performance.now() - began }
  }
  const begin = (): number => {
    Object.assign(state, { stdout: '', stderr: '' })
    return performance.now()
  }
  const stop = (): Promise<void> => {
    child.stdin.end()
    return within(limits.rest, close)
  }
  /** Whether the process has said that a file is over. */
  const isOver = (file: string): boolean => state.stdout.includes(`\n# over: ${file}\n`)
  const over = async (file: string): Promise<void> => {
    while (!isOver(file) && state.end === undefined) await Promise.race([once(child.stdout, 'data'), close])
  }

  return {
    hasEnded: () => state.end !== undefined,
    run: async (file: string): Promise<Ran> => {
      const began = begin()
      child.stdin.write(`${file}\n`)
      await within(limits.file, over(file))
      if (counts(state.stdout)?.fail !== before.fail) await stop()
      const all = ran(began)
      // A file that ends the process as if all were well has not run to its end.
      return isOver(file) ? all : { ...all, end: all.end || 'before the file was over' }
    },
    /** Tells it that no more files come, and waits for its end. */
    end: async (): Promise<Ran> => {
      const began = begin()
      await stop()
      return ran(began)
    },
  }
}
