import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Scope } from '../auth/stand-ins/listen.ts'
import { eventually } from '../wait.ts'

export type Running = { readonly stop: () => Promise<void> }

/**
 * Starts a server until the test ends, and waits until it answers. Its output goes to a file, whose end is reported if
 * it does not start.
 */
export const serve = async (
  t: Scope,
  {
    command,
    args,
    env = {},
    log,
    answers,
  }: {
    readonly command: string
    readonly args: readonly string[]
    readonly env?: NodeJS.ProcessEnv
    readonly log: string
    readonly answers: () => Promise<boolean>
  },
): Promise<Running> => {
  const out = openSync(log, 'a')
  const child = spawn(command, args, { stdio: ['ignore', out, out], env: { ...process.env, ...env }, detached: true })
  closeSync(out)
  const closed = once(child, 'close')
  const stop = async () => {
    // A start script runs the server as its child, so the whole process group is killed.
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await closed
  }
  t.teardown(stop)
  await eventually(async () => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${command} did not start: ${(await readFile(log, 'utf8')).slice(-2000)}`)
    return answers().catch(() => false)
  }, `${command} to start`)
  return { stop }
}
