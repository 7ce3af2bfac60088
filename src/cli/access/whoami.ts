import type { Command } from 'commander'
import { grantText } from '../../access/grants.ts'
import { escapeControl } from '../../base/control-characters.ts'
import type { Access } from '../../contract/access.ts'
import type { Authentication } from '../../contract/token.ts'
import { type Client, ifAllowed } from '../client/client.ts'
import { type CommandServices, clientOf, type TargetOptions, withField, withOutput, withTarget } from '../options.ts'
import { type OutputOptions, printMany } from '../terminal/output.ts'
import { nameOf } from '../token/holder.ts'

const METHODS: Readonly<Record<string, string>> = {
  METHOD_TOKEN: 'static token',
  METHOD_OIDC: 'OpenID Connect login',
}

/** A login method in words. Methods that a deployment may rename are shown by their name. */
const methodOf = (method: string): string =>
  METHODS[method] ??
  method
    .replace(/^METHOD_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')

const accessOf = ({ full, namespaceKey, grants = [] }: Access): string => {
  if (full) return 'full access'
  const given = grants.map(({ namespaceKey: place, role, rights }) =>
    grantText({ place, ...(role === undefined ? { rights } : { role }) }),
  )
  if (given.length > 0) return given.join(', ')
  return namespaceKey === undefined
    ? 'nothing'
    : `full access to namespace ${namespaceKey}, but no rights outside of it`
}

/**
 * Describes the token: its name, login method, access and expiry. `record` is undefined if the token may not read its
 * own record.
 */
const about = (access: Access, record: Authentication | undefined): readonly string[] => {
  const { authenticationId: id, expiresAt, publishable } = access
  if (id === undefined) return ['No token is in use: the service requires none.']
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

/** Record of the token in use; undefined if there is none or the token may not read it. */
const ownRecord = async ({ ask }: Client, { authenticationId }: Access): Promise<Authentication | undefined> => {
  return authenticationId === undefined ? undefined : ifAllowed(ask<Authentication>('GET', '/auth/v1/self'))
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

/** `rollcall whoami`: lists the rights of the token in use by namespace. */
export const addWhoAmI = (program: Command, given: CommandServices): void => {
  withField(withOutput(withTarget(program.command('whoami'), given), ['table', 'json', 'ndjson', 'name']))
    .summary('list the rights of the token in use')
    .description(
      'Lists the rights of the token in use by namespace; * stands for all namespaces and the deployment, or for all rights.',
    )
    .action((options: TargetOptions & OutputOptions) => whoAmI(options, given))
}
