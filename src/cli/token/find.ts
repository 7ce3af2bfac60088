import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { TokenFound } from '../../contract/history/searches.ts'
import { findToken } from '../client/credential.ts'
import { type CommandServices, clientOf, type TargetOptions, withField, withOutput, withTarget } from '../options.ts'
import { type Column, type OutputOptions, printOne } from '../terminal/output.ts'
import { TOKEN_COLUMNS } from './holder.ts'

type FindOptions = TargetOptions & OutputOptions
type Found = Required<Pick<TokenFound, 'authentication' | 'events'>>

/** Sends the SHA-256 of the text, never the text. */
const find = async ({ tokenFile, ...options }: FindOptions, given: CommandServices): Promise<void> => {
  const text =
    tokenFile === undefined
      ? fail('usage', 'Give the token to find: --token-file PATH, or - for standard input.')
      : await findToken(tokenFile, given.terminal)
  const { ask } = await clientOf(options, given)
  const sha256 = createHash('sha256').update(text!).digest('hex')
  const answer = await ask<TokenFound>('POST', '/audit/v1/tokens/find', { body: { sha256 } })
  const { authentication, events = 0, notSearchable = 0 } = answer
  if (!authentication)
    return fail(
      'notFound',
      'The service has never issued the token.',
      notSearchable === 0 ? undefined : `The service cannot search ${notSearchable} of its tokens by their text.`,
    )
  const all: readonly Column<Found>[] = [
    ...TOKEN_COLUMNS.map(([title, shown]): Column<Found> => [title, (found) => shown(found.authentication)]),
    ['ENDED', (found) => found.authentication.deletedAt ?? ''],
    ['EVENTS', (found) => String(found.events)],
  ]
  printOne(given.terminal, { authentication, events }, () => authentication.id, all, options)
}

/** `rollcall token find`: finds a token by its text. */
export const addTokenFind = (token: Command, given: CommandServices): void => {
  const file = 'file with the token to find, - for standard input (the command authenticates with ROLLCALL_TOKEN)'
  withField(withOutput(withTarget(token.command('find'), given, file), ['table', 'json', 'name']))
    .summary('find the record of a token by the secret text of the token')
    .description(
      'Finds the record of a token by its secret text, even if the token has ended. The command sends the SHA-256 of the text, never the text.',
    )
    .action((options: FindOptions) => find(options, given))
}
