import type { Command } from 'commander'
import { grantText } from '../access/grants.ts'
import type { AccessChecked } from '../contract/access.ts'
import { EXIT } from '../failure.ts'
import { clientOf, type TargetOptions, withField, withMoment, withOutput, withTarget } from './options.ts'
import type { CommandServices } from './services.ts'
import { type OutputOptions, printOne } from './terminal/output.ts'

type CanIOptions = TargetOptions &
  OutputOptions & { readonly namespace?: string; readonly tokenId?: string; readonly at?: string }

/** Why somebody may or may not, in words. */
export const why = ({ reason, because }: Pick<AccessChecked, 'reason' | 'because'>): string => {
  if (because) {
    const { namespaceKey: place, role, rule, grant } = because
    const granted = role === undefined ? `grant ${grant + 1}, in ${place}` : grantText({ place, role })
    return `granted by ${granted}${rule === undefined ? '' : `, of the rule ${rule}`}`
  }
  const words: Readonly<Record<AccessChecked['reason'], string>> = {
    full_reach: 'the token may do everything',
    namespaced: 'the token is bound to this namespace',
    granted: 'granted',
    open: 'the service asks nobody for a token',
    not_granted: 'nothing grants it',
    token_expired: 'the token had expired',
    token_deleted: 'the token had been deleted',
    token_unknown: 'there was no such token',
  }
  return words[reason]
}

const canI = async (right: string, options: CanIOptions, given: CommandServices): Promise<void> => {
  const { namespace: namespaceKey, tokenId: id, at } = options
  const { ask } = await clientOf(options, given)
  const said = await ask<AccessChecked>('GET', '/auth/v1/access/check', { query: { right, namespaceKey, id, at } })
  const answer = said.allowed ? 'yes' : 'no'
  printOne(
    given.terminal,
    said,
    () => answer,
    [
      ['ALLOWED', () => answer],
      ['WHY', why],
      ['RIGHT', (checked) => checked.right],
      ['NAMESPACE', (checked) => checked.namespaceKey],
    ],
    options,
  )
  if (!said.allowed) given.endWith(EXIT.check)
}

/** `rollcall can-i`: whether a token may do something somewhere, now or as of any moment, and why. */
export const addCanI = (program: Command, given: CommandServices): void => {
  withField(
    withOutput(withMoment(withTarget(program.command('can-i <right>'), given), given), ['table', 'json', 'name']),
  )
    .summary('ask whether a token may do something, and why')
    .description(
      'Asks whether the token used, or with --token-id another, has a right (such as flag.update): in a namespace, or without one in every namespace. Ends with 0 for yes and with 3 for no.',
    )
    .option('-n, --namespace <key>', 'in this namespace (default: in every one)')
    .option('--token-id <id>', 'another token than the one used')
    .action((right: string, options: CanIOptions) => canI(right, options, given))
}
