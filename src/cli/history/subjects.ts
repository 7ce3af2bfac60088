import type { Command } from 'commander'
import { escapeControl } from '../../base/control-characters.ts'
import { fail, isFailure } from '../../base/failure.ts'
import type { HistoryEvent, HistoryEvents } from '../../contract/history/events.ts'
import type { SubjectErased, SubjectFound, SubjectsFound } from '../../contract/history/searches.ts'
import { plainText, textOfFile } from '../../verifier/check/evidence.ts'
import type { Client } from '../client/client.ts'
import { pages } from '../client/lists.ts'
import { type AnswerOptions, type CommandServices, clientOf, reasonOf, withAnswer } from '../options.ts'
import { type Column, printMany } from '../terminal/output.ts'
import { confirm } from '../terminal/terminal.ts'
import { actorText, EVENTS } from './event.ts'

/** Most bytes of a list of subjects. */
const MOST_BYTES = 64 * 1_048_576
const PAGE = 1000
const AGAIN = 'erased again from a list'

const COPIES =
  'Copies of the key store from before the erasure still contain the keys, so destroy these copies: subjects.sqlite, or the collections subjects and lost_subjects of MongoDB.'

type Erasure = {
  readonly subject: string
  readonly keys: readonly string[]
  readonly erasedAt: string
  readonly actor: string
  readonly position: string
}

const ERASED: readonly Column<SubjectErased>[] = [
  ['SUBJECT', ({ subject }) => subject],
  ['KEYS', ({ keys }) => String(keys.length)],
  ['NETWORKS', ({ networks }) => networks.join(' ')],
  ['POSITION', ({ position }) => `#${position}`],
]
const LISTED: readonly Column<Erasure>[] = [
  ['SUBJECT', ({ subject }) => subject],
  ['KEYS', ({ keys }) => String(keys.length)],
  ['ERASED', ({ erasedAt }) => erasedAt],
  ['ACTOR', ({ actor }) => actor],
  ['POSITION', ({ position }) => `#${position}`],
]

type EraseOptions = AnswerOptions & { readonly reason?: string; readonly from?: string; readonly yes?: boolean }

/** Subjects of a JSON value: a text, or the field `subject` of an object, in lists and in the output of `subjects list`. */
const subjectsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(subjectsOf)
  const { subject, erased } = (value ?? {}) as { readonly subject?: unknown; readonly erased?: unknown }
  if (Array.isArray(erased)) return subjectsOf(erased)
  return typeof subject === 'string' ? [subject] : fail('usage', 'The list contains an item without a subject.')
}

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Subject of a line: a name, or a JSON object; none in an empty line. */
const subjectsInLine = (line: string): readonly string[] => {
  const words = line.trim()
  if (words === '') return []
  return subjectsOf(words.startsWith('{') ? jsonIn(words) : words)
}

/** Subjects of a list: the JSON, NDJSON or names that `subjects list` prints, each subject once. */
const subjectsIn = (text: string): readonly string[] => {
  const whole = jsonIn(text)
  const isJson = typeof whole === 'object' && whole !== null
  const found = [...new Set(isJson ? subjectsOf(whole) : text.split(/\r?\n/).flatMap(subjectsInLine))]
  const wrong = found.find((subject) => !/^(?:person|token|network)-[\w.-]+$/.test(subject))
  if (wrong !== undefined) fail('usage', `"${escapeControl(wrong.slice(0, 80))}" is not a subject.`)
  return found.length === 0 ? fail('usage', 'The list contains no subject.') : found
}

/** Erases a subject; undefined if the history does not have it. */
const erased = async ({ ask }: Client, subject: string, reason: string): Promise<SubjectErased | undefined> => {
  try {
    return await ask<SubjectErased>('POST', '/audit/v1/subjects/erase', { body: { subject, reason } })
  } catch (error) {
    if (isFailure(error) && error.message.includes(`subject "${subject}" not found`)) return undefined
    throw error
  }
}

const listOf = async (from: string, { terminal }: CommandServices): Promise<readonly string[]> =>
  subjectsIn(from === '-' ? plainText(String(await terminal.readStdin(MOST_BYTES))) : await textOfFile(from, '--from'))

const erase = async (subject: string | undefined, options: EraseOptions, given: CommandServices): Promise<void> => {
  const { terminal } = given
  const { from, yes = false } = options
  if ((subject === undefined) === (from === undefined))
    fail('usage', 'Name either one subject or a list with --from FILE.')
  if (subject !== undefined && options.reason === undefined) fail('usage', 'State the reason with --reason TEXT.')
  const reason = reasonOf(options.reason ?? AGAIN)
  const subjects = from === undefined ? [subject!] : await listOf(from, given)
  const client = await clientOf(options, given)
  const what = subjects.length === 1 ? `of ${escapeControl(subjects[0]!)}` : `of ${subjects.length} subjects`
  await confirm(terminal, `Destroy the keys of the personal data ${what}? Nobody can undo this.`, yes)
  const all: SubjectErased[] = []
  for (const one of subjects) {
    const done = await erased(client, one, reason)
    if (done) all.push(done)
    else if (from === undefined) fail('notFound', `The history has no subject ${escapeControl(one)}.`)
  }
  printMany(terminal, all, { erased: all }, (one) => one.subject, ERASED, options)
  if (options.quiet) return
  const missing = subjects.length - all.length
  if (missing > 0) terminal.info(`${missing} of ${subjects.length} subjects are not in this history.`)
  const networks = [...new Set(all.flatMap((one) => one.networks))]
  if (networks.length > 0)
    terminal.info(
      `Addresses from the beginning of logins are sealed with all unknown callers of a day. To erase them too, erase, from ten minutes after the end of the day (UTC): ${networks.join(' ')}`,
    )
  if (all.length > 0) terminal.info(COPIES)
}

/** All completed erasures, one for each subject, in the order of the log. */
const erasures = async (client: Client): Promise<readonly Erasure[]> => {
  const found = new Map<string, Erasure>()
  const add = (event: HistoryEvent): void => {
    const { subject, keys } = event.data as { readonly subject: string; readonly keys: readonly string[] }
    const before = found.get(subject)?.keys ?? []
    const all = [...new Set([...before, ...keys])]
    found.set(subject, { subject, keys: all, erasedAt: event.time, actor: actorText(event), position: event.position })
  }
  const query = { type: 'SubjectErased', limit: PAGE }
  for await (const { events } of pages<HistoryEvents>(client, EVENTS, query, true)) events.forEach(add)
  return [...found.values()]
}

const list = async (options: AnswerOptions, given: CommandServices): Promise<void> => {
  const found = await erasures(await clientOf(options, given))
  printMany(given.terminal, found, { erased: found }, ({ subject }) => subject, LISTED, options)
}

/** `rollcall subjects erase|list`: destroys the keys of subjects, and lists the erasures. */
const addErasures = (subjects: Command, given: CommandServices): void => {
  const formats = ['table', 'csv', 'json', 'ndjson', 'name'] as const
  withAnswer(subjects.command('erase [subject]'), given, formats)
    .summary('erase the personal data of a subject, for ever')
    .description(
      'Destroys the keys of a subject. Afterwards nobody can read the personal data of the subject in the history, and all proofs stay valid.',
    )
    .option('--reason <text>', 'reason, kept in the history (required for a subject)')
    .option('--from <file>', 'erase again all subjects of a list, - for standard input; after a restore')
    .option('-y, --yes', 'do not ask for confirmation; required without a terminal')
    .action((subject: string | undefined, options: EraseOptions) => erase(subject, options, given))
  withAnswer(subjects.command('list'), given, formats)
    .summary('list the erased subjects')
    .description(
      'Lists the erased subjects. Keep the list apart from the backups, for: rollcall subjects erase --from FILE',
    )
    .requiredOption('--erased', 'list erased subjects')
    .action((options: AnswerOptions) => list(options, given))
}

const COLUMNS: readonly Column<SubjectFound>[] = [
  ['SUBJECT', ({ subject }) => subject],
  ['STATUS', ({ status }) => status],
  ['TOKENS', ({ tokens }) => String(tokens)],
  ['EVENTS', ({ events }) => String(events)],
  ['FIRST', ({ first }) => first],
  ['LAST', ({ last }) => last],
]

type FindOptions = AnswerOptions & { readonly method: string; readonly identity: string; readonly provider?: string }

const find = async ({ method, identity, provider, ...options }: FindOptions, given: CommandServices): Promise<void> => {
  const { ask } = await clientOf(options, given)
  const body = { method, identity, provider }
  const answer = await ask<SubjectsFound>('POST', '/audit/v1/subjects/find', { body, whole: true })
  if (answer.subjects.length === 0) fail('notFound', 'The history has no login of this person.')
  printMany(given.terminal, answer.subjects, answer, ({ subject }) => subject, COLUMNS, options)
}

/** `rollcall subjects find|erase|list`: finds and erases people in the history. */
export const addSubjects = (program: Command, given: CommandServices): void => {
  const subjects = program.command('subjects').summary('find and erase people in the history')
  withAnswer(subjects.command('find'), given, ['table', 'csv', 'json', 'ndjson', 'name'])
    .summary('find the subjects of a person')
    .description(
      'Finds the subjects of a person: the pseudonyms under which the history contains the personal data of the person.',
    )
    .requiredOption('--method <method>', 'method of the logins, such as METHOD_OIDC')
    .requiredOption('--identity <identity>', 'identifier of the person at the login provider (claim sub)')
    .option('--provider <name>', 'provider, for METHOD_OIDC')
    .action((options: FindOptions) => find(options, given))
  addErasures(subjects, given)
}
