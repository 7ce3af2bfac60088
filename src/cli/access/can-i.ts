import type { Command } from 'commander'
import { grantText } from '../../access/grants.ts'
import { EXIT } from '../../base/failure.ts'
import type { AccessChecked } from '../../contract/access.ts'
import {
  type CommandServices,
  clientOf,
  type TargetOptions,
  withField,
  withMoment,
  withOutput,
  withTarget,
} from '../options.ts'
import { type OutputOptions, printOne } from '../terminal/output.ts'

type CanIOptions = TargetOptions &
  OutputOptions & { readonly namespace?: string; readonly tokenId?: string; readonly at?: string }

/** Reason why a token is or is not allowed to do something, in words. */
export const why = ({ reason, because }: Pick<AccessChecked, 'reason' | 'because'>): string => {
  if (because) {
    const { namespaceKey: place, role, rule, grant } = because
    const granted = role === undefined ? `grant ${grant + 1}, in ${place}` : grantText({ place, role })
    return `granted by ${granted}${rule === undefined ? '' : `, from the rule ${rule}`}`
  }
  const words: Readonly<Record<AccessChecked['reason'], string>> = {
    full_reach: 'the token has full access',
    namespaced: 'the token was created for this namespace',
    granted: 'granted',
    open: 'the service requires no token',
    not_granted: 'no grant includes it',
    token_expired: 'the token is expired',
    token_deleted: 'the token is deleted',
    token_unknown: 'no token has this id',
  }
  return words[reason]
}

const canI = async (right: string, options: CanIOptions, given: CommandServices): Promise<void> => {
  const { namespace: namespaceKey, tokenId: id, at } = options
  const { ask } = await clientOf(options, given)
  const checked = await ask<AccessChecked>('GET', '/auth/v1/access/check', { query: { right, namespaceKey, id, at } })
  const answer = checked.allowed ? 'yes' : 'no'
  printOne(
    given.terminal,
    checked,
    () => answer,
    [
      ['ALLOWED', () => answer],
      ['WHY', why],
      ['RIGHT', ({ right }) => right],
      ['NAMESPACE', ({ namespaceKey }) => namespaceKey],
    ],
    options,
  )
  if (!checked.allowed) given.endWith(EXIT.check)
}

/** `rollcall can-i`: checks whether a token has a right, now or as of a moment, and why. */
export const addCanI = (program: Command, given: CommandServices): void => {
  withField(
    withOutput(withMoment(withTarget(program.command('can-i <right>'), given), given), ['table', 'json', 'name']),
  )
    .summary('check whether a token has a right, and why')
    .description(
      'Checks whether a token (by default the token in use) has a right, such as flag.update, in a namespace (by default in all namespaces). Exit code 0: the token has the right; 3: it does not.',
    )
    .option('-n, --namespace <key>', 'namespace (default: all)')
    .option('--token-id <id>', 'id of the token to check (default: the token in use)')
    .action((right: string, options: CanIOptions) => canI(right, options, given))
}
