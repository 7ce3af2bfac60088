import type { Command } from 'commander'
import { grantText } from '../access/grants.ts'
import type { Access } from '../contract/access.ts'
import type { Authentication } from '../contract/token.ts'
import { EXIT, isFailure } from '../failure.ts'
import type { Client } from './client.ts'
import { clientOf, type TargetOptions, withField, withOutput, withTarget } from './options.ts'
import { nameOf } from './record.ts'
import type { CommandServices } from './services.ts'
import { type OutputOptions, printMany } from './terminal/output.ts'
import { escapeControl } from './terminal/terminal.ts'

const METHODS: Readonly<Record<string, string>> = {
  METHOD_TOKEN: 'static token',
  METHOD_OIDC: 'OpenID Connect login',
}

/** A method in words; those that a deployment may rename by the name it gives them. */
const methodOf = (method: string): string =>
  METHODS[method] ??
  method
    .replace(/^METHOD_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')

const accessOf = ({ full, namespaceKey, grants = [] }: Access): string => {
  if (full) return 'everything'
  const given = grants.map(({ namespaceKey: place, role, rights }) =>
    grantText({ place, ...(role === undefined ? { rights } : { role }) }),
  )
  if (given.length > 0) return given.join(', ')
  return namespaceKey === undefined ? 'nothing' : `everything in namespace ${namespaceKey} but what is the deployment's`
}

/** Who the token is: its name, how it was got, what it may do, and when it ends. `record` is left out where the token may not read its own. */
const about = (access: Access, record: Authentication | undefined): readonly string[] => {
  const { authenticationId: id, expiresAt, publishable } = access
  if (id === undefined) return ['No token: the service asks nobody for one.']
  const name = record && nameOf(record)
  return [
    `Token ${id}`,
    ...(name ? [`Name: ${name}`] : []),
    ...(record ? [`Method: ${methodOf(record.method)}`] : []),
    `Access: ${accessOf(access)}`,
    expiresAt === undefined ? 'It never expires.' : `Expires ${expiresAt}`,
    ...(publishable ? ['It can be published.'] : []),
  ]
}

/** The record of the token used; undefined where there is none, or the token may not read it. */
const ownRecord = async ({ ask }: Client, { authenticationId }: Access): Promise<Authentication | undefined> => {
  if (authenticationId === undefined) return undefined
  try {
    return await ask<Authentication>('GET', '/auth/v1/self')
  } catch (error) {
    if (!isFailure(error) || error.exit !== EXIT.denied) throw error
    return undefined
  }
}

const whoAmI = async (options: TargetOptions & OutputOptions, given: CommandServices): Promise<void> => {
  const client = await clientOf(options, given)
  const access = await client.ask<Access>('GET', '/auth/v1/access')
  if (options.output === 'table' && options.field === undefined && !options.quiet)
    for (const line of about(access, await ownRecord(client, access))) given.terminal.info(escapeControl(line))
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
export const addWhoAmI = (program: Command, given: CommandServices): void => {
  withField(withOutput(withTarget(program.command('whoami'), given), ['table', 'json', 'ndjson', 'name']))
    .summary('tell what the token used may do, and where')
    .description(
      'Tells the rights of the token used by namespace; * is every namespace and the deployment, or every right.',
    )
    .action((options: TargetOptions & OutputOptions) => whoAmI(options, given))
}
