import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { Shown } from '../../contract/answer.ts'
import type { SessionsFound } from '../../contract/history/searches.ts'
import type { Authentication } from '../../contract/token.ts'
import { type AnswerOptions, type CommandServices, clientOf, withAnswer } from '../options.ts'
import { printMany } from '../terminal/output.ts'
import { TOKEN_COLUMNS } from './holder.ts'

const MOST_BYTES = 4_096

/** Searches all live sessions, page after page. The person is sent in the body, so no address or log contains it. */
const find = async (given: string, options: AnswerOptions, services: CommandServices): Promise<void> => {
  const { terminal } = services
  const read = given === '-' ? (await terminal.readStdin(MOST_BYTES)).toString('utf8') : given
  const person = read.trim() || fail('usage', 'Give the e-mail address or login name, or - for standard input.')
  const { ask } = await clientOf(options, services)
  const found: Authentication[] = []
  let [examined, pageToken] = [0, '']
  do {
    const body = { person, ...(pageToken !== '' && { pageToken }) }
    const page = await ask<Shown<typeof SessionsFound>>('POST', '/auth/v1/sessions/find', { body })
    found.push(...page.authentications)
    examined += page.examined
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  if (found.length === 0) fail('notFound', `No session of this person is among the ${examined} live sessions.`)
  printMany(terminal, found, { authentications: found, examined }, ({ id }) => id, TOKEN_COLUMNS, options)
}

/** `rollcall sessions find`: finds the live sessions of a person. */
export const addSessions = (program: Command, given: CommandServices): void => {
  const sessions = program.command('sessions').summary('find the live sessions of a person')
  withAnswer(sessions.command('find <person>'), given, ['table', 'csv', 'json', 'ndjson', 'name'])
    .summary('find the live sessions of a person by e-mail address or login name')
    .description(
      'Finds the live sessions of a person at all login providers, by the whole e-mail address or login name (- reads it from standard input). The search is recorded in the history, without the person.',
    )
    .action((person: string, options: AnswerOptions) => find(person, options, given))
}
