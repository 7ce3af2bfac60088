import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { type Counts, counts } from './tap-output.ts'

/**
 * Output and counts of a test file, and the end of its process: exit code, signal, or undefined if the process runs the
 * next file.
 */
export type Ran = {
  readonly stdout: string
  readonly stderr: string
  readonly counted: Counts | undefined
  readonly end: number | string | undefined
  readonly milliseconds: number
}

/** Times (ms) after which a process is killed: `file` per file, `rest` after its last work. */
export type Limits = { readonly file: number; readonly rest: number }

const start = (module: string, env: NodeJS.ProcessEnv, options: readonly string[] = []) => {
  const child = spawn(process.execPath, ['--enable-source-maps', ...options, module], { env, stdio: 'pipe' })
  const state = { stdout: '', stderr: '', end: undefined as number | string | undefined }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (state[name] += text))
  // Writes to an ended process fail; its end is reported by `close`.
  child.stdin.on('error', () => undefined)
  const close = new Promise<void>((done) =>
    child.once('close', (code, signal) => {
      state.end = code ?? signal!
      done()
    }),
  )
  /** Waits for a promise; kills the process after the time limit. */
  const within = async (milliseconds: number, what: Promise<unknown>): Promise<void> => {
    const limit = setTimeout(() => child.kill('SIGKILL'), milliseconds)
    await what
    clearTimeout(limit)
  }
  return { child, state, close, within }
}

/** Runs a test file in its own process. */
export const runAlone = async (file: string, env: NodeJS.ProcessEnv, limits: Limits): Promise<Ran> => {
  const began = performance.now()
  const { child, state, close, within } = start(file, env)
  child.stdin.end()
  await within(limits.file, close)
  return { ...state, counted: counts(state.stdout), milliseconds: performance.now() - began }
}

/** Threads of the garbage collector mostly wait for each other where all cores are busy. */
const LONG_LIVED = ['--single-threaded-gc']

/** Process that runs one test file after another (`together.ts`). It ends with a failed file. */
export const startTogether = (env: NodeJS.ProcessEnv, limits: Limits) => {
  const { child, state, close, within } = start(
    join(import.meta.dirname, `together${extname(import.meta.filename)}`),
    env,
    LONG_LIVED,
  )
  let before: Counts = { pass: 0, fail: 0, skip: 0 }

  /** Output since the start of a file, and counts since the last call. */
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
  /** Whether the process has reported the end of a file. */
  const isOver = (file: string): boolean => state.stdout.includes(`\n# over: ${file}\n`, state.stdout.length - 1_000)
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
      // A file that ends the process with 0 has not finished.
      return isOver(file) ? all : { ...all, end: all.end || 'before the file was over' }
    },
    /** Closes its input and waits for its end. */
    end: async (): Promise<Ran> => {
      const began = begin()
      await stop()
      return ran(began)
    },
  }
}
