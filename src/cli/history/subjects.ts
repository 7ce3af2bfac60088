import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { SubjectFound, SubjectsFound } from '../../contract/history/searches.ts'
import { type CommandServices, clientOf, type TargetOptions, withField, withOutput, withTarget } from '../options.ts'
import { type Column, type OutputOptions, printMany } from '../terminal/output.ts'
import { addErasures } from './erase-subjects.ts'

const COLUMNS: readonly Column<SubjectFound>[] = [
  ['SUBJECT', ({ subject }) => subject],
  ['STATUS', ({ status }) => status],
  ['TOKENS', ({ tokens }) => String(tokens)],
  ['EVENTS', ({ events }) => String(events)],
  ['FIRST', ({ first }) => first],
  ['LAST', ({ last }) => last],
]

type FindOptions = TargetOptions &
  OutputOptions & { readonly method: string; readonly identity: string; readonly provider?: string }

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
  withField(withOutput(withTarget(subjects.command('find'), given), ['table', 'csv', 'json', 'ndjson', 'name']))
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
