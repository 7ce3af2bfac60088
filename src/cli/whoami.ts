import type { Command } from 'commander'
import type { Access } from '../contract/access.ts'
import { clientOf, type TargetOptions, withField, withOutput, withTarget } from './options.ts'
import type { Given } from './services.ts'
import { type OutputOptions, printMany } from './terminal/output.ts'

const about = ({ authenticationId, expiresAt, namespaceKey, full, publishable }: Access): readonly string[] => [
  authenticationId === undefined ? 'No token: the service asks nobody for one.' : `Token ${authenticationId}`,
  ...(authenticationId === undefined ? [] : [expiresAt === undefined ? 'It never expires.' : `Expires ${expiresAt}`]),
  ...(full ? ['It may do everything.'] : []),
  ...(namespaceKey === undefined ? [] : [`Bound to namespace ${namespaceKey}`]),
  ...(publishable ? ['It can be published.'] : []),
]

const whoAmI = async (options: TargetOptions & OutputOptions, given: Given): Promise<void> => {
  const { ask } = await clientOf(options, given)
  const access = await ask<Access>('GET', '/auth/v1/access')
  if (options.output === 'table' && options.field === undefined && !options.quiet)
    for (const line of about(access)) given.terminal.info(line)
  printMany(
    given.terminal,
    access.places,
    access,
    ({ namespaceKey }) => namespaceKey,
    [
      ['NAMESPACE', ({ namespaceKey }) => namespaceKey],
      ['RIGHTS', ({ rights }) => rights.join(' ')],
    ],
    options,
  )
}

/** `rollcall whoami`: what the token used may do, and where. */
export const addWhoAmI = (program: Command, given: Given): void => {
  withField(withOutput(withTarget(program.command('whoami'), given), ['table', 'json', 'ndjson', 'name']))
    .summary('tell what the token used may do, and where')
    .description(
      'Tells the rights of the token used by namespace; * is every namespace and the deployment, or every right.',
    )
    .action((options: TargetOptions & OutputOptions) => whoAmI(options, given))
}
