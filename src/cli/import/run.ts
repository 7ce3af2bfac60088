import { isUtf8 } from 'node:buffer'
import { eachTogether } from '../../base/concurrency.ts'
import { escapeControl } from '../../base/control-characters.ts'
import { EXIT, fail, isFailure } from '../../base/failure.ts'
import type { Access } from '../../contract/access.ts'
import type { Info } from '../../contract/operations.ts'
import { type Client, ifAllowed } from '../client/client.ts'
import { documentsIn } from '../document/read.ts'
import { type CommandServices, clientOf, reasonHeaders, type TargetOptions } from '../options.ts'
import { abortOn } from '../signals.ts'
import { progressBar } from '../terminal/progress.ts'
import { confirm, type Terminal } from '../terminal/terminal.ts'
import { bytesGiven } from '../whole-file.ts'
import { type Plan, planned, problemsWithin } from './plan.ts'
import { type Problem, partialShares, refuseAll } from './problems.ts'
import { type Step, stepsOf, summary } from './steps.ts'
import type { Rest } from './write.ts'

type Quotas = Readonly<
  Record<'flags_per_namespace' | 'segments_per_namespace' | 'bytes_per_namespace' | 'namespaces', number>
>

/** Rights and reasons that the steps need and the token or the command line does not have. */
const refusedSteps = ({ places, reasonRequired = [] }: Access, steps: readonly Step[], hasReason: boolean) => {
  const holds = (right: string, place: string) =>
    places.some(
      ({ namespaceKey, rights }) =>
        (namespaceKey === '*' || (namespaceKey === place && right !== 'namespace.create')) &&
        (rights.includes('*') || rights.includes(right)),
    )
  const found = new Map<string, Problem>()
  for (const { path, place, needs } of steps) {
    for (const right of needs.filter((each) => !holds(each, place)))
      found.set(`${right} ${place}`, { path, message: `needs the right ${right} in ${place}`, exit: 'denied' })
    if (needs.length > 0 && !hasReason && reasonRequired.some((each) => each === '*' || each === place))
      found.set(place, {
        path,
        message: `a reason is required in ${place}. Give the reason of the change: --reason TEXT`,
        exit: 'usage',
      })
  }
  return [...found.values()]
}

/** Quotas that the steps would exceed. Nothing is deleted before everything else is written. */
const beyondQuotas = async (
  client: Client,
  quotas: Quotas,
  plans: readonly Plan[],
  steps: readonly Step[],
): Promise<readonly Problem[]> => {
  const beyond = (path: string, whose: string, all: number, what: string, quota: keyof Quotas): readonly Problem[] =>
    all <= quotas[quota]
      ? []
      : [
          {
            path,
            message: `${whose} would have ${all} ${what} before the first deletion; quotas.${quota} allows ${quotas[quota]}`,
            exit: 'failed',
          },
        ]
  const made = plans.filter(({ present }) => !present)
  const list =
    made.length === 0
      ? undefined
      : await ifAllowed(client.ask<{ readonly totalCount: number }>('GET', '/api/v1/namespaces?limit=1'))
  const all = made.length + (list?.totalCount ?? 0)
  return [
    ...(made[0] && list ? beyond(made[0].namespace.path, 'the service', all, 'namespaces', 'namespaces') : []),
    ...plans.flatMap(({ namespace: { path }, key, counts }) => {
      const created = (phase: Step['phase']) =>
        steps.filter((step) => step.place === key && step.phase === phase && step.sign === '+').length
      const [flags, segments] = [created(2), created(1)]
      const whose = `namespace "${key}"`
      return [
        ...(flags > 0 ? beyond(path, whose, counts.flags + flags, 'flags', 'flags_per_namespace') : []),
        ...(segments > 0 ? beyond(path, whose, counts.segments + segments, 'segments', 'segments_per_namespace') : []),
        ...(flags + segments > 0 && counts.growth > 0
          ? beyond(path, whose, counts.bytes, 'bytes of texts', 'bytes_per_namespace')
          : []),
      ]
    }),
  ]
}

/** Refusals of the service for changes of existing items. A change that uses a new segment cannot be tried. */
const rehearsed = async (steps: readonly Step[]): Promise<readonly Problem[]> => {
  const isMade = new Set(steps.filter(({ phase, sign }) => phase === 1 && sign === '+').map(({ what }) => what))
  const tried = steps.filter(({ place, uses = [] }) => !uses.some((key) => isMade.has(`segment ${place}/${key}`)))
  const found = await eachTogether(tried, async ({ path, rehearse }): Promise<readonly Problem[]> => {
    try {
      await rehearse?.()
      return []
    } catch (error) {
      if (!isFailure(error)) throw error
      return [{ path, message: error.message.slice(`${path}: `.length), exit: error.kind }]
    }
  })
  return found.flat()
}

/**
 * Reasons for which the service would refuse the steps, found before the first write: rights of the token, a missing
 * reason, storage that is read only, quotas, and the rules for changes of existing items. Without the right config.read
 * the numbers of quotas are unknown.
 */
const refusals = async (
  client: Client,
  plans: readonly Plan[],
  steps: readonly Step[],
  hasReason: boolean,
): Promise<readonly Problem[]> => {
  const writes = steps.filter(({ begin }) => begin)
  if (writes.length === 0) return []
  const refused = refusedSteps(await client.ask<Access>('GET', '/auth/v1/access'), writes, hasReason)
  if (refused.length > 0) return refused
  const info = await ifAllowed(client.ask<Info>('GET', '/meta/info'))
  if (info?.storage.readOnly)
    return [{ path: writes[0]!.path, message: 'the storage of the service is read-only', exit: 'failed' }]
  const config = await ifAllowed(client.ask<{ readonly quotas?: Quotas }>('GET', '/meta/config'))
  const beyond = config?.quotas ? await beyondQuotas(client, config.quotas, plans, writes) : []
  return beyond.length > 0 ? beyond : rehearsed(writes)
}

export type ImportOptions = TargetOptions & {
  readonly stdin?: boolean
  readonly skipExisting?: boolean
  readonly drop?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly reason?: string
  readonly progress: boolean
}

type Named = { readonly file: string; readonly text: string }

const MAX_BYTES = 256 * 1024 * 1024

/** Texts of the files, or of standard input. Each has the name for messages; a single text has none. */
const textsOf = async (
  files: readonly string[],
  stdin: boolean,
  { readStdin }: Terminal,
): Promise<readonly Named[]> => {
  const piped = stdin || files.includes('-')
  if (piped && files.some((file) => file !== '-')) fail('usage', 'A file and --stdin exclude each other.')
  if (!piped && files.length === 0) fail('usage', 'Name the file to import, or use --stdin.')
  const texts: Named[] = []
  for (const file of piped ? ['Standard input'] : files) {
    const bytes = piped ? await readStdin(MAX_BYTES) : bytesGiven(file, file, MAX_BYTES)
    texts.push({ file, text: isUtf8(bytes) ? bytes.toString('utf8') : fail('usage', `${file} is not UTF-8 text.`) })
  }
  return texts
}

/** Number of items whose remaining requests run concurrently. */
const AT_ONCE = 8

/** Runs the steps. After a failure or an interrupt no further steps are started, and the running ones are awaited. */
const done = async (
  steps: readonly Step[],
  options: ImportOptions,
  again: string,
  { clock, terminal, endWith }: CommandServices,
): Promise<boolean> => {
  const { signal, release } = abortOn('SIGINT')
  const { update, end } = progressBar(terminal, clock, { ...options, unit: 'items' })
  const complete: Step[] = []
  let failed: { readonly error: unknown } | undefined
  const running = new Set<Promise<void>>()
  const ended = async (step: Step, rest: Rest | undefined): Promise<void> => {
    try {
      await rest?.()
      complete.push(step)
      update({ name: 'import', done: complete.length, total: steps.length })
    } catch (error) {
      failed ??= { error }
    }
  }
  try {
    let phase = steps[0]?.phase
    for (const step of steps) {
      if (running.size >= AT_ONCE) await Promise.race(running)
      if (step.phase !== phase) await Promise.all(running)
      phase = step.phase
      if (failed || signal.aborted) break
      const rest = await step.begin?.()
      const work = ended(step, rest).finally(() => running.delete(work))
      running.add(work)
    }
  } catch (error) {
    failed ??= { error }
  }
  await Promise.all(running)
  end()
  release()
  const [deleted, deletions] = [complete, steps].map((some) => some.filter(({ sign }) => sign === '-').length) as [
    number,
    number,
  ]
  const also = deletions === 0 ? '' : `, ${deleted} of ${deletions} deleted`
  const progress = `${complete.length - deleted} of ${steps.length - deletions} items imported${also}. To continue: ${again}`
  if (failed) {
    if (isFailure(failed.error) && complete.length > 0) failed.error.message += `\n${progress}`
    throw failed.error
  }
  if (complete.length === steps.length) return true
  terminal.info(`Stopped: ${progress}`)
  endWith(EXIT.interrupted)
  return false
}

const absences = (steps: readonly Step[]): readonly string[] => {
  const gone = steps.filter(({ sign, phase }) => sign === '-' && phase === 3).length
  const replaced = steps.filter(({ isReplaced }) => isReplaced).length
  const flags = (count: number) => (count === 1 ? '1 flag' : `${count} flags`)
  return [
    ...(gone > 0 ? [`After the import clients get "not found" for ${flags(gone)} (-).`] : []),
    ...(replaced > 0
      ? [`Until they exist again, clients get "not found" for ${flags(replaced)} of another type.`]
      : []),
  ]
}

const run = async (files: readonly string[], options: ImportOptions, given: CommandServices): Promise<void> => {
  const { terminal } = given
  const { print, info } = terminal
  const { stdin = false, skipExisting = false, drop = false, dryRun = false, yes = false, quiet = false } = options
  const headers = reasonHeaders(options.reason)
  if (options.tokenFile === '-' && (stdin || files.includes('-')))
    fail('usage', 'Standard input cannot contain both the token and the document; give one of them in a file.')
  const unknown = (place: string) =>
    info(`warning: ${escapeControl(place)} is not defined in any document version and is ignored`)
  const unread: string[] = []
  const wrong = (message: string) => void unread.push(message)
  const texts = await textsOf(files, stdin, terminal)
  const documents = texts.flatMap(({ file, text }) =>
    documentsIn(file, text, { unknown: quiet ? () => {} : unknown, wrong }),
  )
  if (unread.length > 0) refuseAll(unread, problemsWithin(documents))
  const client = await clientOf(options, given)
  const { plans, problems } = await planned(client, documents, { skipExisting, drop })
  refuseAll([], problems)
  const partial = quiet ? [] : plans.flatMap(({ flags }) => partialShares(flags.map(({ part }) => part)))
  for (const { place, given } of partial)
    info(
      `warning: ${escapeControl(place)}: give ${given} % together; the rest gets no variant here, but applications that evaluate by themselves give all entities to these variants`,
    )

  const steps = stepsOf(client, plans, headers)
  refuseAll([], await refusals(client, plans, steps, options.reason !== undefined))
  if (!quiet) for (const line of absences(steps)) info(line)
  if (dryRun) {
    const shown = steps.filter(({ sign }) => sign !== '=')
    print(shown.map(({ sign, what }) => `${sign} ${escapeControl(what)}\n`).join(''))
    if (!quiet) info(`Dry run: ${summary(steps)}. Nothing is written.`)
    return
  }
  const drops = steps.filter(({ sign, isReplaced }) => sign === '-' || isReplaced).length
  if (drops > 0)
    await confirm(terminal, `Delete ${drops === 1 ? '1 flag or segment' : `${drops} flags and segments`}?`, yes)
  const again = `rollcall import ${files.length === 0 ? '--stdin' : files.join(' ')} ${drop ? '--drop' : '--skip-existing'}`
  const finished = await done(steps, options, again, given)
  if (finished && !quiet) info(`Imported: ${summary(steps)}.`)
}

/** Reads the documents, plans the import and runs it. Escapes control characters in all messages. */
export const runImport = async (
  files: readonly string[],
  options: ImportOptions,
  given: CommandServices,
): Promise<void> => {
  try {
    await run(files, options, given)
  } catch (error) {
    if (isFailure(error)) error.message = error.message.split('\n').map(escapeControl).join('\n')
    throw error
  }
}
