import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { EXIT, fail, isFailure } from '../../failure.ts'
import { documentsIn } from '../document/read.ts'
import { clientOf, reasonHeaders, type TargetOptions } from '../options.ts'
import type { CommandServices } from '../services.ts'
import { progressBar } from '../terminal/progress.ts'
import { confirm, escapeControl, type Terminal } from '../terminal/terminal.ts'
import { refuseAll } from './check.ts'
import { planned } from './plan.ts'
import { type Rest, type Step, stepsOf, summary } from './write.ts'

export type ImportOptions = TargetOptions & {
  readonly stdin?: boolean
  readonly skipExisting?: boolean
  readonly drop?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly reason?: string
  readonly progress: boolean
}

const MAX_BYTES = 256 * 1024 * 1024

const fromFile = (file: string): Buffer => {
  try {
    if (statSync(file).size > MAX_BYTES) return fail('usage', `${file} holds more than ${MAX_BYTES} bytes.`)
    return readFileSync(file)
  } catch (error) {
    if (isFailure(error)) throw error
    return fail('usage', `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`)
  }
}

const contentOf = async (file: string | undefined, stdin: boolean, { readStdin }: Terminal): Promise<string> => {
  const piped = stdin || file === '-'
  if (piped === (file !== undefined && file !== '-')) {
    return fail('usage', piped ? 'Give a file or --stdin, not both.' : 'Give the file to import, or --stdin.')
  }
  const bytes = piped ? await readStdin(MAX_BYTES) : fromFile(file!)
  return isUtf8(bytes) ? bytes.toString('utf8') : fail('usage', `${piped ? 'Standard input' : file} is not UTF-8 text.`)
}

/** Items whose rests are made at the same time. */
const AT_ONCE = 8

/** Does the steps; begins no more of them once one has failed or the user wants to stop, and lets those that are begun come to their end. */
const done = async (
  steps: readonly Step[],
  options: ImportOptions,
  again: string,
  { clock, terminal, endWith }: CommandServices,
): Promise<boolean> => {
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  process.once('SIGINT', stop)
  const { update, end } = progressBar(terminal, clock, { ...options, unit: 'items' })
  let count = 0
  let failed: { readonly error: unknown } | undefined
  const running = new Set<Promise<void>>()
  const ended = async (rest: Rest | undefined): Promise<void> => {
    try {
      await rest?.()
      update({ name: 'import', done: ++count, total: steps.length })
    } catch (error) {
      failed ??= { error }
    }
  }
  try {
    for (const { begin } of steps) {
      if (running.size >= AT_ONCE) await Promise.race(running)
      if (failed || stopped.signal.aborted) break
      const rest = await begin?.()
      const work = ended(rest).finally(() => running.delete(work))
      running.add(work)
    }
  } catch (error) {
    failed ??= { error }
  }
  await Promise.all(running)
  end()
  process.off('SIGINT', stop)
  const standing = `${count} of ${steps.length} items stand. To go on: ${again}`
  if (failed) {
    if (isFailure(failed.error) && count > 0) failed.error.message += `\n${standing}`
    throw failed.error
  }
  if (count === steps.length) return true
  terminal.info(`Stopped: ${standing}`)
  endWith(EXIT.interrupted)
  return false
}

const run = async (file: string | undefined, options: ImportOptions, given: CommandServices): Promise<void> => {
  const { terminal } = given
  const { print, info } = terminal
  const { stdin = false, skipExisting = false, drop = false, dryRun = false, yes = false, quiet = false } = options
  const headers = reasonHeaders(options.reason)
  if (options.tokenFile === '-' && (stdin || file === '-'))
    fail('usage', 'Standard input cannot hold both the token and the document.')
  const unknown = (path: string) =>
    info(`warning: ${escapeControl(path)} is not a part of any document and was not read`)
  const documents = documentsIn(await contentOf(file, stdin, terminal), quiet ? () => {} : unknown)
  const client = await clientOf(options, given)
  const { plans, problems } = await planned(client, documents, { skipExisting, drop })
  refuseAll(problems)

  const steps = stepsOf(client, plans, headers)
  if (dryRun) {
    print(steps.map(({ sign, what }) => `${sign} ${escapeControl(what)}\n`).join(''))
    if (!quiet) info(`Would be: ${summary(steps)}. Nothing was written.`)
    return
  }
  const drops = steps.filter(({ sign }) => sign === '-').length
  if (drops > 0) await confirm(terminal, `Drop ${drops} flags and segments first?`, yes)
  const again = `rollcall import ${file ?? '--stdin'} --skip-existing`
  const finished = await done(steps, options, again, given)
  if (finished && !quiet) info(`Imported: ${summary(steps)}.`)
}

/** Reads the documents, plans, and writes the plan; whatever it tells is harmless to a terminal. */
export const runImport = async (
  file: string | undefined,
  options: ImportOptions,
  given: CommandServices,
): Promise<void> => {
  try {
    await run(file, options, given)
  } catch (error) {
    if (isFailure(error)) error.message = error.message.split('\n').map(escapeControl).join('\n')
    throw error
  }
}
